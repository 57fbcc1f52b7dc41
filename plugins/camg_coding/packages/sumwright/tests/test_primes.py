"""Divisors, primes and remainders."""

import unittest

from sumwright import (
    divisors,
    extended_gcd,
    factors,
    gcd,
    is_prime,
    lcm,
    modular_inverse,
    next_prime,
    primes_below,
    remainder,
    totient,
)


class DivisorTests(unittest.TestCase):
    def test_gcd(self):
        self.assertEqual([gcd(12, 18), gcd(17, 5), gcd(0, 7), gcd(7, 0)], [6, 1, 7, 7])

    def test_gcd_of_negative_numbers(self):
        self.assertEqual([gcd(-12, 18), gcd(12, -18), gcd(-4, -6)], [6, 6, 2])

    def test_gcd_of_zeros(self):
        self.assertEqual(gcd(0, 0), 0)

    def test_lcm(self):
        self.assertEqual([lcm(4, 6), lcm(5, 7), lcm(-4, 6), lcm(3, 3)], [12, 35, 12, 3])

    def test_lcm_with_zero(self):
        self.assertEqual([lcm(0, 5), lcm(5, 0)], [0, 0])

    def test_extended_gcd(self):
        for first, second in [(240, 46), (46, 240), (7, 7), (5, 0), (0, 9)]:
            divisor, x, y = extended_gcd(first, second)
            self.assertEqual(divisor, gcd(first, second))
            self.assertEqual(first * x + second * y, divisor)

    def test_divisors(self):
        self.assertEqual(divisors(12), [1, 2, 3, 4, 6, 12])
        self.assertEqual(divisors(49), [1, 7, 49])

    def test_divisors_of_one(self):
        self.assertEqual(divisors(1), [1])

    def test_totient(self):
        self.assertEqual([totient(number) for number in (1, 2, 9, 10, 36, 97)], [1, 1, 6, 4, 12, 96])

    def test_totient_counts(self):
        for number in range(1, 40):
            self.assertEqual(totient(number), sum(gcd(number, other) == 1 for other in range(1, number + 1)))


class PrimeTests(unittest.TestCase):
    def test_sieve(self):
        self.assertEqual(primes_below(30), [2, 3, 5, 7, 11, 13, 17, 19, 23, 29])

    def test_sieve_leaves_out_the_limit(self):
        self.assertEqual(primes_below(29)[-1], 23)
        self.assertEqual(primes_below(3), [2])

    def test_sieve_of_nothing(self):
        self.assertEqual([primes_below(limit) for limit in (-5, 0, 2)], [[], [], []])

    def test_is_prime_agrees_with_the_sieve(self):
        self.assertEqual([number for number in range(-3, 400) if is_prime(number)], primes_below(400))

    def test_large_primes(self):
        self.assertTrue(is_prime(1_000_003))
        self.assertFalse(is_prime(1009 * 1013))

    def test_next_prime(self):
        self.assertEqual([next_prime(number) for number in (-9, 1, 2, 7, 13, 89)], [2, 2, 3, 11, 17, 97])

    def test_factors(self):
        self.assertEqual(factors(360), [(2, 3), (3, 2), (5, 1)])
        self.assertEqual(factors(97), [(97, 1)])
        self.assertEqual(factors(49), [(7, 2)])

    def test_factors_of_one(self):
        self.assertEqual(factors(1), [])

    def test_factors_multiply_back(self):
        for number in range(1, 200):
            product = 1
            for prime, exponent in factors(number):
                self.assertTrue(is_prime(prime))
                product *= prime**exponent
            self.assertEqual(product, number)

    def test_no_factors_below_one(self):
        for number in (0, -4):
            with self.assertRaisesRegex(ValueError, "at least 1"):
                factors(number)


class RemainderTests(unittest.TestCase):
    def test_inverse(self):
        self.assertEqual(modular_inverse(3, 11), 4)
        self.assertEqual(modular_inverse(-3, 11), 7)

    def test_all_inverses_of_a_prime(self):
        for number in range(1, 23):
            self.assertEqual(number * modular_inverse(number, 23) % 23, 1)

    def test_no_inverse(self):
        with self.assertRaisesRegex(ValueError, "6 has no inverse modulo 9"):
            modular_inverse(6, 9)

    def test_chinese_remainder(self):
        self.assertEqual(remainder([(2, 3), (3, 5), (2, 7)]), (23, 105))

    def test_one_residue(self):
        self.assertEqual(remainder([(9, 7)]), (2, 7))

    def test_no_residues(self):
        self.assertEqual(remainder([]), (0, 1))

    def test_moduli_with_a_common_divisor(self):
        with self.assertRaisesRegex(ValueError, "6 shares a divisor with 4"):
            remainder([(1, 4), (3, 6)])


if __name__ == "__main__":
    unittest.main()
