"""Business days and holidays."""

from almanette.days import Day, weekday_number


def easter(year):
    """Easter Sunday of the Gregorian calendar, as the church computes it."""
    golden = year % 19
    century = year // 100
    skipped = century - century // 4 - (8 * century + 13) // 25
    moon = (19 * golden + skipped + 15) % 30
    if moon == 29 or (moon == 28 and golden > 10):
        moon -= 1
    full_moon = Day(year, 3, 21) + moon
    return full_moon.next_weekday("sun")


class BusinessCalendar:
    """Knows which days are worked: none of ``weekend``, no fixed, single or movable holiday.

    ``fixed``: ``(month, day)`` of every year. ``easter_offsets``: days after Easter Sunday (below 0: before), such as
    -2 for Good Friday. ``single``: days.
    """

    def __init__(self, weekend=("sat", "sun"), fixed=(), easter_offsets=(), single=()):
        self.weekend = {name for name in weekend if weekday_number(name) >= 0}
        if len(self.weekend) == 7:
            raise ValueError("a week needs at least one day that is no weekend")
        self.fixed = set(fixed)
        self.easter_offsets = set(easter_offsets)
        self.single = set(single)

    def is_holiday(self, day):
        """Is it a holiday, on a weekend or not?"""
        if day in self.single or (day.month, day.day) in self.fixed:
            return True
        return bool(self.easter_offsets) and day - easter(day.year) in self.easter_offsets

    def is_business_day(self, day):
        """Is the day worked?"""
        return day.weekday not in self.weekend and not self.is_holiday(day)

    def following(self, day):
        """The day itself if it is a business day, else the next one."""
        while not self.is_business_day(day):
            day += 1
        return day

    def preceding(self, day):
        """The day itself if it is a business day, else the last one before."""
        while not self.is_business_day(day):
            day -= 1
        return day

    def modified_following(self, day):
        """``following``, unless that is in another month: then ``preceding``."""
        later = self.following(day)
        if later.month != day.month:
            return self.preceding(day)
        return later

    def add(self, day, count):
        """``count`` business days later, or earlier if it is below 0; 0 gives ``following``."""
        if count == 0:
            return self.following(day)
        step = 1 if count > 0 else -1
        left = abs(count)
        while left > 0:
            day += step
            if self.is_business_day(day):
                left -= 1
        return day

    def count(self, start, end):
        """Business days from ``start`` on and before ``end``; the negative number if ``end`` is earlier."""
        if end < start:
            return -self.count(end, start)
        total = 0
        while start < end:
            if self.is_business_day(start):
                total += 1
            start += 1
        return total

    def holidays(self, year):
        """All holidays of a year, in order."""
        found = []
        day = Day(year, 1, 1)
        while day.year == year:
            if self.is_holiday(day):
                found.append(day)
            day += 1
        return found
