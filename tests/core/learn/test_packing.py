"""Mini-batches, micro-batches and rows: whole segments, budgets, determinism."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from camg.learn.packing import microbatches, minibatches

LENGTHS = st.lists(st.integers(1, 60), min_size=1, max_size=40)


@given(st.lists(st.integers(1, 12), max_size=50), st.integers(1, 40), st.text(max_size=4))
def test_minibatches_hold_whole_segments_within_the_limit(responses, limit, seed) -> None:
    batches = minibatches(responses, limit, seed)
    assert sorted(index for batch in batches for index in batch) == list(range(len(responses)))
    for batch in batches:
        assert len(batch) == 1 or sum(responses[index] for index in batch) <= limit
    assert batches == minibatches(responses, limit, seed)


def test_minibatches_are_of_about_equal_size() -> None:
    sizes = [sum([5] * len(batch)) for batch in minibatches([5] * 120, 510, "0")]
    assert sizes == [300, 300]


def test_the_seed_decides_the_mixture() -> None:
    assert minibatches([1] * 40, 10, "0/1/0") != minibatches([1] * 40, 10, "0/2/0")


@given(LENGTHS, st.integers(1, 300), st.booleans())
def test_microbatches_lay_out_each_segment_once_within_the_budget(lengths, budget, pack) -> None:
    batches = microbatches(lengths, range(len(lengths)), budget, pack=pack)
    placed = [index for batch in batches for row in batch for index in row]
    assert sorted(placed) == list(range(len(lengths)))
    for batch in batches:
        width = max(sum(lengths[index] for index in row) for row in batch)
        assert len(batch) * width <= budget or placed.count(batch[0][0]) == len(batch) == 1
        assert width == max(lengths[index] for row in batch for index in row)
        assert pack or all(len(row) == 1 for row in batch)


def test_rows_are_shared_only_when_packing() -> None:
    assert microbatches([4, 2, 2, 1], range(4), 8, pack=True) == [[[0], [1, 2]], [[3]]]
    assert microbatches([4, 2, 2, 1], range(4), 8, pack=False) == [[[0], [1]], [[2], [3]]]


def test_only_members_are_laid_out() -> None:
    assert microbatches([4, 2, 2], [1], 100, pack=True) == [[[1]]]
