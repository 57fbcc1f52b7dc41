"""The advantage pipeline (paper B.2): hand-computed cases, masks, ranks, degenerate batches."""

from __future__ import annotations

import threading

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from camg.learn.advantages import pipeline

torch.set_num_threads(1)


def run(raw, environments, mask=None, count=None):
    raw = torch.tensor(raw, dtype=torch.float32)
    environments = torch.tensor(environments)
    mask = torch.ones_like(environments, dtype=torch.bool) if mask is None else torch.tensor(mask)
    return pipeline(raw, environments, mask, count=count or int(environments.max()) + 1)


def test_by_hand_two_environments() -> None:
    """raw [1, 3 | 10, 10, 13], environments [0, 0 | 1, 1, 1].

    Centred [-1, 1, -1, -1, 2]; common scale sqrt(8/5); weights 5/(2*2) = 1.25 and 5/(2*3) = 5/6;
    weighed (times sqrt(8/5)) [-1.25, 1.25, -5/6, -5/6, 5/3], mean 0, variance (2*1.5625 + 2*25/36 + 25/9)/5 = 1.4583.
    """
    deviation = ((2 * 1.5625 + 2 * 25 / 36 + 25 / 9) / 5) ** 0.5
    expected = [value / deviation for value in (-1.25, 1.25, -5 / 6, -5 / 6, 5 / 3)]
    torch.testing.assert_close(run([1, 3, 10, 10, 13], [0, 0, 1, 1, 1]), torch.tensor(expected))


def test_by_hand_one_environment_is_a_plain_standardisation() -> None:
    raw = torch.tensor([0.0, 1.0, 5.0, 6.0])
    torch.testing.assert_close(run(raw.tolist(), [0] * 4), (raw - raw.mean()) / raw.std(correction=0))


def test_masked_tokens_take_no_part() -> None:
    """Lesson 13: garbage where masked changes nothing, and comes out as 0."""
    clean = run([1, 3, 10, 10, 13], [0, 0, 1, 1, 1])
    dirty = run(
        [1, float("nan"), 3, 10, float("inf"), 10, 13, -1e30],
        [0, 1, 0, 1, 0, 1, 1, 2],
        [True, False, True, True, False, True, True, False],
        count=3,
    )
    torch.testing.assert_close(dirty[[0, 2, 3, 5, 6]], clean)
    assert dirty[[1, 4, 7]].tolist() == [0, 0, 0]


def test_an_environment_that_is_absent_does_not_count() -> None:
    torch.testing.assert_close(
        run([1, 3, 10, 10, 13], [0, 0, 3, 3, 3], count=5), run([1, 3, 10, 10, 13], [0, 0, 1, 1, 1])
    )


@pytest.mark.parametrize("value", [0.0, 0.5, 0.7, -3e4, 1e-12])
def test_zero_variance_is_centred_only(value) -> None:
    """Lesson 20: four times the same gives zeros, not rounding noise blown up to one."""
    out = run([value] * 7, [0, 0, 0, 1, 1, 1, 1])
    assert out.abs().max() < 1e-2 * max(1.0, abs(value)) * 1e-3


def test_statistics_of_many_tokens_are_exact() -> None:
    """400,000 tokens of small spread about 100, where sums in float32 lose the signal."""
    raw = torch.randn(400_000, generator=torch.Generator().manual_seed(0)) * 1e-3 + 100
    environments = torch.arange(len(raw)) % 2
    exact = raw.double()
    for number in (0, 1):
        exact[environments == number] -= exact[environments == number].mean()
    out = pipeline(raw, environments, torch.ones(len(raw), dtype=torch.bool), count=2)
    torch.testing.assert_close(out.double(), exact / exact.std(correction=0), rtol=0, atol=1e-5)


def test_a_group_with_one_failure_is_kept() -> None:
    """Lesson 20, the other half: [0] + [0.95] * 7 keeps its signal."""
    out = run([0.0] + [0.95] * 7, [0] * 8)
    torch.testing.assert_close(out, torch.tensor([-(7**0.5)] + [7**-0.5] * 7))


def test_one_token_and_no_token() -> None:
    assert run([5.0], [0]).tolist() == [0.0]
    assert run([5.0, 7.0], [0, 0], [False, False]).tolist() == [0.0, 0.0]
    assert (
        pipeline(torch.zeros(0), torch.zeros(0, dtype=torch.int64), torch.zeros(0, dtype=torch.bool), count=1).numel()
        == 0
    )


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.floats(-10, 10, width=32), st.integers(0, 3)), min_size=2, max_size=40),
    st.floats(0.1, 100),
    st.floats(-50, 50),
)
def test_shift_and_scale_do_not_matter(tokens, scale, shift) -> None:
    raw, environments = [value for value, _ in tokens], [env for _, env in tokens]
    if torch.tensor(raw).std(correction=0) < 1e-2:
        return
    one = run(raw, environments, count=4)
    two = run([value * scale + shift for value in raw], environments, count=4)
    torch.testing.assert_close(one, two, rtol=1e-2, atol=1e-2)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.floats(-10, 10, width=32), st.integers(0, 2)), min_size=1, max_size=30), st.randoms())
def test_the_order_of_tokens_does_not_matter(tokens, rng) -> None:
    order = list(range(len(tokens)))
    rng.shuffle(order)
    one = run([value for value, _ in tokens], [env for _, env in tokens], count=3)
    two = run([tokens[i][0] for i in order], [tokens[i][1] for i in order], count=3)
    torch.testing.assert_close(one[order], two, rtol=1e-4, atol=1e-4)


def test_statistics_run_over_all_ranks_and_an_empty_shard_joins() -> None:
    """Lesson 22: three ranks, one without a token, give what one rank gives."""
    torch.manual_seed(0)
    raw, environments = torch.randn(12), torch.randint(3, (12,))
    mask = torch.rand(12) > 0.2
    expected = pipeline(raw, environments, mask, count=3)
    shards = [slice(0, 5), slice(5, 5), slice(5, 12)]
    barrier, parts, out = threading.Barrier(3, timeout=20), [None] * 3, [None] * 3

    def rank(number: int) -> None:
        def reduce(tensor):
            parts[number] = tensor
            barrier.wait()
            total = sum(parts)
            barrier.wait()
            return total

        shard = shards[number]
        out[number] = pipeline(raw[shard], environments[shard], mask[shard], count=3, reduce=reduce)

    threads = [threading.Thread(target=rank, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    torch.testing.assert_close(torch.cat(out), expected)
