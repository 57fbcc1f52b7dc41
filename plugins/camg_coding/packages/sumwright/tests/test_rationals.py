"""Fractions."""

import unittest

from sumwright import Ratio


class ConstructionTests(unittest.TestCase):
    def test_lowest_terms(self):
        half = Ratio(3, 6)
        self.assertEqual((half.numerator, half.denominator), (1, 2))

    def test_sign_is_in_the_numerator(self):
        for numerator, denominator in ((-1, 2), (1, -2), (-3, 6), (2, -4)):
            value = Ratio(numerator, denominator)
            self.assertEqual((value.numerator, value.denominator), (-1, 2))

    def test_zero(self):
        self.assertEqual((Ratio(0, -7).numerator, Ratio(0, -7).denominator), (0, 1))
        self.assertFalse(Ratio(0))
        self.assertTrue(Ratio(-1, 9))

    def test_denominator_zero(self):
        with self.assertRaises(ZeroDivisionError):
            Ratio(1, 0)

    def test_parse(self):
        self.assertEqual(Ratio.parse("3"), 3)
        self.assertEqual(Ratio.parse(" -1/2 "), Ratio(-1, 2))
        self.assertEqual(Ratio.parse("2.75"), Ratio(11, 4))
        self.assertEqual(Ratio.parse("-0.5"), Ratio(-1, 2))

    def test_parse_refuses(self):
        for text in ("", "a", "1/2/3", "1.x", "1/"):
            with self.assertRaisesRegex(ValueError, "expected a fraction"):
                Ratio.parse(text)

    def test_text(self):
        self.assertEqual([str(Ratio(1, 2)), str(Ratio(4, 2))], ["1/2", "2"])
        self.assertEqual([repr(Ratio(-1, 2)), repr(Ratio(3))], ["Ratio(-1, 2)", "Ratio(3)"])


class ArithmeticTests(unittest.TestCase):
    def test_addition(self):
        self.assertEqual(Ratio(1, 3) + Ratio(1, 6), Ratio(1, 2))
        self.assertEqual(Ratio(1, 3) + 1, Ratio(4, 3))
        self.assertEqual(1 + Ratio(1, 3), Ratio(4, 3))

    def test_subtraction(self):
        self.assertEqual(Ratio(1, 3) - Ratio(1, 2), Ratio(-1, 6))
        self.assertEqual(1 - Ratio(1, 3), Ratio(2, 3))
        self.assertEqual(Ratio(4, 3) - 1, Ratio(1, 3))

    def test_multiplication(self):
        self.assertEqual(Ratio(2, 3) * Ratio(3, 4), Ratio(1, 2))
        self.assertEqual(2 * Ratio(3, 4) * 2, 3)

    def test_division(self):
        self.assertEqual(Ratio(2, 3) / Ratio(4, 3), Ratio(1, 2))
        self.assertEqual(1 / Ratio(2, 3), Ratio(3, 2))
        self.assertEqual(Ratio(2, 3) / 2, Ratio(1, 3))

    def test_division_by_zero(self):
        with self.assertRaises(ZeroDivisionError):
            Ratio(1) / 0
        with self.assertRaises(ZeroDivisionError):
            Ratio(0).inverse()

    def test_powers(self):
        self.assertEqual(Ratio(2, 3) ** 3, Ratio(8, 27))
        self.assertEqual(Ratio(2, 3) ** 0, 1)
        self.assertEqual(Ratio(2, 3) ** -2, Ratio(9, 4))
        self.assertEqual(Ratio(-1, 2) ** 5, Ratio(-1, 32))

    def test_power_wants_an_integer(self):
        with self.assertRaisesRegex(ValueError, "integer exponent"):
            Ratio(2) ** 0.5

    def test_signs(self):
        self.assertEqual(-Ratio(1, 2), Ratio(-1, 2))
        self.assertEqual([abs(Ratio(-1, 2)), abs(Ratio(1, 2))], [Ratio(1, 2)] * 2)

    def test_foreign_operands(self):
        for operation in (
            lambda: Ratio(1) + "a",
            lambda: Ratio(1) * 0.5,
            lambda: Ratio(1) - None,
            lambda: Ratio(1) / "a",
        ):
            with self.assertRaises(TypeError):
                operation()


class OrderTests(unittest.TestCase):
    def test_equality_and_hash(self):
        self.assertEqual(Ratio(4, 2), 2)
        self.assertNotEqual(Ratio(1, 2), Ratio(1, 3))
        self.assertNotEqual(Ratio(1, 2), "1/2")
        self.assertEqual(len({Ratio(1, 2), Ratio(2, 4), Ratio(2), 2}), 2)

    def test_less(self):
        self.assertTrue(Ratio(1, 3) < Ratio(1, 2))
        self.assertFalse(Ratio(1, 2) < Ratio(1, 2))
        self.assertTrue(Ratio(-1, 2) < 0)

    def test_the_other_comparisons(self):
        self.assertTrue(Ratio(1, 2) <= Ratio(2, 4) <= 1)
        self.assertTrue(Ratio(3, 2) > 1 >= Ratio(3, 3))
        self.assertFalse(Ratio(1, 2) > Ratio(1, 2))
        self.assertTrue(Ratio(3, 3) >= 1)
        self.assertFalse(Ratio(1, 3) >= Ratio(1, 2))

    def test_sorting(self):
        values = [Ratio(1, 2), Ratio(-3), Ratio(2, 5), Ratio(7, 4)]
        self.assertEqual(sorted(values), [Ratio(-3), Ratio(2, 5), Ratio(1, 2), Ratio(7, 4)])

    def test_floor(self):
        self.assertEqual([Ratio(7, 2).floor(), Ratio(-7, 2).floor(), Ratio(4).floor()], [3, -4, 4])

    def test_round(self):
        values = [Ratio(5, 2), Ratio(-5, 2), Ratio(7, 3), Ratio(8, 3), Ratio(-7, 3)]
        self.assertEqual([value.round() for value in values], [3, -3, 2, 3, -2])

    def test_continued_fraction(self):
        self.assertEqual(Ratio(415, 93).continued(), [4, 2, 6, 7])
        self.assertEqual(Ratio(-7, 2).continued(), [-4, 2])
        self.assertEqual(Ratio(3).continued(), [3])


if __name__ == "__main__":
    unittest.main()
