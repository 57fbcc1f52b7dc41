"""Drawing tokens: the distribution, its support, its exact log-probs, and streams of one's own."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from camg.types import Sampling
from camg_policies.sampling import Stream, draw, keep_support

LOGITS = st.lists(st.floats(-20, 20, width=32), min_size=2, max_size=12)


@settings(max_examples=60, deadline=None)
@given(LOGITS, st.floats(0, 1, exclude_max=True), st.floats(0.2, 3))
def test_inverse_cdf_and_exact_logprob(values, uniform, temperature):
    logits = torch.tensor([values], dtype=torch.float32)
    (token,), (logprob,) = draw(logits, [uniform], Sampling(temperature=temperature))
    probabilities = (logits / temperature).double().softmax(-1)[0]
    edges = probabilities.cumsum(0)
    assert edges[token] >= uniform - 1e-5
    assert token == 0 or edges[token - 1] <= uniform + 1e-5
    assert logprob == pytest.approx(math.log(probabilities[token]), abs=1e-4)


@settings(max_examples=60, deadline=None)
@given(LOGITS, st.integers(0, 14), st.floats(0.05, 1.0), st.floats(0, 1, exclude_max=True))
def test_log_probs_are_renormalised_over_the_kept_support(values, top_k, top_p, uniform):
    """Lesson 8."""
    sampling = Sampling(temperature=0.7, top_p=top_p, top_k=top_k)
    logits = torch.tensor([values], dtype=torch.float32)
    kept = keep_support(logits / 0.7, sampling)[0]
    likely = (logits / 0.7).softmax(-1)[0]  # logits that differ by less than it can tell are ties
    assert (kept[likely == likely.max()] > -torch.inf).any()
    if 0 < top_k < len(values):
        assert (kept > -torch.inf).sum() <= max(top_k, (logits[0] >= logits[0].topk(top_k).values[-1]).sum())
    (token,), (logprob,) = draw(logits, [uniform], sampling)
    assert kept[token] > -torch.inf
    assert logprob == pytest.approx(float(kept[token] - kept.logsumexp(0)), abs=1e-5)


def test_top_p_is_the_smallest_set_that_reaches_it():
    logits = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).log()
    for top_p, count in ((0.4, 1), (0.5, 1), (0.51, 2), (0.8, 2), (0.81, 3), (0.96, 4), (1.0, 4)):
        assert int((keep_support(logits, Sampling(top_p=top_p)) > -torch.inf).sum()) == count


def test_greedy_takes_the_first_of_equals_and_reports_the_untempered_model():
    ids, logprobs = draw(torch.tensor([[1.0, 3.0, 3.0]]), [0.99], Sampling(temperature=0))
    assert ids == [1]
    assert logprobs[0] == pytest.approx(float(torch.tensor([1.0, 3.0, 3.0]).log_softmax(0)[1]), abs=1e-6)


def test_frequencies_follow_the_distribution():
    logits = torch.tensor([0.6, 0.3, 0.1]).log().expand(1, 3)
    stream = Stream(7, 0)
    counts = [0, 0, 0]
    for _ in range(3000):
        counts[draw(logits, [stream.next()], Sampling())[0][0]] += 1
    assert [count / 3000 for count in counts] == pytest.approx([0.6, 0.3, 0.1], abs=0.03)


def test_tokens_without_mass_are_never_drawn():
    logits = torch.tensor([[-torch.inf, 0.0, 0.0, -torch.inf]])
    largest = math.nextafter(1.0, 0.0)
    for uniform in (0.0, 0.5, largest):
        (token,), _ = draw(logits, [uniform], Sampling())
        assert token in (1, 2)


def test_streams_are_functions_of_seed_and_index():
    def first(seed: int, index: int) -> list[float]:
        stream = Stream(seed, index)
        return [stream.next() for _ in range(100)]

    assert first(1, 0) == first(1, 0)
    assert len({tuple(first(seed, index)) for seed in (0, 1, 1 << 63) for index in range(3)}) == 9
    assert all(0 <= number < 1 for number in first(5, 5))


def test_half_precision_logits_are_scored_in_fp32():
    logits = torch.randn(1, 50).to(torch.bfloat16)
    (token,), (logprob,) = draw(logits, [0.3], Sampling())
    assert logprob == pytest.approx(float(logits.float().log_softmax(-1)[0, token]), abs=1e-6)
