"""Polynomials."""

import unittest

from sumwright import Polynomial, Ratio


class Case(unittest.TestCase):
    def setUp(self):
        self.x = Polynomial([0, 1])


class FormTests(Case):
    def test_degree_and_leading(self):
        self.assertEqual((Polynomial([1, 2, 3]).degree, Polynomial([1, 2, 3]).leading), (2, 3))

    def test_leading_zeros_are_dropped(self):
        self.assertEqual(Polynomial([1, 2, 0, 0]), Polynomial([1, 2]))

    def test_zero(self):
        zero = Polynomial([0, 0])
        self.assertEqual((zero.degree, zero.leading, zero.coefficients), (-1, 0, ()))
        self.assertFalse(zero)

    def test_text(self):
        self.assertEqual(str(Polynomial([3, Ratio(-1, 2), 1])), "x^2 - 1/2*x + 3")
        self.assertEqual(str(Polynomial([-1, 1])), "x - 1")
        self.assertEqual(str(Polynomial([0, -1, 0, 2])), "2*x^3 - x")
        self.assertEqual(str(Polynomial([-1])), "-1")
        self.assertEqual(str(Polynomial()), "0")

    def test_equality_with_numbers(self):
        self.assertEqual(Polynomial([3]), 3)
        self.assertNotEqual(Polynomial([3, 1]), 3)
        self.assertEqual(hash(Polynomial([1, 2])), hash(Polynomial([1, 2, 0])))

    def test_from_roots(self):
        self.assertEqual(Polynomial.from_roots([2, -3]), Polynomial([-6, 1, 1]))
        self.assertEqual(Polynomial.from_roots([]), 1)


class ArithmeticTests(Case):
    def test_addition(self):
        self.assertEqual(Polynomial([1, 2]) + Polynomial([3, 4, 5]), Polynomial([4, 6, 5]))
        self.assertEqual(1 + self.x + 1, Polynomial([2, 1]))

    def test_addition_may_lower_the_degree(self):
        self.assertEqual((Polynomial([1, 2]) + Polynomial([1, -2])).degree, 0)

    def test_subtraction(self):
        self.assertEqual(self.x - self.x, 0)
        self.assertEqual(1 - self.x, Polynomial([1, -1]))
        self.assertEqual(self.x - 1, Polynomial([-1, 1]))

    def test_multiplication(self):
        self.assertEqual((self.x + 1) * (self.x - 1), self.x**2 - 1)
        self.assertEqual(3 * self.x * 2, Polynomial([0, 6]))
        self.assertEqual(self.x * 0, 0)

    def test_powers(self):
        self.assertEqual((self.x + 1) ** 3, Polynomial([1, 3, 3, 1]))
        self.assertEqual((self.x + 1) ** 0, 1)
        with self.assertRaisesRegex(ValueError, "at least 0"):
            self.x**-1

    def test_division(self):
        quotient, rest = divmod(self.x**3 - 2 * self.x**2 - 4, self.x - 3)
        self.assertEqual((quotient, rest), (Polynomial([3, 1, 1]), Polynomial([5])))

    def test_division_multiplies_back(self):
        dividend, divisor = Polynomial([5, 0, -3, 7, 2]), Polynomial([1, 3, 2])
        self.assertEqual(dividend // divisor * divisor + dividend % divisor, dividend)
        self.assertLess((dividend % divisor).degree, divisor.degree)

    def test_division_by_a_larger_degree(self):
        self.assertEqual(divmod(self.x, self.x**2), (Polynomial(), self.x))

    def test_division_by_zero(self):
        with self.assertRaises(ZeroDivisionError):
            divmod(self.x, 0)


class AnalysisTests(Case):
    def test_value(self):
        polynomial = Polynomial([1, -2, 3])
        self.assertEqual([polynomial(0), polynomial(2), polynomial(Ratio(1, 3))], [1, 9, Ratio(2, 3)])

    def test_value_of_zero(self):
        self.assertEqual(Polynomial()(5), 0)

    def test_derivative(self):
        self.assertEqual(Polynomial([4, 3, 2, 1]).derivative(), Polynomial([3, 4, 3]))
        self.assertEqual(Polynomial([4]).derivative(), 0)

    def test_monic(self):
        self.assertEqual(Polynomial([1, 2]).monic(), Polynomial([Ratio(1, 2), 1]))
        self.assertEqual(Polynomial().monic(), 0)

    def test_gcd(self):
        first, second = Polynomial.from_roots([1, 2, 3]) * 6, Polynomial.from_roots([2, 3, 4]) * 5
        self.assertEqual(first.gcd(second), Polynomial.from_roots([2, 3]))

    def test_gcd_of_coprime_polynomials(self):
        self.assertEqual((self.x - 1).gcd(self.x + 1), 1)
        self.assertEqual(Polynomial().gcd(2 * self.x), self.x)

    def test_roots(self):
        self.assertEqual(Polynomial([-6, 1, 1]).rational_roots(), [-3, 2])
        self.assertEqual(Polynomial([1, -3, 2]).rational_roots(), [Ratio(1, 2), 1])

    def test_roots_with_zero_and_twice(self):
        self.assertEqual((self.x**2 * (self.x - 1) ** 2).rational_roots(), [0, 1])

    def test_roots_of_fractions(self):
        self.assertEqual(Polynomial([Ratio(-1, 6), Ratio(1, 2)]).rational_roots(), [Ratio(1, 3)])

    def test_no_roots(self):
        self.assertEqual(Polynomial([1, 0, 1]).rational_roots(), [])
        with self.assertRaisesRegex(ValueError, "every number"):
            Polynomial().rational_roots()


if __name__ == "__main__":
    unittest.main()
