"""The caches and their counts."""

import pytest

from coffrets import LFUCache, LRUCache, Statistics
from coffrets.caches import Cache


@pytest.fixture(params=[LRUCache, LFUCache])
def make(request):
    return request.param


def test_get_and_put(make):
    cache = make(2)
    cache.put("a", 1)
    assert (cache.get("a"), cache.get("b"), cache.get("b", 7)) == (1, None, 7)
    assert (len(cache), "a" in cache, "b" in cache) == (1, True, False)


def test_counts(make):
    cache = make(2)
    cache.put("a", 1)
    for key in "aab":
        cache.get(key)
    assert (cache.statistics.hits, cache.statistics.misses, cache.statistics.lookups) == (2, 1, 3)
    assert cache.statistics.hit_rate == pytest.approx(2 / 3)
    assert "a" in cache
    assert cache.statistics.lookups == 3


def test_capacity_is_kept(make):
    cache = make(3)
    for number in range(10):
        cache.put(number, number)
    assert len(cache) == 3
    assert cache.statistics.evictions == 7


def test_replacing_evicts_nothing(make):
    cache = make(1)
    cache.put("a", 1)
    cache.put("a", 2)
    assert (cache.get("a"), cache.statistics.evictions) == (2, 0)


def test_on_evict(make):
    gone = []
    cache = make(1, on_evict=lambda key, value: gone.append((key, value)))
    cache.put("a", 1)
    cache.put("b", 2)
    cache.delete("b")
    assert gone == [("a", 1)]


def test_delete(make):
    cache = make(2)
    cache.put("a", 1)
    assert (cache.delete("a"), cache.delete("a"), len(cache)) == (True, False, 0)


def test_get_or_make(make):
    made = []
    cache = make(2)
    for _ in range(3):
        assert cache.get_or_make("ab", lambda key: made.append(key)) is None
    assert made == ["ab"]
    assert (cache.statistics.hits, cache.statistics.misses) == (2, 1)


def test_resize(make):
    cache = make(4)
    for key in "abcd":
        cache.put(key, key)
    cache.resize(2)
    assert list(cache) == ["c", "d"]
    assert (cache.capacity, cache.statistics.evictions) == (2, 2)


@pytest.mark.parametrize("capacity", [0, -3])
def test_capacity_of_nothing(make, capacity):
    with pytest.raises(ValueError, match="at least 1"):
        make(capacity)
    with pytest.raises(ValueError, match="at least 1"):
        make(1).resize(capacity)


def test_least_recently_used_goes():
    cache = LRUCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.get("a")
    cache.put("c", 3)
    assert list(cache) == ["a", "c"]


def test_order_of_use():
    cache = LRUCache(3)
    for key in "abc":
        cache.put(key, key)
    cache.get("b")
    cache.put("a", 0)
    assert list(cache) == ["c", "b", "a"]
    assert cache.victim() == "c"


def test_least_frequently_used_goes():
    cache = LFUCache(2)
    cache.put("a", 1)
    cache.get("a")
    cache.put("b", 2)
    cache.put("c", 3)
    assert "a" in cache
    assert "b" not in cache
    assert (cache.uses("a"), cache.uses("b"), cache.uses("c")) == (2, 0, 1)


def test_equal_use_evicts_the_first():
    cache = LFUCache(2)
    for key in "abc":
        cache.put(key, key)
    assert list(cache) == ["b", "c"]


def test_uses_start_anew_after_delete():
    cache = LFUCache(2)
    cache.put("a", 1)
    cache.get("a")
    cache.delete("a")
    cache.put("a", 1)
    assert cache.uses("a") == 1


def test_statistics():
    statistics = Statistics()
    assert statistics.hit_rate == 0.0
    statistics.hits, statistics.misses, statistics.evictions = 3, 1, 2
    assert statistics.hit_rate == 0.75
    statistics.reset()
    assert statistics == Statistics(0, 0, 0)


def test_the_base_names_what_is_missing():
    with pytest.raises(TypeError, match="Cache does not say"):
        Cache(1).put("a", 1)
