"""A map from half-open intervals to values."""

from bisect import bisect_right

from coffrets.base import Container


class IntervalMap(Container):
    """Maps ``[start, stop)`` to values; what is set later covers what was there.

    Stored intervals never overlap; neighbours that touch and have equal values are one interval. Iterates over
    ``(start, stop, value)`` in order; its length is the number of these.
    """

    def __init__(self, intervals=()):
        self._items = []
        for start, stop, value in intervals:
            self.set(start, stop, value)

    def __len__(self):
        return len(self._items)

    def __iter__(self):
        return iter(list(self._items))

    def _find(self, point):
        """Index of the interval that holds ``point``, or -1."""
        index = bisect_right(self._items, point, key=lambda item: item[0]) - 1
        if index >= 0 and point < self._items[index][1]:
            return index
        return -1

    def __contains__(self, point):
        return self._find(point) >= 0

    def __getitem__(self, point):
        """The value at a point; raises ``KeyError``."""
        index = self._find(point)
        if index < 0:
            raise KeyError(point)
        return self._items[index][2]

    def get(self, point, default=None):
        """The value at a point, else ``default``."""
        try:
            return self[point]
        except KeyError:
            return default

    def set(self, start, stop, value):
        """Map ``[start, stop)`` to ``value``; raises ``ValueError`` unless ``start < stop``."""
        self.clear(start, stop)
        items = self._items
        index = bisect_right(items, start, key=lambda item: item[0])
        items.insert(index, (start, stop, value))
        if index + 1 < len(items):
            self._join(index)
        if index > 0:
            self._join(index - 1)

    def _join(self, index):
        """Make one interval of this and the next if they touch and agree."""
        first, second = self._items[index], self._items[index + 1]
        if first[1] == second[0] and first[2] == second[2]:
            self._items[index : index + 2] = [(first[0], second[1], first[2])]

    def clear(self, start, stop):
        """Forget everything in ``[start, stop)``, cutting intervals that reach over its ends."""
        if not start < stop:
            raise ValueError(f"expected start < stop, got {start} and {stop}")
        kept = []
        for low, high, value in self._items:
            if high <= start or low >= stop:
                kept.append((low, high, value))
                continue
            if low < start:
                kept.append((low, start, value))
            if high > stop:
                kept.append((stop, high, value))
        self._items = kept

    def overlapping(self, start, stop):
        """The parts of all intervals inside ``[start, stop)``, in order, cut at its ends."""
        found = []
        for low, high, value in self._items:
            if low < stop and high > start:
                found.append((max(low, start), min(high, stop), value))
        return found

    def gaps(self, start, stop):
        """What of ``[start, stop)`` maps to nothing, as ``(low, high)`` in order."""
        found = []
        position = start
        for low, high, _ in self.overlapping(start, stop):
            if position < low:
                found.append((position, low))
            position = high
        if position < stop:
            found.append((position, stop))
        return found

    def total(self, value=None):
        """The summed lengths of all intervals, or of those with this value."""
        length = 0
        for low, high, each in self._items:
            if value is None or each == value:
                length += high - low
        return length
