"""Caches of a fixed size that count their hits."""

from collections import OrderedDict
from dataclasses import dataclass

from coffrets.base import Container

_MISSING = object()


@dataclass
class Statistics:
    """Counts since the cache was made or ``reset``."""

    hits: int = 0
    misses: int = 0
    evictions: int = 0

    @property
    def lookups(self):
        return self.hits + self.misses

    @property
    def hit_rate(self):
        """Hits divided by lookups, 0.0 before the first one."""
        if self.lookups == 0:
            return 0.0
        return self.hits / self.lookups

    def reset(self):
        """Set every count to 0."""
        self.hits = self.misses = self.evictions = 0


class Cache(Container):
    """Base of the caches: at most ``capacity`` keys; a new key beyond that evicts the one that ``victim`` names.

    ``on_evict(key, value)``, if given, is called for each evicted pair, but not for one that is deleted or replaced.
    """

    def __init__(self, capacity, on_evict=None):
        if capacity < 1:
            raise ValueError(f"expected a capacity of at least 1, got {capacity}")
        self.capacity = capacity
        self.on_evict = on_evict
        self.statistics = Statistics()
        self._values = OrderedDict()

    def __len__(self):
        return len(self._values)

    def __iter__(self):
        return iter(list(self._values))

    def __contains__(self, key):
        """Is the key there? Counts as no lookup and changes no order."""
        return key in self._values

    def get(self, key, default=None):
        """The value of a key, else ``default``; counts a hit or a miss."""
        if key not in self._values:
            self.statistics.misses += 1
            return default
        self.statistics.hits += 1
        self.touch(key)
        return self._values[key]

    def put(self, key, value):
        """Set a key, which counts as a use of it; evicts first if the cache is full and the key is new."""
        if key not in self._values and len(self._values) >= self.capacity:
            self.evict()
        self._values[key] = value
        self.touch(key)

    def get_or_make(self, key, make):
        """The value of a key; on a miss ``make(key)`` is called and its result stored."""
        value = self.get(key, _MISSING)
        if value is _MISSING:
            value = make(key)
            self.put(key, value)
        return value

    def evict(self):
        """Take out the victim and return its key."""
        key = self.victim()
        value = self._values[key]
        self.forget(key)
        self.statistics.evictions += 1
        if self.on_evict is not None:
            self.on_evict(key, value)
        return key

    def delete(self, key):
        """Take out a key; returns whether it was there."""
        if key not in self._values:
            return False
        self.forget(key)
        return True

    def resize(self, capacity):
        """Change the capacity, with as many evictions as that needs."""
        if capacity < 1:
            raise ValueError(f"expected a capacity of at least 1, got {capacity}")
        self.capacity = capacity
        while len(self._values) > capacity:
            self.evict()

    def forget(self, key):
        """Drop what the cache knows of a key."""
        del self._values[key]

    def touch(self, key):
        """Note that a key was used."""
        raise TypeError(f"{type(self).__name__} does not say how it orders keys")

    def victim(self):
        """The key to evict next."""
        raise TypeError(f"{type(self).__name__} does not say what it evicts")


class LRUCache(Cache):
    """Evicts the key that was not used for longest; iterates from that one to the one used last."""

    def touch(self, key):
        self._values.move_to_end(key)

    def victim(self):
        return next(iter(self._values))


class LFUCache(Cache):
    """Evicts the key with the fewest uses, and among equals the one that was added first."""

    def __init__(self, capacity, on_evict=None):
        super().__init__(capacity, on_evict)
        self._uses = {}

    def touch(self, key):
        self._uses[key] = self._uses.get(key, 0) + 1

    def victim(self):
        return min(self._values, key=self._uses.__getitem__)

    def forget(self, key):
        super().forget(key)
        del self._uses[key]

    def uses(self, key):
        """How often a key was put or got, 0 if it is not there."""
        return self._uses.get(key, 0)
