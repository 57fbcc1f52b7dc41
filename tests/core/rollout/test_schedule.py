"""The schedule is a pure function of seed, tasks and position."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from camg.errors import DataError, UsageError
from camg.rollout.schedule import Schedule

TASKS = {"a": [f"a{i}" for i in range(7)], "b": [f"b{i}" for i in range(4)]}


@given(st.integers(0, 2**31), st.lists(st.integers(0, 300), min_size=1, max_size=20), st.integers(1, 5))
def test_entries_do_not_depend_on_what_was_asked_before(seed: int, order: list[int], group: int) -> None:
    asked_at_random = {i: (s := Schedule(seed, TASKS, group)).entry(i) for i in order}
    in_order = Schedule(seed, TASKS, group)
    entries = list(in_order.entries(0, 301))
    assert all(entries[i] == entry for i, entry in asked_at_random.items())
    shuffled = {env: list(reversed(ids)) for env, ids in reversed(TASKS.items())}
    assert Schedule(seed, shuffled, group).entry(order[0]) == entries[order[0]]
    assert s.group_size == group


@given(st.integers(0, 2**31))
def test_every_task_comes_once_in_an_epoch(seed: int) -> None:
    entries = list(Schedule(seed, TASKS).entries(0, 400))
    for env, ids in TASKS.items():
        mine = [e.task for e in entries if e.env == env]
        epochs = [mine[i : i + len(ids)] for i in range(0, len(mine) - len(ids), len(ids))]
        assert all(sorted(epoch) == sorted(ids) for epoch in epochs)


def test_orders_differ_between_epochs_and_seeds() -> None:
    tasks = {"a": [str(i) for i in range(20)]}
    first = [e.task for e in Schedule(0, tasks).entries(0, 40)]
    assert first[:20] != first[20:]
    assert first != [e.task for e in Schedule(1, tasks).entries(0, 40)]


def test_environments_are_uniform_whatever_their_size() -> None:
    counts = Counter(e.env for e in Schedule(3, {"a": ["x"], "b": [str(i) for i in range(999)]}).entries(0, 4000))
    assert abs(counts["a"] - 2000) < 200  # six standard deviations


def test_groups_share_a_task_but_no_seed() -> None:
    entries = list(Schedule(0, TASKS, 4).entries(0, 80))
    for start in range(0, 80, 4):
        group = entries[start : start + 4]
        assert len({(e.group, e.env, e.task) for e in group}) == 1
        assert group[0].group == start // 4
    assert len({e.seed for e in entries}) == 80
    assert all(0 <= e.seed < 2**63 for e in entries)


def test_known_values_never_move() -> None:
    """A resumed run of an older version must find the same schedule."""
    entry = Schedule(0, TASKS, 1).entry(5)
    assert (entry.env, entry.task, entry.seed) == ("a", "a6", 895528922385777933)


def test_bad_input_is_named() -> None:
    with pytest.raises(DataError, match="'empty'"):
        Schedule(0, {"empty": []})
    with pytest.raises(UsageError, match="at least one environment"):
        Schedule(0, {})
    with pytest.raises(UsageError, match="group size"):
        Schedule(0, TASKS, 0)
    with pytest.raises(UsageError, match="-1"):
        Schedule(0, TASKS).entry(-1)
