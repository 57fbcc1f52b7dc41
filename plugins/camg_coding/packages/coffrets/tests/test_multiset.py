"""The ordered multiset."""

import pytest

from coffrets import OrderedMultiset


@pytest.fixture
def bag():
    return OrderedMultiset([5, 1, 3, 3, 9])


def test_order(bag):
    assert list(bag) == [1, 3, 3, 5, 9]
    assert (bag[0], bag[-1], len(bag)) == (1, 9, 5)


def test_add(bag):
    bag.add(4)
    bag.add(3, 2)
    bag.add(7, 0)
    assert list(bag) == [1, 3, 3, 3, 3, 4, 5, 9]
    with pytest.raises(ValueError, match="times"):
        bag.add(1, -1)


@pytest.mark.parametrize(("item", "times", "taken", "left"), [(3, 1, 1, 1), (3, 5, 2, 0), (4, 1, 0, 0)])
def test_discard(bag, item, times, taken, left):
    assert bag.discard(item, times) == taken
    assert bag.count(item) == left
    assert len(bag) == 5 - taken


def test_remove(bag):
    bag.remove(3)
    assert list(bag) == [1, 3, 5, 9]
    with pytest.raises(KeyError):
        bag.remove(4)


@pytest.mark.parametrize(
    ("item", "rank", "floor", "ceiling"), [(0, 0, None, 1), (1, 0, 1, 1), (3, 1, 3, 3), (4, 3, 3, 5), (10, 5, 9, None)]
)
def test_neighbours(bag, item, rank, floor, ceiling):
    assert (bag.rank(item), bag.floor(item), bag.ceiling(item)) == (rank, floor, ceiling)


def test_between(bag):
    assert bag.between(3, 5) == [3, 3, 5]
    assert bag.between(6, 8) == []


def test_distinct(bag):
    assert bag.distinct() == [(1, 1), (3, 2), (5, 1), (9, 1)]


@pytest.mark.parametrize(("items", "median"), [([1], 1), ([1, 2], 1), ([3, 1, 2], 2), ([4, 1, 3, 2], 2)])
def test_median(items, median):
    assert OrderedMultiset(items).median() == median


def test_no_median():
    with pytest.raises(IndexError, match="no median"):
        OrderedMultiset().median()


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("union", [1, 2, 2, 3]),
        ("intersection", [2]),
        ("difference", [1, 2]),
        ("__add__", [1, 2, 2, 2, 3]),
    ],
)
def test_algebra(method, expected):
    first, second = OrderedMultiset([1, 2, 2]), OrderedMultiset([2, 3])
    assert getattr(first, method)(second) == OrderedMultiset(expected)
    assert list(first) == [1, 2, 2]


def test_equality_and_contains(bag):
    assert 3 in bag
    assert 4 not in bag
    assert bag == OrderedMultiset([9, 5, 3, 3, 1])
    assert bag != OrderedMultiset([9, 5, 3, 1])
    assert bag != [1, 3, 3, 5, 9]
    assert repr(OrderedMultiset("ba")) == "OrderedMultiset(['a', 'b'])"
