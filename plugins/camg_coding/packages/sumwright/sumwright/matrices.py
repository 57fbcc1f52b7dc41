"""Matrices of fractions."""

from sumwright.rationals import Exact, Ratio


class SingularError(ValueError):
    """The matrix has no inverse, or the system no single solution."""


class Matrix(Exact):
    """A matrix of ``Ratio`` from rows of integers or fractions; never changes."""

    def __init__(self, rows):
        self.rows = tuple(tuple(value if isinstance(value, Ratio) else Ratio(value) for value in row) for row in rows)
        if not self.rows or not self.rows[0]:
            raise ValueError("a matrix needs at least one row and one column")
        if any(len(row) != len(self.rows[0]) for row in self.rows):
            raise ValueError("expected rows of equal length")

    @classmethod
    def identity(cls, size):
        """Ones on the diagonal, else zeros."""
        return cls([[1 if row == column else 0 for column in range(size)] for row in range(size)])

    @property
    def shape(self):
        """``(rows, columns)``."""
        return len(self.rows), len(self.rows[0])

    def lift(self, other):
        return other if isinstance(other, Matrix) else None

    def one(self):
        self._square()
        return Matrix.identity(len(self.rows))

    def __eq__(self, other):
        return self.rows == other.rows if isinstance(other, Matrix) else NotImplemented

    def __hash__(self):
        return hash(self.rows)

    def __repr__(self):
        return "Matrix([" + ", ".join("[" + ", ".join(map(str, row)) + "]" for row in self.rows) + "])"

    def __getitem__(self, place):
        """``matrix[row, column]``, counted from 0."""
        row, column = place
        return self.rows[row][column]

    def __neg__(self):
        return self * -1

    def __add__(self, other):
        if not isinstance(other, Matrix):
            return NotImplemented
        if self.shape != other.shape:
            raise ValueError(f"cannot add shapes {self.shape} and {other.shape}")
        return Matrix([[one + two for one, two in zip(*pair)] for pair in zip(self.rows, other.rows)])

    def __mul__(self, other):
        """The product with a number or a matrix; raises ``ValueError`` where the shapes do not fit."""
        if isinstance(other, int | Ratio):
            return Matrix([[value * other for value in row] for row in self.rows])
        if not isinstance(other, Matrix):
            return NotImplemented
        if self.shape[1] != other.shape[0]:
            raise ValueError(f"cannot multiply shapes {self.shape} and {other.shape}")
        columns = other.transpose().rows
        return Matrix([[_dot(row, column) for column in columns] for row in self.rows])

    def transpose(self):
        """Rows become columns."""
        return Matrix(zip(*self.rows))

    def trace(self):
        """The sum of the diagonal."""
        self._square()
        return sum((self.rows[index][index] for index in range(len(self.rows))), Ratio(0))

    def _square(self):
        if self.shape[0] != self.shape[1]:
            raise ValueError(f"expected a square matrix, got shape {self.shape}")

    def reduced(self):
        """``(reduced row echelon form, pivot columns, factor)``.

        ``factor`` is the product of the pivots before they were scaled to 1, negated once for each exchange of rows.
        """
        rows = [list(row) for row in self.rows]
        pivots, factor = [], Ratio(1)
        for column in range(self.shape[1]):
            top = len(pivots)
            found = next((row for row in range(top, len(rows)) if rows[row][column]), None)
            if found is None:
                continue
            if found != top:
                rows[top], rows[found] = rows[found], rows[top]
                factor = -factor
            pivot = rows[top][column]
            factor = factor * pivot
            rows[top] = [value / pivot for value in rows[top]]
            for index, row in enumerate(rows):
                if index != top and row[column]:
                    scale = row[column]
                    rows[index] = [value - scale * above for value, above in zip(row, rows[top])]
            pivots.append(column)
        return Matrix(rows), pivots, factor

    def rank(self):
        """The number of independent rows."""
        return len(self.reduced()[1])

    def determinant(self):
        """The determinant of a square matrix."""
        self._square()
        _, pivots, factor = self.reduced()
        return factor if len(pivots) == len(self.rows) else Ratio(0)

    def inverse(self):
        """The inverse; raises ``SingularError``."""
        self._square()
        return self.solve(Matrix.identity(len(self.rows)))

    def solve(self, right):
        """The only ``X`` with ``self * X == right``; raises ``SingularError`` if there is none or more than one."""
        self._square()
        size = len(self.rows)
        if right.shape[0] != size:
            raise ValueError(f"expected {size} rows on the right, got {right.shape[0]}")
        form, pivots, _ = Matrix([one + two for one, two in zip(self.rows, right.rows)]).reduced()
        if pivots[:size] != list(range(size)):
            raise SingularError("the matrix is singular")
        return Matrix([row[size:] for row in form.rows])


def _dot(first, second):
    total = Ratio(0)
    for one, two in zip(first, second):
        total = total + one * two
    return total
