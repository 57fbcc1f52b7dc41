"""Chunked log-probs against log_softmax + gather: values, gradients, precision, memory."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from camg.learn.logprobs import token_logprobs

torch.set_num_threads(1)


def plain(hidden, weight, targets, bias, temperature):
    logits = hidden @ weight.T
    table = torch.log_softmax((logits if bias is None else logits + bias) / temperature, dim=-1)
    return table.gather(1, targets[:, None]).squeeze(1), -(table.exp() * table).sum(-1)


def inputs(tokens, vocabulary, width=5, *, bias=True, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    hidden = torch.randn(tokens, width, dtype=dtype, generator=generator, requires_grad=True)
    weight = torch.randn(vocabulary, width, dtype=dtype, generator=generator, requires_grad=True)
    offset = torch.randn(vocabulary, dtype=dtype, generator=generator, requires_grad=True) if bias else None
    return hidden, weight, torch.randint(vocabulary, (tokens,), generator=generator), offset


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("tile", [1, 12, 1 << 20])
def test_gradcheck(bias, tile) -> None:
    hidden, weight, targets, offset = inputs(6, 11, bias=bias)

    def both(hidden, weight, *offset):
        return token_logprobs(hidden, weight, targets, bias=offset[0] if offset else None, temperature=0.7, tile=tile)

    assert torch.autograd.gradcheck(both, (hidden, weight, *([] if offset is None else [offset])))


@settings(max_examples=40, deadline=None)
@given(
    tokens=st.integers(0, 9),
    vocabulary=st.integers(1, 40),
    tile=st.integers(1, 200),
    temperature=st.floats(0.1, 3.0),
    bias=st.booleans(),
    mixture=st.floats(-1.0, 1.0),
)
def test_any_tiling_equals_the_plain_way(tokens, vocabulary, tile, temperature, bias, mixture) -> None:
    results = []
    for tiled in (True, False):
        hidden, weight, targets, offset = inputs(tokens, vocabulary, bias=bias, seed=vocabulary)
        if tiled:
            logprobs, entropy = token_logprobs(hidden, weight, targets, bias=offset, temperature=temperature, tile=tile)
        else:
            logprobs, entropy = plain(hidden, weight, targets, offset, temperature)
        weights = torch.linspace(-1, 2, tokens, dtype=torch.float64)
        ((weights * logprobs).sum() + mixture * entropy.sum()).backward()
        grads = [tensor.grad for tensor in (hidden, weight, offset) if tensor is not None]
        results.append([logprobs.detach(), entropy.detach(), *grads])
    for mine, theirs in zip(*results, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-9, atol=1e-9)


def test_large_logits_do_not_overflow() -> None:
    hidden, weight, targets, _ = inputs(4, 9, dtype=torch.float32, bias=False)
    logprobs, entropy = token_logprobs(hidden * 1e4, weight, targets, tile=6)
    expected, _ = plain(hidden.double() * 1e4, weight.double(), targets, None, 1.0)
    torch.testing.assert_close(logprobs.double(), expected, rtol=1e-5, atol=1e-2)
    assert bool(entropy.isfinite().all())
    assert bool((entropy >= -1e-6).all())


def test_a_certain_token_has_log_prob_zero() -> None:
    """Logits of some hundreds: their rounding does not show in the log-prob of the token that has all the mass."""
    hidden, weight, _, _ = inputs(64, 40, 16, dtype=torch.float32, bias=False)
    hidden = hidden * 50
    best = (hidden @ weight.T).argmax(1)
    expected, _ = plain(hidden.double(), weight.double(), best, None, 1.0)
    for tile in (7, 64 * 9, 1 << 20):
        mine, _ = token_logprobs(hidden, weight, best, tile=tile)
        assert bool((mine <= 0).all())
        sure = expected > -1e-9
        assert int(sure.sum()) > 20
        assert bool((mine[sure].abs() < 1e-8).all())


def test_float32_is_exact_enough_for_ratios_at_a_large_vocabulary() -> None:
    hidden, weight, targets, _ = inputs(8, 50_000, 32, dtype=torch.float32, bias=False)
    mine, entropy = token_logprobs(hidden, weight * 0.3, targets)
    expected, information = plain(hidden.double(), weight.double() * 0.3, targets, None, 1.0)
    torch.testing.assert_close(mine.double(), expected, rtol=0, atol=2e-5)
    torch.testing.assert_close(entropy.double(), information, rtol=0, atol=5e-5)


def test_bf16_states_meet_a_float32_head_in_float32_under_autocast() -> None:
    hidden, weight, targets, _ = inputs(8, 100, dtype=torch.float32, bias=False)
    narrow = hidden.detach().bfloat16().requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mine, _ = token_logprobs(narrow, weight, targets, tile=64)
    mine.sum().backward()
    assert mine.dtype == torch.float32
    assert narrow.grad.dtype == torch.bfloat16
    torch.testing.assert_close(mine, plain(narrow.float(), weight, targets, None, 1.0)[0], rtol=0, atol=1e-5)


def test_no_tensor_of_tokens_times_vocabulary_is_made() -> None:
    """Lesson 37: the largest tensor that forward and backward allocate is a tile or the weight's own gradient."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Largest(TorchDispatchMode):
        elements = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            for tensor in out if isinstance(out, (tuple, list)) else (out,):
                if isinstance(tensor, torch.Tensor):
                    self.elements = max(self.elements, tensor.untyped_storage().nbytes() // tensor.element_size())
            return out

    hidden, weight, targets, _ = inputs(300, 2_000, dtype=torch.float32, bias=False)
    with Largest() as largest:
        logprobs, entropy = token_logprobs(hidden, weight, targets, tile=8_192)
        (logprobs.sum() + entropy.sum()).backward()
    assert largest.elements <= max(8_192, weight.numel())


@pytest.mark.parametrize("temperature", [0.0, -1.0])
def test_a_temperature_of_zero_is_refused(temperature) -> None:
    hidden, weight, targets, _ = inputs(2, 3)
    with pytest.raises(ValueError, match="Expected a temperature above 0"):
        token_logprobs(hidden, weight, targets, temperature=temperature)


def test_wrong_shapes_are_named() -> None:
    hidden, weight, targets, _ = inputs(2, 3)
    with pytest.raises(ValueError, match=r"Expected hidden \[N, H\]"):
        token_logprobs(hidden, weight, targets[:1])
