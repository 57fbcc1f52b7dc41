"""Fractions of integers."""

from sumwright.primes import gcd


class Exact:
    """Base of the exact kinds: subtraction, reflected operators and powers follow from ``+``, ``*`` and unary ``-``.

    Subclasses define ``lift`` (another operand as their own kind, or None), ``__add__``, ``__mul__``, ``__neg__`` and
    ``one`` (the neutral element of multiplication).
    """

    def __sub__(self, other):
        other = self.lift(other)
        return NotImplemented if other is None else self + -other

    def __radd__(self, other):
        return self + other

    def __rmul__(self, other):
        return self * other

    def __rsub__(self, other):
        return -self + other

    def __pow__(self, exponent):
        """Repeated squaring; raises ``ValueError`` for an exponent that is no integer >= 0."""
        if not isinstance(exponent, int) or exponent < 0:
            raise ValueError(f"expected an integer exponent of at least 0, got {exponent!r}")
        result, square = self.one(), self
        while exponent > 0:
            if exponent % 2 == 1:
                result = result * square
            square = square * square
            exponent //= 2
        return result


class Ratio(Exact):
    """A fraction in lowest terms with a positive denominator.

    ``Ratio(1, 2)``, ``Ratio(3)`` or ``Ratio.parse("-1/2")``. Arithmetic works with integers too, and comparison; equal
    fractions have equal hashes (those of the integer where it is one).
    """

    def __init__(self, numerator, denominator=1):
        if denominator == 0:
            raise ZeroDivisionError("a fraction with denominator 0")
        divisor = gcd(numerator, denominator)
        if denominator < 0:
            divisor = -divisor
        self.numerator = numerator // divisor
        self.denominator = denominator // divisor

    @classmethod
    def parse(cls, text):
        """``"3"``, ``"-1/2"`` or ``"2.75"``; raises ``ValueError``."""
        text = text.strip()
        try:
            if "/" in text:
                numerator, denominator = text.split("/")
                return cls(int(numerator), int(denominator))
            whole, _, decimals = text.partition(".")
            return cls(int(whole + decimals), 10 ** len(decimals))
        except ValueError:
            raise ValueError(f"expected a fraction, got {text!r}") from None

    def lift(self, other):
        if isinstance(other, Ratio):
            return other
        return Ratio(other) if isinstance(other, int) else None

    def one(self):
        return Ratio(1)

    def __repr__(self):
        return f"Ratio({self})".replace("/", ", ")

    def __str__(self):
        return str(self.numerator) if self.denominator == 1 else f"{self.numerator}/{self.denominator}"

    def __hash__(self):
        return hash(self.numerator) if self.denominator == 1 else hash((self.numerator, self.denominator))

    def __bool__(self):
        return self.numerator != 0

    def __eq__(self, other):
        other = self.lift(other)
        if other is None:
            return NotImplemented
        return self.numerator == other.numerator and self.denominator == other.denominator

    def __lt__(self, other):
        other = self.lift(other)
        return self.numerator * other.denominator < other.numerator * self.denominator

    def __le__(self, other):
        return self < other or self == other

    def __gt__(self, other):
        return not self <= other

    def __ge__(self, other):
        return not self < other

    def __neg__(self):
        return Ratio(-self.numerator, self.denominator)

    def __abs__(self):
        return -self if self.numerator < 0 else self

    def __add__(self, other):
        other = self.lift(other)
        if other is None:
            return NotImplemented
        numerator = self.numerator * other.denominator + other.numerator * self.denominator
        return Ratio(numerator, self.denominator * other.denominator)

    def __mul__(self, other):
        other = self.lift(other)
        if other is None:
            return NotImplemented
        return Ratio(self.numerator * other.numerator, self.denominator * other.denominator)

    def __truediv__(self, other):
        other = self.lift(other)
        return NotImplemented if other is None else self * other.inverse()

    def __rtruediv__(self, other):
        return self.inverse() * other

    def __pow__(self, exponent):
        """Any integer power; negative ones of the inverse."""
        if isinstance(exponent, int) and exponent < 0:
            return super(Ratio, self.inverse()).__pow__(-exponent)
        return super().__pow__(exponent)

    def inverse(self):
        """1 divided by this; raises ``ZeroDivisionError``."""
        return Ratio(self.denominator, self.numerator)

    def floor(self):
        """The largest integer that is not above."""
        return self.numerator // self.denominator

    def round(self):
        """The nearest integer, halves away from zero."""
        nearest = (abs(self) + Ratio(1, 2)).floor()
        return -nearest if self.numerator < 0 else nearest

    def continued(self):
        """The terms of the continued fraction ``[a0, a1, …]``."""
        terms, numerator, denominator = [], self.numerator, self.denominator
        while denominator != 0:
            terms.append(numerator // denominator)
            numerator, denominator = denominator, numerator % denominator
        return terms
