"""Actor and value model: equal to transformers, whatever the padding and packing; the plain decoder equals both."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from tiny_models import KINDS, VOCABULARY, actor, model

from camg_policies.models import ValueModel
from camg_policies.plain import PlainDecoder


def rows(lengths: list[int], left: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    width = max(lengths)
    ids = torch.randint(0, VOCABULARY, (len(lengths), width), generator=generator)
    index = torch.arange(width)[None]
    size = torch.tensor(lengths)[:, None]
    return ids, (index >= width - size) if left else (index < size)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("left", [False, True])
def test_padding_changes_nothing(kind, left):
    """Lesson 13: whatever stands at padding, real positions are those of the bare sequence."""
    net, reference = actor(kind), model(kind)
    ids, mask = rows([9, 30, 17], left)
    with torch.inference_mode():
        for other in (ids, torch.where(mask, ids, 5)):
            logits = net(other, mask)
            for row in range(3):
                bare = reference(input_ids=ids[row, mask[row]][None]).logits[0]
                torch.testing.assert_close(logits[row, mask[row]], bare, atol=2e-4, rtol=1e-4)
        assert torch.isfinite(logits).all()


@pytest.mark.parametrize("kind", ["qwen3", "llama"])
def test_packed_rows_equal_separate_sequences(kind):
    net, reference = actor(kind), model(kind)
    assert net.pack_safe
    ids, _ = rows([40, 40])
    cuts = [[0, 11, 33], [0, 25, 40]]  # row 0 ends at 33: the rest is padding
    positions = torch.zeros_like(ids)
    mask = torch.zeros_like(ids, dtype=torch.bool)
    for row, edges in enumerate(cuts):
        for start, stop in pairwise(edges):
            positions[row, start:stop] = torch.arange(stop - start)
            mask[row, start:stop] = True
    with torch.inference_mode():
        hidden = net.hidden(ids, mask, positions)
        logits = net.project(hidden)
        for row, edges in enumerate(cuts):
            for start, stop in pairwise(edges):
                bare = reference(input_ids=ids[row, start:stop][None]).logits[0]
                torch.testing.assert_close(logits[row, start:stop], bare, atol=2e-4, rtol=1e-4)


def test_recurrent_layers_are_not_packed():
    assert not actor("qwen3_5").pack_safe


@pytest.mark.parametrize(("kind", "tied"), [("qwen3", True), ("llama", False), ("qwen3_5", False)])
def test_state_holds_every_parameter_once(kind, tied):
    net = actor(kind)
    state = net.state_dict()
    assert len({tensor.data_ptr() for tensor in state.values()}) == len(state)
    assert ("head.weight" in state) is not tied
    assert net.output_weight.shape == (VOCABULARY, 32)
    assert net.output_bias is None
    other = actor(kind, seed=1)
    other.load_state_dict(state)
    ids, mask = rows([12])
    with torch.inference_mode():
        assert torch.equal(other(ids, mask), net(ids, mask))


def test_gradients_reach_tied_weights_from_both_sides():
    net = actor("qwen3")
    ids, mask = rows([12, 7])
    hidden = net.hidden(ids, mask)
    torch.nn.functional.linear(hidden, net.output_weight).logsumexp(-1).sum().backward()
    gradient = net.backbone.embed_tokens.weight.grad
    assert gradient is not None
    unseen = sorted(set(range(VOCABULARY)) - set(ids.flatten().tolist()))
    assert gradient[unseen].abs().sum() > 0  # through the head
    assert all(parameter.grad is not None for parameter in net.parameters())


@pytest.mark.parametrize("kind", KINDS)
def test_values_start_at_zero_in_fp32_and_can_learn(kind):
    critic = ValueModel(actor(kind))
    ids, mask = rows([9, 5])
    values = critic.values(ids, mask)
    assert values.dtype is torch.float32
    assert values.shape == ids.shape
    assert (values == 0).all()
    ((values - 1) ** 2)[mask].mean().backward()
    assert critic.value.weight.grad.abs().sum() > 0
    half = ValueModel(actor(kind).to(torch.bfloat16))
    assert half.values(ids, mask).dtype is torch.float32
    assert half.value.weight.dtype is torch.float32


@pytest.mark.parametrize("kind", ["qwen3", "llama"])
def test_plain_decoder_equals_transformers(kind):
    """Prefill of mixed suffixes, then steps over all slots and over some, against one full forward pass (1e-4)."""
    net, reference = actor(kind), model(kind)
    decoder = PlainDecoder(net, slots=4)
    decoder.reserve(4, 50)
    ids, _ = rows([40] * 4)
    with torch.inference_mode():
        full = reference(input_ids=ids).logits

    def check(logits: torch.Tensor, slots: list[int], ends: list[int]) -> None:
        for row, (slot, end) in enumerate(zip(slots, ends, strict=True)):
            torch.testing.assert_close(logits[row], full[slot, end - 1], atol=1e-4, rtol=1e-4)

    first = torch.tensor([5, 12, 20, 9])
    check(decoder.step(ids[:, :20], torch.arange(4), torch.zeros(4, dtype=torch.long), first - 1), [0, 1, 2, 3], first)
    new = torch.tensor([[ids[2, 20 + i] for i in range(3)], [ids[0, 5 + i] for i in range(3)]])
    check(decoder.step(new, torch.tensor([2, 0]), torch.tensor([20, 5]), torch.tensor([2, 1])), [2, 0], [23, 7])
    starts = torch.tensor([7, 12, 23, 9])
    step = ids[torch.arange(4), starts][:, None]
    check(decoder.step(step, None, starts, None), [0, 1, 2, 3], starts + 1)
    decoder.reserve(8, 200)  # growing keeps what is cached
    starts = starts + 1
    step = ids[torch.tensor([1, 3]), starts[[1, 3]]][:, None]
    check(decoder.step(step, torch.tensor([1, 3]), starts[[1, 3]], None), [1, 3], starts[[1, 3]] + 1)
    decoder.copy_prefix(2, 6, 20)
    check(decoder.step(ids[2:3, 20:30], torch.tensor([6]), torch.tensor([20]), torch.tensor([9])), [2], [30])
