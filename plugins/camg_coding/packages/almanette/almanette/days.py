"""Days of the Gregorian calendar, extended to all years from 1 on."""

from functools import total_ordering

MONTH_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


class DayError(ValueError):
    """There is no such day, or the text names none."""


def is_leap(year):
    """Has the year 366 days?"""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def days_in_month(year, month):
    """28 to 31; raises ``DayError`` for a month that is not 1 to 12."""
    if not 1 <= month <= 12:
        raise DayError(f"expected a month from 1 to 12, got {month}")
    if month == 2 and is_leap(year):
        return 29
    return MONTH_LENGTHS[month - 1]


def days_before_year(year):
    """Days from the first day of the year 1 to the first day of ``year``."""
    past = year - 1
    return past * 365 + past // 4 - past // 100 + past // 400


def weekday_number(name):
    """0 for ``mon`` to 6 for ``sun``; raises ``DayError``."""
    try:
        return WEEKDAYS.index(name)
    except ValueError:
        raise DayError(f"expected one of {', '.join(WEEKDAYS)}, got {name!r}") from None


@total_ordering
class Day:
    """One day; ``day + 3``, ``day - 3`` and ``day - other`` count days."""

    __slots__ = ("day", "month", "year")

    def __init__(self, year, month, day):
        if year < 1:
            raise DayError(f"expected a year of at least 1, got {year}")
        length = days_in_month(year, month)
        if not 1 <= day <= length:
            raise DayError(f"expected a day from 1 to {length}, got {day}")
        self.year, self.month, self.day = year, month, day

    @classmethod
    def parse(cls, text):
        """``YYYY-MM-DD`` or ``YYYY-DDD`` (the day of the year)."""
        parts = text.strip().split("-")
        if not all(part.isdigit() for part in parts) or len(parts[0]) != 4:
            raise DayError(f"expected YYYY-MM-DD or YYYY-DDD, got {text!r}")
        numbers = [int(part) for part in parts]
        if len(parts) == 3 and len(parts[1]) == len(parts[2]) == 2:
            return cls(*numbers)
        if len(parts) == 2 and len(parts[1]) == 3:
            year, number = numbers
            if not 1 <= number <= 365 + is_leap(year):
                raise DayError(f"the year {year} has no day {number}")
            return cls(year, 1, 1) + (number - 1)
        raise DayError(f"expected YYYY-MM-DD or YYYY-DDD, got {text!r}")

    @classmethod
    def from_ordinal(cls, ordinal):
        """The day with this ``ordinal``; raises ``DayError`` below 1."""
        if ordinal < 1:
            raise DayError(f"expected an ordinal of at least 1, got {ordinal}")
        year = (ordinal - 1) // 366 + 1
        while days_before_year(year + 1) < ordinal:
            year += 1
        rest = ordinal - days_before_year(year)
        month = 1
        while rest > days_in_month(year, month):
            rest -= days_in_month(year, month)
            month += 1
        return cls(year, month, rest)

    @property
    def day_of_year(self):
        """1 to 366."""
        number = self.day
        for month in range(1, self.month):
            number += days_in_month(self.year, month)
        return number

    @property
    def ordinal(self):
        """Days since the first day of the year 1, which has the ordinal 1."""
        return days_before_year(self.year) + self.day_of_year

    @property
    def weekday(self):
        """``mon`` to ``sun``."""
        return WEEKDAYS[(self.ordinal - 1) % 7]

    @property
    def quarter(self):
        """1 to 4."""
        return (self.month - 1) // 3 + 1

    def iso_week(self):
        """``(year, week)`` of ISO 8601: weeks begin on Monday, and belong to the year of their Thursday."""
        thursday = self + (3 - weekday_number(self.weekday))
        return thursday.year, (thursday.day_of_year - 1) // 7 + 1

    def add_months(self, months):
        """The same day that many months later or (below 0) earlier; the last day of a month that is too short."""
        total = self.year * 12 + self.month - 1 + months
        year, month = total // 12, total % 12 + 1
        return Day(year, month, min(self.day, days_in_month(year, month)))

    def add_years(self, years):
        """The same day in another year; 29 February becomes 28 February where there is none."""
        return self.add_months(12 * years)

    def next_weekday(self, name, same=False):
        """The next such weekday after this day; ``same``: this day itself if it is one."""
        distance = (weekday_number(name) - weekday_number(self.weekday)) % 7
        if distance == 0 and not same:
            distance = 7
        return self + distance

    def month_end(self):
        """The last day of this month."""
        return Day(self.year, self.month, days_in_month(self.year, self.month))

    def age(self, other):
        """Whole years from this day to a later one; raises ``DayError`` if it is earlier."""
        if other < self:
            raise DayError(f"{other} is before {self}")
        years = other.year - self.year
        if (other.month, other.day) < (self.month, self.day):
            years -= 1
        return years

    def __add__(self, days):
        return Day.from_ordinal(self.ordinal + days) if isinstance(days, int) else NotImplemented

    def __sub__(self, other):
        if isinstance(other, Day):
            return self.ordinal - other.ordinal
        return self + -other if isinstance(other, int) else NotImplemented

    def __eq__(self, other):
        return self.ordinal == other.ordinal if isinstance(other, Day) else NotImplemented

    def __lt__(self, other):
        return self.ordinal < other.ordinal if isinstance(other, Day) else NotImplemented

    def __hash__(self):
        return hash((self.year, self.month, self.day))

    def __str__(self):
        return f"{self.year:04d}-{self.month:02d}-{self.day:02d}"

    def __repr__(self):
        return f"Day({self.year}, {self.month}, {self.day})"
