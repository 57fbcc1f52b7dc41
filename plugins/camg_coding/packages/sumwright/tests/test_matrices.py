"""Matrices."""

import unittest

from sumwright import Matrix, Ratio, SingularError


class Case(unittest.TestCase):
    def setUp(self):
        self.a = Matrix([[1, 2], [3, 4]])


class FormTests(Case):
    def test_shape_and_places(self):
        matrix = Matrix([[1, 2, 3], [4, 5, 6]])
        self.assertEqual((matrix.shape, matrix[0, 2], matrix[1, 0]), ((2, 3), 3, 4))

    def test_rows_of_unequal_length(self):
        with self.assertRaisesRegex(ValueError, "equal length"):
            Matrix([[1, 2], [3]])

    def test_nothing(self):
        for rows in ([], [[]]):
            with self.assertRaisesRegex(ValueError, "at least one"):
                Matrix(rows)

    def test_identity(self):
        self.assertEqual(Matrix.identity(2), Matrix([[1, 0], [0, 1]]))

    def test_equality(self):
        self.assertEqual(hash(self.a), hash(Matrix([[1, 2], [3, 4]])))
        self.assertNotEqual(self.a, Matrix([[1, 2], [3, 5]]))
        self.assertNotEqual(self.a, 1)

    def test_text(self):
        self.assertEqual(repr(self.a * Ratio(1, 2)), "Matrix([[1/2, 1], [3/2, 2]])")


class ArithmeticTests(Case):
    def test_addition(self):
        self.assertEqual(self.a + Matrix([[1, 1], [1, 1]]), Matrix([[2, 3], [4, 5]]))

    def test_subtraction(self):
        self.assertEqual(self.a - self.a, self.a * 0)
        self.assertEqual(self.a - Matrix.identity(2), Matrix([[0, 2], [3, 3]]))

    def test_shapes_that_do_not_fit(self):
        row = Matrix([[1, 2]])
        with self.assertRaisesRegex(ValueError, "cannot add"):
            self.a + row
        with self.assertRaisesRegex(ValueError, "cannot multiply"):
            self.a * row

    def test_product(self):
        self.assertEqual(self.a * Matrix([[0, 1], [1, 0]]), Matrix([[2, 1], [4, 3]]))
        self.assertEqual(Matrix([[1, 2]]) * Matrix([[3], [4]]), Matrix([[11]]))

    def test_product_with_numbers(self):
        self.assertEqual(2 * self.a, Matrix([[2, 4], [6, 8]]))
        self.assertEqual(-self.a, self.a * -1)

    def test_powers(self):
        self.assertEqual(self.a**3, self.a * self.a * self.a)
        self.assertEqual(self.a**0, Matrix.identity(2))

    def test_transpose(self):
        self.assertEqual(Matrix([[1, 2, 3]]).transpose(), Matrix([[1], [2], [3]]))
        self.assertEqual(self.a.transpose().transpose(), self.a)

    def test_trace(self):
        self.assertEqual(self.a.trace(), 5)


class SystemTests(Case):
    def test_determinant(self):
        self.assertEqual(self.a.determinant(), -2)
        self.assertEqual(Matrix([[2, 0, 1], [1, 3, 2], [1, 1, 4]]).determinant(), 18)

    def test_determinant_after_an_exchange(self):
        self.assertEqual(Matrix([[0, 1], [1, 0]]).determinant(), -1)
        self.assertEqual(Matrix([[0, 2, 0], [0, 0, 3], [4, 0, 0]]).determinant(), 24)

    def test_determinant_of_a_singular_matrix(self):
        self.assertEqual(Matrix([[1, 2], [2, 4]]).determinant(), 0)

    def test_rank(self):
        self.assertEqual([Matrix([[1, 2], [2, 4]]).rank(), self.a.rank(), Matrix([[0, 0]]).rank()], [1, 2, 0])

    def test_rank_of_a_wide_matrix(self):
        self.assertEqual([Matrix([[0, 0, 2], [0, 0, 0]]).rank(), Matrix([[0, 0, 1, 3]]).rank()], [1, 1])

    def test_reduced(self):
        form, pivots, _ = Matrix([[0, 2, 4], [1, 1, 1]]).reduced()
        self.assertEqual((form, pivots), (Matrix([[1, 0, -1], [0, 1, 2]]), [0, 1]))

    def test_inverse(self):
        self.assertEqual(self.a.inverse() * self.a, Matrix.identity(2))
        self.assertEqual(self.a.inverse(), Matrix([[-2, 1], [Ratio(3, 2), Ratio(-1, 2)]]))

    def test_no_inverse(self):
        with self.assertRaisesRegex(SingularError, "singular"):
            Matrix([[1, 2], [2, 4]]).inverse()

    def test_solve(self):
        self.assertEqual(self.a.solve(Matrix([[5], [11]])), Matrix([[1], [2]]))

    def test_solve_wants_fitting_rows(self):
        with self.assertRaisesRegex(ValueError, "expected 2 rows"):
            self.a.solve(Matrix([[1]]))

    def test_only_square_matrices(self):
        wide = Matrix([[1, 2, 3], [4, 5, 6]])
        for method in (wide.determinant, wide.inverse, wide.trace):
            with self.assertRaisesRegex(ValueError, "square"):
                method()


if __name__ == "__main__":
    unittest.main()
