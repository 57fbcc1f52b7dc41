"""A binary heap whose priorities may change."""

from coffrets.base import Container


class EmptyError(LookupError):
    """Something was taken from an empty queue."""


class PriorityQueue(Container):
    """Items with priorities; the smallest priority comes first, and among equals what was pushed first.

    Every item is in the queue at most once and must be hashable. Push, pop, update and remove cost O(log n).
    """

    def __init__(self, pairs=()):
        self._heap = []  # [priority, number, item]
        self._where = {}  # item -> index in the heap
        self._pushed = 0
        for item, priority in pairs:
            self.push(item, priority)

    def __len__(self):
        return len(self._heap)

    def __contains__(self, item):
        return item in self._where

    def __iter__(self):
        """Items in the order in which ``pop`` would give them; the queue stays as it is."""
        return iter([entry[2] for entry in sorted(self._heap, key=lambda entry: (entry[0], entry[1]))])

    def push(self, item, priority):
        """Add an item; an item that is already there gets the new priority and keeps its number among equals."""
        if item in self._where:
            self.update(item, priority)
            return
        self._pushed += 1
        self._heap.append([priority, self._pushed, item])
        self._where[item] = len(self._heap) - 1
        self._rise(len(self._heap) - 1)

    def peek(self):
        """The first item; raises ``EmptyError``."""
        try:
            return self._heap[0][2]
        except IndexError:
            raise EmptyError("the queue is empty") from None

    def priority(self, item):
        """The priority of an item; raises ``KeyError``."""
        return self._heap[self._where[item]][0]

    def pop(self):
        """Take out and return the first item; raises ``EmptyError``."""
        item = self.peek()
        self.remove(item)
        return item

    def update(self, item, priority):
        """Change the priority of an item; raises ``KeyError`` if it is not there."""
        index = self._where[item]
        self._heap[index][0] = priority
        self._rise(index)
        self._sink(self._where[item])

    def remove(self, item):
        """Take out this item; raises ``KeyError`` if it is not there."""
        index = self._where.pop(item)
        last = self._heap.pop()
        if index < len(self._heap):
            self._heap[index] = last
            self._where[last[2]] = index
            self._rise(index)
            self._sink(self._where[last[2]])

    def _before(self, first, second):
        one, two = self._heap[first], self._heap[second]
        return one[0] < two[0] or (one[0] == two[0] and one[1] < two[1])

    def _exchange(self, first, second):
        heap = self._heap
        heap[first], heap[second] = heap[second], heap[first]
        self._where[heap[first][2]] = first
        self._where[heap[second][2]] = second

    def _rise(self, index):
        while index > 0:
            parent = (index - 1) // 2
            if not self._before(index, parent):
                break
            self._exchange(index, parent)
            index = parent

    def _sink(self, index):
        size = len(self._heap)
        while True:
            smallest = index
            for child in (2 * index + 1, 2 * index + 2):
                if child < size and self._before(child, smallest):
                    smallest = child
            if smallest == index:
                return
            self._exchange(index, smallest)
            index = smallest


class BoundedPriorityQueue(PriorityQueue):
    """Keeps only the ``limit`` items with the *largest* priorities; what falls out is counted in ``dropped``."""

    def __init__(self, limit, pairs=()):
        if limit < 1:
            raise ValueError(f"expected a limit of at least 1, got {limit}")
        self.limit = limit
        self.dropped = 0
        super().__init__(pairs)

    def push(self, item, priority):
        """Add an item, and drop the smallest if there are now more than ``limit``."""
        super().push(item, priority)
        while len(self) > self.limit:
            self.pop()
            self.dropped += 1

    def best(self):
        """All items, the largest priority first."""
        return list(self)[::-1]
