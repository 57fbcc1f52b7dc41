"""Divisors, primes and remainders of integers."""


def gcd(first, second):
    """The greatest common divisor, never negative; ``gcd(0, 0)`` is 0."""
    first, second = abs(first), abs(second)
    while second:
        first, second = second, first % second
    return first


def lcm(first, second):
    """The least common multiple, never negative; 0 if one of them is 0."""
    if first == 0 or second == 0:
        return 0
    return abs(first * second) // gcd(first, second)


def extended_gcd(first, second):
    """``(g, x, y)`` with ``g = first * x + second * y`` the greatest common divisor of two numbers >= 0."""
    old, new = (first, 1, 0), (second, 0, 1)
    while new[0] != 0:
        quotient = old[0] // new[0]
        old, new = new, tuple(one - quotient * two for one, two in zip(old, new))
    return old


def modular_inverse(number, modulus):
    """The ``x`` from 0 to ``modulus - 1`` with ``number * x % modulus == 1``; ``ValueError`` if there is none."""
    divisor, inverse, _ = extended_gcd(number % modulus, modulus)
    if divisor != 1:
        raise ValueError(f"{number} has no inverse modulo {modulus}")
    return inverse % modulus


def remainder(residues):
    """The Chinese remainder: ``(x, m)`` for pairs ``(residue, modulus)``, the moduli pairwise coprime.

    ``m`` is the product of the moduli and ``x`` the only number from 0 to ``m - 1`` with every residue. Raises
    ``ValueError`` if two moduli have a common divisor.
    """
    solution, product = 0, 1
    for residue, modulus in residues:
        if gcd(product, modulus) != 1:
            raise ValueError(f"{modulus} shares a divisor with {product}")
        step = (residue - solution) * modular_inverse(product, modulus) % modulus
        solution += product * step
        product *= modulus
    return solution, product


def primes_below(limit):
    """All primes smaller than ``limit``, in order (sieve of Eratosthenes)."""
    if limit <= 2:
        return []
    sieve = [False, False] + [True] * (limit - 2)
    number = 2
    while number * number < limit:
        if sieve[number]:
            for multiple in range(number * number, limit, number):
                sieve[multiple] = False
        number += 1
    return [number for number, prime in enumerate(sieve) if prime]


def is_prime(number):
    """Is it a prime? Trial division by 2, 3 and numbers next to multiples of 6."""
    if number < 4:
        return number > 1
    if number % 2 == 0 or number % 3 == 0:
        return False
    divisor = 5
    while divisor * divisor <= number:
        if number % divisor == 0 or number % (divisor + 2) == 0:
            return False
        divisor += 6
    return True


def next_prime(number):
    """The smallest prime above ``number``."""
    candidate = max(number + 1, 2)
    while not is_prime(candidate):
        candidate += 1
    return candidate


def factors(number):
    """``(prime, exponent)`` pairs in order, whose product is ``number``; raises ``ValueError`` below 1."""
    if number < 1:
        raise ValueError(f"expected a number of at least 1, got {number}")
    found = []
    divisor = 2
    while divisor * divisor <= number:
        exponent = 0
        while number % divisor == 0:
            number //= divisor
            exponent += 1
        if exponent > 0:
            found.append((divisor, exponent))
        divisor += 1 if divisor == 2 else 2
    if number > 1:
        found.append((number, 1))
    return found


def divisors(number):
    """All positive divisors, in order."""
    found = [1]
    for prime, exponent in factors(number):
        found = [divisor * prime**power for divisor in found for power in range(exponent + 1)]
    return sorted(found)


def totient(number):
    """How many of ``1 … number`` are coprime to it."""
    result = number
    for prime, _ in factors(number):
        result -= result // prime
    return result
