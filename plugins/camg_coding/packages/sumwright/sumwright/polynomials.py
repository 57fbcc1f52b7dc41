"""Polynomials in one variable with rational coefficients."""

from sumwright.primes import divisors, lcm
from sumwright.rationals import Exact, Ratio


class Polynomial(Exact):
    """``Polynomial([c0, c1, c2])`` is ``c0 + c1 x + c2 x²``; coefficients are integers or ``Ratio``.

    Leading zeros are dropped, so that the zero polynomial has no coefficients and the degree -1.
    """

    def __init__(self, coefficients=()):
        values = [value if isinstance(value, Ratio) else Ratio(value) for value in coefficients]
        while values and not values[-1]:
            values.pop()
        self.coefficients = tuple(values)

    @classmethod
    def from_roots(cls, roots):
        """The product of ``x - root``."""
        result = cls([1])
        for root in roots:
            result = result * cls([-root, 1])
        return result

    @property
    def degree(self):
        return len(self.coefficients) - 1

    @property
    def leading(self):
        """The coefficient of the highest power, 0 for the zero polynomial."""
        return self.coefficients[-1] if self.coefficients else Ratio(0)

    def lift(self, other):
        if isinstance(other, Polynomial):
            return other
        return Polynomial([other]) if isinstance(other, int | Ratio) else None

    def one(self):
        return Polynomial([1])

    def __eq__(self, other):
        other = self.lift(other)
        return NotImplemented if other is None else self.coefficients == other.coefficients

    def __hash__(self):
        return hash(self.coefficients)

    def __bool__(self):
        return bool(self.coefficients)

    def __repr__(self):
        return f"Polynomial({self})"

    def __str__(self):
        """``x^2 - 1/2*x + 3``, the highest power first; ``0`` for the zero polynomial."""
        text = ""
        for power in range(self.degree, -1, -1):
            coefficient = self.coefficients[power]
            if not coefficient:
                continue
            sign = "-" if coefficient < 0 else "+"
            text += f" {sign} " if text else sign.replace("+", "")
            variable = "" if power == 0 else "x" if power == 1 else f"x^{power}"
            size = str(abs(coefficient))
            if variable and size == "1":
                text += variable
            else:
                text += size + "*" * bool(variable) + variable
        return text or "0"

    def __call__(self, point):
        """The value at a point (Horner's scheme)."""
        value = Ratio(0)
        for coefficient in reversed(self.coefficients):
            value = value * point + coefficient
        return value

    def __neg__(self):
        return Polynomial([-value for value in self.coefficients])

    def __add__(self, other):
        other = self.lift(other)
        if other is None:
            return NotImplemented
        size = max(len(self.coefficients), len(other.coefficients))
        padded = [each.coefficients + (Ratio(0),) * (size - len(each.coefficients)) for each in (self, other)]
        return Polynomial([one + two for one, two in zip(*padded)])

    def __mul__(self, other):
        other = self.lift(other)
        if other is None:
            return NotImplemented
        if not self or not other:
            return Polynomial()
        product = [Ratio(0)] * (self.degree + other.degree + 1)
        for left, one in enumerate(self.coefficients):
            for right, two in enumerate(other.coefficients):
                product[left + right] = product[left + right] + one * two
        return Polynomial(product)

    def __divmod__(self, other):
        """Quotient and remainder, the remainder of a smaller degree; raises ``ZeroDivisionError``."""
        other = self.lift(other)
        if not other:
            raise ZeroDivisionError("division by the zero polynomial")
        quotient, rest = Polynomial(), self
        while rest.degree >= other.degree:
            shift = rest.degree - other.degree
            term = Polynomial([0] * shift + [rest.leading / other.leading])
            quotient, rest = quotient + term, rest - term * other
        return quotient, rest

    def __floordiv__(self, other):
        return divmod(self, other)[0]

    def __mod__(self, other):
        return divmod(self, other)[1]

    def monic(self):
        """Divided by the leading coefficient; zero stays zero."""
        return self * self.leading.inverse() if self else self

    def gcd(self, other):
        """The monic greatest common divisor; zero if both are zero."""
        first, second = self, other
        while second:
            first, second = second, first % second
        return first.monic()

    def derivative(self):
        """The derivative."""
        return Polynomial([power * value for power, value in enumerate(self.coefficients) if power > 0])

    def rational_roots(self):
        """All different rational roots, in order; raises ``ValueError`` for the zero polynomial."""
        if not self:
            raise ValueError("every number is a root of the zero polynomial")
        values = self.coefficients
        found = set()
        while not values[0]:
            found.add(Ratio(0))
            values = values[1:]
        scale = 1
        for value in values:
            scale = lcm(scale, value.denominator)
        first, last = abs(values[0] * scale).numerator, abs(values[-1] * scale).numerator
        for numerator in divisors(first):
            for denominator in divisors(last):
                for candidate in (Ratio(numerator, denominator), Ratio(-numerator, denominator)):
                    if not self(candidate):
                        found.add(candidate)
        return sorted(found)
