"""The interval map."""

import pytest

from coffrets import IntervalMap


@pytest.fixture
def ages():
    return IntervalMap([(0, 13, "child"), (13, 18, "teen"), (18, 130, "adult")])


@pytest.mark.parametrize(("age", "name"), [(0, "child"), (12.9, "child"), (13, "teen"), (17, "teen"), (18, "adult")])
def test_lookup(ages, age, name):
    assert ages[age] == ages.get(age) == name
    assert age in ages


@pytest.mark.parametrize("age", [-1, 130, 500])
def test_outside(ages, age):
    assert age not in ages
    assert ages.get(age, "nobody") == "nobody"
    with pytest.raises(KeyError):
        ages[age]


@pytest.mark.parametrize(
    ("start", "stop", "expected"),
    [
        (2, 4, [(0, 2, "a"), (2, 4, "x"), (4, 10, "a")]),
        (0, 10, [(0, 10, "x")]),
        (-5, 3, [(-5, 3, "x"), (3, 10, "a")]),
        (8, 12, [(0, 8, "a"), (8, 12, "x")]),
        (10, 12, [(0, 10, "a"), (10, 12, "x")]),
        (20, 21, [(0, 10, "a"), (20, 21, "x")]),
    ],
)
def test_later_covers_earlier(start, stop, expected):
    intervals = IntervalMap([(0, 10, "a")])
    intervals.set(start, stop, "x")
    assert list(intervals) == expected


@pytest.mark.parametrize(("start", "stop"), [(10, 15), (-5, 0), (5, 15), (2, 3)])
def test_equal_neighbours_are_one(start, stop):
    intervals = IntervalMap([(0, 10, "a"), (start, stop, "a")])
    assert list(intervals) == [(min(0, start), max(10, stop), "a")]


def test_a_bridge_joins_both_sides():
    intervals = IntervalMap([(0, 2, "a"), (4, 6, "a"), (2, 4, "a")])
    assert list(intervals) == [(0, 6, "a")]


@pytest.mark.parametrize(
    ("start", "stop", "expected"),
    [(3, 5, [(0, 3, "a"), (5, 10, "a")]), (0, 10, []), (-1, 4, [(4, 10, "a")]), (9, 99, [(0, 9, "a")])],
)
def test_clear(start, stop, expected):
    intervals = IntervalMap([(0, 10, "a")])
    intervals.clear(start, stop)
    assert list(intervals) == expected


@pytest.mark.parametrize(("start", "stop"), [(3, 3), (4, 3)])
def test_empty_intervals(start, stop):
    with pytest.raises(ValueError, match="start < stop"):
        IntervalMap().set(start, stop, "x")


def test_overlapping(ages):
    assert ages.overlapping(10, 20) == [(10, 13, "child"), (13, 18, "teen"), (18, 20, "adult")]
    assert ages.overlapping(13, 18) == [(13, 18, "teen")]
    assert ages.overlapping(200, 300) == []


def test_gaps():
    intervals = IntervalMap([(2, 4, "a"), (6, 8, "b")])
    assert intervals.gaps(0, 10) == [(0, 2), (4, 6), (8, 10)]
    assert intervals.gaps(2, 8) == [(4, 6)]
    assert intervals.gaps(3, 4) == []


def test_total():
    intervals = IntervalMap([(0, 4, "a"), (6, 8, "b"), (10, 11, "a")])
    assert (intervals.total(), intervals.total("a"), intervals.total("c")) == (7, 5, 0)


def test_length_and_repr():
    intervals = IntervalMap([(0, 4, "a")])
    assert len(intervals) == 1
    assert repr(intervals) == "IntervalMap([(0, 4, 'a')])"
    assert intervals == IntervalMap([(0, 2, "a"), (2, 4, "a")])
    assert not IntervalMap()
