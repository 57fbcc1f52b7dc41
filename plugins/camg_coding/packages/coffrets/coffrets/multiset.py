"""A multiset in order."""

from bisect import bisect_left, bisect_right

from coffrets.base import Container


class OrderedMultiset(Container):
    """Comparable items, each any number of times; iterates in ascending order with repetitions."""

    def __init__(self, items=()):
        self._items = sorted(items)

    def __len__(self):
        return len(self._items)

    def __iter__(self):
        return iter(list(self._items))

    def __contains__(self, item):
        return self.count(item) > 0

    def __getitem__(self, index):
        """The item at this rank; negative ranks count from the largest; raises ``IndexError``."""
        return self._items[index]

    def add(self, item, times=1):
        """Add an item ``times`` times; raises ``ValueError`` if that is negative."""
        if times < 0:
            raise ValueError(f"expected times >= 0, got {times}")
        index = bisect_right(self._items, item)
        self._items[index:index] = [item] * times

    def discard(self, item, times=1):
        """Take an item out up to ``times`` times; returns how often it was taken out."""
        taken = min(times, self.count(item))
        index = bisect_left(self._items, item)
        del self._items[index : index + taken]
        return taken

    def remove(self, item):
        """Take an item out once; raises ``KeyError`` if it is not there."""
        if not self.discard(item):
            raise KeyError(item)

    def count(self, item):
        """How often an item is there."""
        return bisect_right(self._items, item) - bisect_left(self._items, item)

    def rank(self, item):
        """How many items are smaller."""
        return bisect_left(self._items, item)

    def floor(self, item):
        """The largest item that is not above ``item``, None if there is none."""
        index = bisect_right(self._items, item)
        return self._items[index - 1] if index > 0 else None

    def ceiling(self, item):
        """The smallest item that is not below ``item``, None if there is none."""
        index = bisect_left(self._items, item)
        return self._items[index] if index < len(self._items) else None

    def between(self, low, high):
        """All items with ``low <= item <= high``, in order."""
        return self._items[bisect_left(self._items, low) : bisect_right(self._items, high)]

    def distinct(self):
        """``(item, count)`` of each different item, in order."""
        pairs = []
        for item in self._items:
            if pairs and pairs[-1][0] == item:
                pairs[-1] = (item, pairs[-1][1] + 1)
            else:
                pairs.append((item, 1))
        return pairs

    def median(self):
        """The item in the middle, of two the lower one; raises ``IndexError`` if there is none."""
        if not self._items:
            raise IndexError("an empty multiset has no median")
        return self._items[(len(self._items) - 1) // 2]

    def union(self, other):
        """Each item as often as in the set that has it more often."""
        return self._combine(other, max)

    def intersection(self, other):
        """Each item as often as in the set that has it less often."""
        return self._combine(other, min)

    def difference(self, other):
        """Each item as many times less as ``other`` has it."""
        return self._combine(other, lambda mine, theirs: max(0, mine - theirs))

    def __add__(self, other):
        return self._combine(other, lambda mine, theirs: mine + theirs)

    def _combine(self, other, times):
        result = type(self)()
        for item, _ in type(self)(set(self._items) | set(other)).distinct():
            result.add(item, times(self.count(item), other.count(item)))
        return result
