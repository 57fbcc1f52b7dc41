"""The priority queues."""

import pytest

from coffrets import BoundedPriorityQueue, EmptyError, PriorityQueue


def drain(queue):
    found = []
    while queue:
        found.append(queue.pop())
    return found


@pytest.mark.parametrize(
    "priorities",
    [[1], [2, 1], [3, 1, 2], [5, 4, 3, 2, 1], [1, 2, 3, 4, 5, 6, 7], [7, 1, 6, 2, 5, 3, 4], [10, -1, 4, 0, 8, 2, 9, 3]],
)
def test_pops_in_order(priorities):
    queue = PriorityQueue((f"item {priority}", priority) for priority in priorities)
    assert list(queue) == [f"item {priority}" for priority in sorted(priorities)]
    assert drain(queue) == [f"item {priority}" for priority in sorted(priorities)]


def test_equal_priorities_keep_the_order_of_pushing():
    assert drain(PriorityQueue((name, 1) for name in "cabed")) == list("cabed")


def test_peek_takes_nothing():
    queue = PriorityQueue([("a", 2), ("b", 1)])
    assert (queue.peek(), queue.peek(), len(queue)) == ("b", "b", 2)


@pytest.mark.parametrize("method", ["peek", "pop"])
def test_an_empty_queue(method):
    queue = PriorityQueue()
    assert not queue
    with pytest.raises(EmptyError, match="empty"):
        getattr(queue, method)()


def test_contains_and_priority():
    queue = PriorityQueue([("a", 2)])
    assert "a" in queue
    assert "b" not in queue
    assert queue.priority("a") == 2
    with pytest.raises(KeyError):
        queue.priority("b")


@pytest.mark.parametrize(("priority", "order"), [(0, "dabc"), (1.5, "adbc"), (9, "abcd")])
def test_update(priority, order):
    queue = PriorityQueue([("a", 1), ("b", 2), ("c", 3), ("d", 4)])
    queue.update("d", priority)
    assert queue.priority("d") == priority
    assert drain(queue) == list(order)


def test_update_downwards():
    queue = PriorityQueue([("a", 1), ("b", 2), ("c", 3)])
    queue.update("a", 2.5)
    assert drain(queue) == ["b", "a", "c"]


def test_pushing_again_updates():
    queue = PriorityQueue([("a", 1), ("b", 2)])
    queue.push("a", 3)
    assert len(queue) == 2
    assert drain(queue) == ["b", "a"]


@pytest.mark.parametrize("gone", list("abcdefg"))
def test_remove(gone):
    queue = PriorityQueue([(name, (3 * number) % 7) for number, name in enumerate("abcdefg")])
    before = list(queue)
    queue.remove(gone)
    assert gone not in queue
    assert drain(queue) == [name for name in before if name != gone]


def test_remove_what_is_not_there():
    with pytest.raises(KeyError):
        PriorityQueue().remove("a")


def test_a_long_mixed_history():
    queue, model = PriorityQueue(), {}
    for step in range(300):
        item, priority = (step * 37) % 50, (step * 101) % 211
        if step % 7 == 3 and item in model:
            queue.remove(item)
            del model[item]
        else:
            queue.push(item, priority)
            model[item] = priority
    popped = [(queue.priority(queue.peek()), queue.pop()) for _ in range(len(queue))]
    assert [priority for priority, _ in popped] == sorted(model.values())
    assert {item: priority for priority, item in popped} == model


def test_bounded_keeps_the_largest():
    queue = BoundedPriorityQueue(3, [(str(number), number) for number in (4, 9, 1, 7, 8)])
    assert queue.best() == ["9", "8", "7"]
    assert queue.dropped == 2


def test_bounded_under_its_limit():
    queue = BoundedPriorityQueue(3, [("a", 1)])
    assert (queue.best(), queue.dropped) == (["a"], 0)


@pytest.mark.parametrize("limit", [0, -1])
def test_bounded_wants_room(limit):
    with pytest.raises(ValueError, match="at least 1"):
        BoundedPriorityQueue(limit)
