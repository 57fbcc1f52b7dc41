"""Days that come again."""

from itertools import islice

from almanette.days import Day, DayError, days_in_month, weekday_number


class Rule:
    """Base: every ``interval``-th period (day, week, month or year, counted from the one of the start) has its days.

    Subclasses say how periods follow one another and which days one has.
    """

    def __init__(self, interval=1):
        if interval < 1:
            raise ValueError(f"expected an interval of at least 1, got {interval}")
        self.interval = interval

    def period(self, start, number):
        """The first day of the period ``number * interval`` after that of ``start``."""
        raise TypeError(f"{type(self).__name__} has no periods")

    def days_of(self, first):
        """The days of the period that begins with ``first``, in order."""
        return [first]

    def days(self, start):
        """All days from ``start`` on, without end."""
        number = 0
        while True:
            for day in self.days_of(self.period(start, number)):
                if day >= start:
                    yield day
            number += 1

    def first(self, start, count):
        """The first ``count`` days, ``start`` among them if it fits."""
        return list(islice(self.days(start), count))

    def between(self, start, end):
        """All days from ``start`` to ``end``, both included."""
        found = []
        for day in self.days(start):
            if day > end:
                break
            found.append(day)
        return found

    def next(self, start, after):
        """The first day later than ``after`` of those that begin with ``start``."""
        return next(day for day in self.days(start) if day > after)


class Daily(Rule):
    """Every day, or every ``interval`` days from the start."""

    def period(self, start, number):
        return start + number * self.interval


class Weekly(Rule):
    """On these weekdays; without any, on Mondays. Weeks begin on Monday."""

    def __init__(self, weekdays=("mon",), interval=1):
        super().__init__(interval)
        self.offsets = sorted({weekday_number(name) for name in weekdays})
        if not self.offsets:
            raise ValueError("expected at least one weekday")

    def period(self, start, number):
        monday = start - weekday_number(start.weekday)
        return monday + 7 * number * self.interval

    def days_of(self, first):
        return [first + offset for offset in self.offsets]


class Monthly(Rule):
    """On a day of the month (below 0: from its end, -1 is the last); months without it are left out."""

    def __init__(self, day, interval=1):
        super().__init__(interval)
        if day == 0 or abs(day) > 31:
            raise ValueError(f"expected a day from 1 to 31 or -31 to -1, got {day}")
        self.day = day
        self.weekday = None

    @classmethod
    def nth_weekday(cls, number, weekday, interval=1):
        """On the first, second … (below 0: from the end) such weekday of the month."""
        if number == 0 or abs(number) > 5:
            raise ValueError(f"expected a number from 1 to 5 or -5 to -1, got {number}")
        weekday_number(weekday)
        rule = cls(number, interval)
        rule.weekday = weekday
        return rule

    def period(self, start, number):
        return Day(start.year, start.month, 1).add_months(number * self.interval)

    def days_of(self, first):
        last = days_in_month(first.year, first.month)
        if self.weekday is None:
            candidates = list(range(1, last + 1))
        else:
            begin = first.next_weekday(self.weekday, same=True).day
            candidates = list(range(begin, last + 1, 7))
        try:
            chosen = candidates[self.day - 1 if self.day > 0 else self.day]
        except IndexError:
            return []
        return [Day(first.year, first.month, chosen)]


class Yearly(Rule):
    """On a day of a month every year; 29 February only in leap years."""

    def __init__(self, month, day, interval=1):
        super().__init__(interval)
        if not 1 <= day <= days_in_month(2000, month):
            raise DayError(f"the month {month} has no day {day}")
        self.month, self.day = month, day

    def period(self, start, number):
        return Day(start.year + number * self.interval, 1, 1)

    def days_of(self, first):
        if self.day > days_in_month(first.year, self.month):
            return []
        return [Day(first.year, self.month, self.day)]
