"""Recurring days."""

import pytest

from almanette import Daily, Day, DayError, Monthly, Rule, Weekly, Yearly


@pytest.fixture
def start():
    return Day(2024, 1, 10)  # a Wednesday


def texts(days):
    return [str(day) for day in days]


def test_daily(start):
    assert texts(Daily().first(start, 3)) == ["2024-01-10", "2024-01-11", "2024-01-12"]
    assert texts(Daily(10).first(start, 3)) == ["2024-01-10", "2024-01-20", "2024-01-30"]


def test_weekly(start):
    assert texts(Weekly(["fri", "mon"]).first(start, 3)) == ["2024-01-12", "2024-01-15", "2024-01-19"]
    assert texts(Weekly().first(start, 1)) == ["2024-01-15"]


def test_every_second_week(start):
    assert texts(Weekly(["mon", "wed"], 2).first(start, 3)) == ["2024-01-10", "2024-01-22", "2024-01-24"]


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        (15, ["2024-01-15", "2024-02-15", "2024-03-15"]),
        (5, ["2024-02-05", "2024-03-05", "2024-04-05"]),
        (31, ["2024-01-31", "2024-03-31", "2024-05-31"]),
        (-1, ["2024-01-31", "2024-02-29", "2024-03-31"]),
        (-30, ["2024-03-02", "2024-04-01", "2024-05-02"]),
    ],
)
def test_monthly(start, day, expected):
    assert texts(Monthly(day).first(start, 3)) == expected


@pytest.mark.parametrize(
    ("number", "weekday", "expected"),
    [
        (1, "mon", ["2024-02-05", "2024-03-04"]),
        (2, "wed", ["2024-01-10", "2024-02-14"]),
        (-1, "mon", ["2024-01-29", "2024-02-26"]),
        (5, "thu", ["2024-02-29", "2024-05-30"]),
    ],
)
def test_nth_weekday(start, number, weekday, expected):
    assert texts(Monthly.nth_weekday(number, weekday).first(start, 2)) == expected


def test_every_third_month(start):
    assert texts(Monthly(10, 3).first(start, 3)) == ["2024-01-10", "2024-04-10", "2024-07-10"]


def test_yearly(start):
    assert texts(Yearly(1, 9).first(start, 2)) == ["2025-01-09", "2026-01-09"]
    assert texts(Yearly(2, 29).first(start, 2)) == ["2024-02-29", "2028-02-29"]
    assert texts(Yearly(12, 24, 5).first(start, 2)) == ["2024-12-24", "2029-12-24"]


def test_between_holds_both_ends(start):
    assert texts(Daily(2).between(start, Day(2024, 1, 14))) == ["2024-01-10", "2024-01-12", "2024-01-14"]
    assert Weekly(["mon"]).between(start, Day(2024, 1, 14)) == []


@pytest.mark.parametrize(
    ("after", "expected"), [("2024-01-01", "2024-01-31"), ("2024-01-31", "2024-02-29"), ("2024-03-30", "2024-03-31")]
)
def test_next(start, after, expected):
    assert str(Monthly(-1).next(start, Day.parse(after))) == expected


@pytest.mark.parametrize(
    "make",
    [
        lambda: Daily(0),
        lambda: Monthly(0),
        lambda: Monthly(32),
        lambda: Monthly.nth_weekday(6, "mon"),
        lambda: Weekly([]),
    ],
)
def test_refused(make):
    with pytest.raises(ValueError, match="expected"):
        make()


def test_no_such_day():
    with pytest.raises(DayError):
        Yearly(2, 30)
    with pytest.raises(DayError):
        Weekly(["monday"])


def test_the_base_has_no_periods(start):
    with pytest.raises(TypeError, match="Rule has no periods"):
        Rule().first(start, 1)
