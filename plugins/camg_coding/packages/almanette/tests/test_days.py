"""Days."""

import pytest

from almanette import Day, DayError, days_in_month, is_leap
from almanette.days import days_before_year


def test_leap_years():
    for year, leap in ((2000, True), (1900, False), (2024, True), (2023, False), (2100, False)):
        assert is_leap(year) is leap
        assert days_in_month(year, 2) == 28 + leap


def test_lengths_of_years():
    for year, length in ((2000, 366), (1900, 365), (2024, 366), (2023, 365), (2100, 365)):
        assert days_before_year(year + 1) - days_before_year(year) == length


def test_lengths_of_months():
    assert [days_in_month(2023, month) for month in range(1, 13)] == [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]


def test_no_such_day():
    for year, month, day in ((2023, 2, 29), (2023, 13, 1), (2023, 0, 1), (2023, 4, 0), (0, 1, 1)):
        with pytest.raises(DayError, match="expected a"):
            Day(year, month, day)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2024-02-29", (2024, 2, 29)),
        (" 0001-01-01 ", (1, 1, 1)),
        ("2023-365", (2023, 12, 31)),
        ("2024-060", (2024, 2, 29)),
    ],
)
def test_parse(text, day):
    assert Day.parse(text) == Day(*day)


@pytest.mark.parametrize("text", ["", "2024", "24-01-01", "2024-1-1", "2023-366", "2024-000", "2024-01-01-01", "x-y-z"])
def test_parse_refuses(text):
    with pytest.raises(DayError):
        Day.parse(text)


ORDINALS = {"0001-01-01": 1, "0001-12-31": 365, "0004-12-31": 1461, "1970-01-01": 719163, "2000-02-29": 730179}


def test_ordinals():
    assert {text: Day.parse(text).ordinal for text in ORDINALS} == ORDINALS


def test_from_ordinals():
    assert {text: str(Day.from_ordinal(ordinal)) for text, ordinal in ORDINALS.items()} == {
        text: text for text in ORDINALS
    }


def test_ordinals_run_on():
    assert [Day.from_ordinal(number).ordinal for number in range(738000, 738800, 7)] == list(range(738000, 738800, 7))
    with pytest.raises(DayError):
        Day.from_ordinal(0)


def test_weekdays():
    days = [Day(2024, 1, 1), Day(2000, 2, 29), Day(1900, 3, 1), Day(1969, 7, 20)]
    assert [day.weekday for day in days] == ["mon", "tue", "thu", "sun"]


def test_parts_of_the_year():
    assert [Day(2023, 3, 1).day_of_year, Day(2024, 3, 1).day_of_year, Day(2024, 12, 31).day_of_year] == [60, 61, 366]
    assert [Day(2024, month, 1).quarter for month in (1, 3, 4, 9, 12)] == [1, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("day", "week"),
    [
        ("2024-01-01", (2024, 1)),
        ("2023-01-01", (2022, 52)),
        ("2020-12-31", (2020, 53)),
        ("2024-12-30", (2025, 1)),
    ],
)
def test_iso_weeks(day, week):
    assert Day.parse(day).iso_week() == week


def test_add_months():
    day = Day(2024, 1, 31)
    assert day.add_months(0) == day
    assert day.add_months(1) == Day(2024, 2, 29)
    assert day.add_months(13) == Day(2025, 2, 28)


def test_take_away_months():
    assert Day(2024, 1, 31).add_months(-1) == Day(2023, 12, 31)
    assert Day(2024, 1, 31).add_months(-2) == Day(2023, 11, 30)


def test_add_years():
    assert Day(2024, 2, 29).add_years(1) == Day(2025, 2, 28)
    assert Day(2024, 2, 29).add_years(-4) == Day(2020, 2, 29)


def test_arithmetic():
    assert Day(2023, 12, 31) + 1 == Day(2024, 1, 1)
    assert Day(2024, 3, 1) - 1 == Day(2024, 2, 29)
    assert Day(2024, 3, 1) - Day(2023, 3, 1) == 366
    with pytest.raises(TypeError):
        Day(2024, 1, 1) + "x"


def test_order_and_hash():
    assert Day(2024, 1, 1) < Day(2024, 1, 2) <= Day(2024, 1, 2)
    assert len({Day(2024, 1, 1), Day(2024, 1, 1)}) == 1
    assert Day(2024, 1, 1) != "2024-01-01"
    assert (str(Day(33, 4, 3)), repr(Day(33, 4, 3))) == ("0033-04-03", "Day(33, 4, 3)")


def test_next_weekday():
    monday = Day(2024, 1, 1)
    assert monday.next_weekday("mon") == Day(2024, 1, 8)
    assert monday.next_weekday("mon", same=True) == monday
    assert monday.next_weekday("sun") == Day(2024, 1, 7)
    with pytest.raises(DayError, match="got 'monday'"):
        monday.next_weekday("monday")


def test_month_end():
    assert Day(2024, 2, 3).month_end() == Day(2024, 2, 29)


def test_age():
    born = Day(2000, 5, 20)
    assert [born.age(Day(2020, 5, 19)), born.age(Day(2020, 5, 20)), born.age(born)] == [19, 20, 0]
    with pytest.raises(DayError, match="is before"):
        born.age(Day(1999, 1, 1))
