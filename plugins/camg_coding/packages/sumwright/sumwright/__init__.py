"""Exact fractions, polynomials, matrices and primes."""

from sumwright.matrices import Matrix, SingularError
from sumwright.polynomials import Polynomial
from sumwright.primes import (
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
from sumwright.rationals import Ratio

__all__ = [
    "Matrix",
    "Polynomial",
    "Ratio",
    "SingularError",
    "divisors",
    "extended_gcd",
    "factors",
    "gcd",
    "is_prime",
    "lcm",
    "modular_inverse",
    "next_prime",
    "primes_below",
    "remainder",
    "totient",
]
