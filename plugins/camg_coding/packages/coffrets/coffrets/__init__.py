"""Priority queue, counting caches, interval map and ordered multiset."""

from coffrets.caches import LFUCache, LRUCache, Statistics
from coffrets.intervals import IntervalMap
from coffrets.multiset import OrderedMultiset
from coffrets.queues import BoundedPriorityQueue, EmptyError, PriorityQueue

__all__ = [
    "BoundedPriorityQueue",
    "EmptyError",
    "IntervalMap",
    "LFUCache",
    "LRUCache",
    "OrderedMultiset",
    "PriorityQueue",
    "Statistics",
]
