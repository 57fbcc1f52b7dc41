"""Business days."""

import pytest

from almanette import BusinessCalendar, Day, easter


@pytest.fixture
def calendar():
    return BusinessCalendar(fixed=[(1, 1), (12, 25)], easter_offsets=[-2, 1], single=[Day(2024, 6, 5)])


def test_easter():
    dates = ["1818-03-22", "1943-04-25", "1981-04-19", "2000-04-23", "2008-03-23", "2024-03-31", "2038-04-25"]
    assert [str(easter(int(date[:4]))) for date in dates] == dates


@pytest.mark.parametrize(
    ("day", "worked"),
    [
        ("2024-06-04", True),
        ("2024-06-05", False),
        ("2024-06-08", False),
        ("2024-12-25", False),
        ("2024-03-29", False),
        ("2024-04-01", False),
        ("2024-04-02", True),
    ],
)
def test_business_days(calendar, day, worked):
    assert calendar.is_business_day(Day.parse(day)) is worked


def test_holidays(calendar):
    assert [str(day) for day in calendar.holidays(2024)] == [
        "2024-01-01",
        "2024-03-29",
        "2024-04-01",
        "2024-06-05",
        "2024-12-25",
    ]
    assert BusinessCalendar().holidays(2024) == []


@pytest.mark.parametrize(
    ("day", "following", "preceding", "modified"),
    [
        ("2024-06-08", "2024-06-10", "2024-06-07", "2024-06-10"),
        ("2024-06-07", "2024-06-07", "2024-06-07", "2024-06-07"),
        ("2024-06-30", "2024-07-01", "2024-06-28", "2024-06-28"),
        ("2024-03-30", "2024-04-02", "2024-03-28", "2024-03-28"),
    ],
)
def test_rolling(calendar, day, following, preceding, modified):
    day = Day.parse(day)
    assert str(calendar.following(day)) == following
    assert str(calendar.preceding(day)) == preceding
    assert str(calendar.modified_following(day)) == modified


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (1, "2024-06-10"),
        (3, "2024-06-12"),
        (6, "2024-06-17"),
        (0, "2024-06-07"),
        (-1, "2024-06-06"),
        (-2, "2024-06-04"),
    ],
)
def test_add(calendar, count, expected):
    assert str(calendar.add(Day(2024, 6, 7), count)) == expected


def test_add_from_a_weekend(calendar):
    assert str(calendar.add(Day(2024, 6, 8), 1)) == "2024-06-10"
    assert str(calendar.add(Day(2024, 6, 8), 0)) == "2024-06-10"
    assert str(calendar.add(Day(2024, 6, 8), -1)) == "2024-06-07"


@pytest.mark.parametrize(("start", "end", "count"), [(3, 8, 4), (3, 3, 0), (8, 10, 0), (10, 3, -4), (3, 17, 9)])
def test_count(calendar, start, end, count):
    assert calendar.count(Day(2024, 6, start), Day(2024, 6, end)) == count


def test_another_weekend():
    calendar = BusinessCalendar(weekend=["fri"])
    assert calendar.is_business_day(Day(2024, 6, 8))
    assert not calendar.is_business_day(Day(2024, 6, 7))


def test_a_week_of_weekends():
    with pytest.raises(ValueError, match="at least one day"):
        BusinessCalendar(weekend=["mon", "tue", "wed", "thu", "fri", "sat", "sun"])
