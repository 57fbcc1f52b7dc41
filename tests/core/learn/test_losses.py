"""The clipped losses (paper Eq. 11 to 14): by hand, NaN-safe, equal under accumulation."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from camg.learn.losses import entropy_loss, policy_loss, reference_loss, turn_policy_loss, value_loss

torch.set_num_threads(1)
NAN = float("nan")


def t(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32)


def yes(size: int) -> torch.Tensor:
    return torch.ones(size, dtype=torch.bool)


def test_policy_loss_by_hand() -> None:
    """Ratios 1.5, 0.5, 1.5, 0.5 with advantages 1, 1, -1, -1 and clip 0.2: gains 1.2, 0.5, -1.5, -0.8."""
    logs = t(*[math.log(ratio) for ratio in (1.5, 0.5, 1.5, 0.5)])
    loss = policy_loss(logs, torch.zeros(4), t(1, 1, -1, -1), yes(4), clip=0.2, normaliser=4)
    assert loss.item() == pytest.approx(-(1.2 + 0.5 - 1.5 - 0.8) / 4)


def test_only_unclipped_terms_have_a_gradient() -> None:
    logs = t(*[math.log(ratio) for ratio in (1.5, 0.5, 1.5, 0.5)]).requires_grad_()
    policy_loss(logs, torch.zeros(4), t(1, 1, -1, -1), yes(4), clip=0.2, normaliser=4).backward()
    torch.testing.assert_close(logs.grad, t(0, -0.5 / 4, 1.5 / 4, 0))


def test_a_masked_nan_reaches_neither_loss_nor_gradient() -> None:
    """Lesson 9: lp [0, 0], old [0, NaN], mask [1, 0] => finite loss."""
    logprobs = t(0, 0).requires_grad_()
    mask = torch.tensor([True, False])
    loss = policy_loss(logprobs, t(0, NAN), t(1, NAN), mask, clip=0.2, normaliser=1, weights=t(1, NAN))
    loss.backward()
    assert loss.item() == -1.0
    assert logprobs.grad.tolist() == [-1.0, 0.0]
    values = t(0.5, NAN).requires_grad_()
    loss = value_loss(values, t(0.5, NAN), t(1, NAN), mask, clip=0.5, normaliser=1)
    loss.backward()
    assert loss.item() == pytest.approx(0.125)
    assert values.grad.tolist() == [-0.5, 0.0]


def test_an_all_zero_mask_is_a_zero_loss() -> None:
    """Lesson 10."""
    logprobs, nobody = t(NAN, 1).requires_grad_(), torch.zeros(2, dtype=torch.bool)
    loss = policy_loss(logprobs, t(0, NAN), t(1, 1), nobody, clip=0.2, normaliser=1)
    assert loss.item() == 0.0
    responses = torch.zeros(2, dtype=torch.int64)
    assert turn_policy_loss(logprobs, t(0, 0), t(1, 1), nobody, responses, clip=0.2, normaliser=1).item() == 0.0
    assert float(value_loss(t(NAN, 0), t(0, 0), t(0, 0), nobody, clip=0.5, normaliser=1)) == 0.0


def test_an_absurd_ratio_stays_finite() -> None:
    logprobs = t(500.0, -500.0).requires_grad_()
    loss = policy_loss(logprobs, t(0, 0), t(-1, 0), yes(2), clip=0.2, normaliser=2)
    loss.backward()
    assert bool(loss.isfinite())
    assert bool(logprobs.grad.isfinite().all())


def test_value_loss_by_hand() -> None:
    """V 2, V^- 0, clip 0.5: V~ 0.5. Against G 1: max(1, 0.25) = 1. Against G 2: max(0, 2.25) = 2.25."""
    loss = value_loss(t(2, 2), t(0, 0), t(1, 2), yes(2), clip=0.5, normaliser=2)
    assert loss.item() == pytest.approx((1 + 2.25) / 4)


def test_a_turn_has_one_ratio_whatever_its_length() -> None:
    """Response 0: log-ratio 0.1 + 0.2, advantage 1, ratio e^0.3 clipped at 1.2; response 5: -0.1, advantage -2."""
    logprobs = t(0.1, -0.1, 0.2).requires_grad_()
    responses = torch.tensor([0, 5, 0])
    loss = turn_policy_loss(logprobs, torch.zeros(3), t(1, -2, 1), yes(3), responses, clip=0.2, normaliser=2)
    loss.backward()
    assert loss.item() == pytest.approx(-(1.2 - 2 * math.exp(-0.1)) / 2, rel=1e-6)
    torch.testing.assert_close(logprobs.grad, t(0, math.exp(-0.1), 0))


def test_turn_and_token_ratio_agree_on_responses_of_one_token() -> None:
    logprobs, old, advantages = torch.randn(6), torch.randn(6), torch.randn(6)
    one = policy_loss(logprobs, old, advantages, yes(6), clip=0.2, normaliser=6)
    two = turn_policy_loss(logprobs, old, advantages, yes(6), torch.arange(6), clip=0.2, normaliser=6)
    torch.testing.assert_close(one, two)


def test_importance_weights_scale_terms() -> None:
    loss = policy_loss(t(0, 0), t(0, 0), t(1, 1), yes(2), clip=0.2, normaliser=2, weights=t(0.5, 2))
    assert loss.item() == pytest.approx(-1.25)


def test_entropy_and_reference_terms_by_hand() -> None:
    mask = torch.tensor([True, False, True])
    assert float(entropy_loss(t(1, NAN, 3), mask, coefficient=0.1, normaliser=2)) == pytest.approx(-0.2)
    loss = reference_loss(t(0, NAN, 0), t(0, 0, 1), mask, coefficient=0.5, normaliser=2)
    assert loss.item() == pytest.approx(0.5 * (math.e - 2) / 2, rel=1e-6)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(0, 99))
def test_accumulated_micro_batches_are_the_single_batch(sizes, seed) -> None:
    """Lesson 21: micro-batches of 1 and 9 tokens give the gradient of the single batch."""
    torch.manual_seed(seed)
    total = sum(sizes)
    old, gains = torch.randn(total), torch.randn(total)
    whole = torch.randn(total, requires_grad=True)
    policy_loss(whole, old, gains, yes(total), clip=0.2, normaliser=total).backward()
    parts = whole.detach().clone().requires_grad_()
    start = 0
    for size in sizes:
        cut = slice(start, start + size)
        policy_loss(parts[cut], old[cut], gains[cut], yes(size), clip=0.2, normaliser=total).backward()
        start += size
    torch.testing.assert_close(parts.grad, whole.grad)
