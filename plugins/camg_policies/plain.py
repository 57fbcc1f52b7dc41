"""A plain causal decoder over a preallocated key-value cache: the quick path for small models.

The forward pass of Qwen3, Qwen2 and Llama (pre-norm, rotary positions, grouped queries, gated feed-forward),
written out with fused projections and without a head where none is needed. It gives the logits of the transformers
module, from whose parameters it is filled.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from attrs import frozen
from torch import Tensor
from torch.nn import functional

from camg_policies.models import Actor

_STEP = 64  # lengths are reserved in steps of so many positions


@frozen
class _Layer:
    norm: Tensor
    qkv: Tensor
    qkv_bias: Tensor | None
    query_norm: Tensor | None
    key_norm: Tensor | None
    out: Tensor
    out_bias: Tensor | None
    norm2: Tensor
    gate_up: Tensor
    down: Tensor


def _join(state: Mapping[str, Tensor], names: list[str], kind: str) -> Tensor | None:
    parts = [state[f"{name}.{kind}"] for name in names if f"{name}.{kind}" in state]
    return torch.cat(parts).contiguous() if parts else None


def _layer(state: Mapping[str, Tensor], index: int) -> _Layer:
    at = f"layers.{index}."
    attention, mlp = f"{at}self_attn.", f"{at}mlp."
    projections = [f"{attention}{name}_proj" for name in "qkv"]
    qkv = _join(state, projections, "weight")
    gate_up = _join(state, [f"{mlp}gate_proj", f"{mlp}up_proj"], "weight")
    if qkv is None or gate_up is None:
        raise ValueError(f"Expected projections of layer {index} in the state of the backbone, found none.")
    return _Layer(
        norm=state[f"{at}input_layernorm.weight"],
        qkv=qkv,
        qkv_bias=_join(state, projections, "bias"),
        query_norm=state.get(f"{attention}q_norm.weight"),
        key_norm=state.get(f"{attention}k_norm.weight"),
        out=state[f"{attention}o_proj.weight"],
        out_bias=state.get(f"{attention}o_proj.bias"),
        norm2=state[f"{at}post_attention_layernorm.weight"],
        gate_up=gate_up,
        down=state[f"{mlp}down_proj.weight"],
    )


class PlainDecoder:
    """Weights and cache of ``slots`` sequences. The cache is ``[layers, 2, slots, kv_heads, length, head_dim]``."""

    def __init__(self, actor: Actor, slots: int) -> None:
        config = actor.config
        self._heads = config.num_attention_heads
        self._groups = config.num_key_value_heads
        self._width = getattr(config, "head_dim", None) or config.hidden_size // self._heads
        self._eps = config.rms_norm_eps
        rotary = actor.backbone.rotary_emb
        self._frequencies = rotary.inv_freq.float()
        self._rope_scale = rotary.attention_scaling
        self._count = config.num_hidden_layers
        self.slots = slots
        self._length = 0
        self._cache = torch.empty(0)
        self.load(actor)

    def load(self, actor: Actor) -> None:
        """Copy the parameters of ``actor``; what is in the cache is no longer valid."""
        state = {name: tensor.detach().clone() for name, tensor in actor.backbone.state_dict().items()}
        self._embedding = state["embed_tokens.weight"]
        self._layers = [_layer(state, index) for index in range(self._count)]
        self._norm = state["norm.weight"]
        self._head = self._embedding if actor.head is None else actor.output_weight.detach().clone()
        bias = actor.output_bias
        self._head_bias = None if bias is None else bias.detach().clone()

    def reserve(self, slots: int, length: int) -> None:
        """Make room for ``slots`` sequences of ``length`` tokens; what is cached stays."""
        if slots <= self.slots and length <= self._length:
            return
        slots = max(slots, self.slots)
        length = max(-(-length // _STEP) * _STEP, self._length)
        shape = (self._count, 2, slots, self._groups, length, self._width)
        cache = torch.zeros(shape, dtype=self._embedding.dtype, device=self._embedding.device)
        if self._length:
            cache[:, :, : self.slots, :, : self._length] = self._cache
        self._cache, self.slots, self._length = cache, slots, length
        angles = torch.outer(torch.arange(length, device=cache.device).float(), self._frequencies)
        angles = torch.cat((angles, angles), -1)
        self._cos = (angles.cos() * self._rope_scale).to(cache.dtype)
        self._sin = (angles.sin() * self._rope_scale).to(cache.dtype)

    def copy_prefix(self, source: int, target: int, length: int) -> None:
        """Give slot ``target`` the first ``length`` cached positions of slot ``source``."""
        self._cache[:, :, target, :, :length] = self._cache[:, :, source, :, :length]

    @torch.inference_mode()
    def step(self, tokens: Tensor, slots: Tensor | None, starts: Tensor, last: Tensor | None) -> Tensor:
        """Append tokens to cached sequences.

        Args:
            tokens: int64 ``[B, T]``, padded on the right with any id.
            slots: int64 ``[B]``; None: row i is slot i.
            starts: int64 ``[B]``, how many positions of each are cached.
            last: int64 ``[B]``, index of the last real token in each row; None: the final column.

        Returns:
            Logits ``[B, V]`` after each row's last token. Padding leaves rubbish behind the end of a sequence, which
            no later position sees before it is overwritten.
        """
        rows, count = tokens.shape
        positions = starts[:, None] + torch.arange(count, device=tokens.device)
        reach = int(starts.max()) + count
        seen = torch.arange(reach, device=tokens.device) <= positions[:, :, None]  # [B, T, reach]
        cos, sin = self._cos[positions][:, :, None], self._sin[positions][:, :, None]
        index = torch.arange(rows, device=tokens.device) if slots is None else slots
        x = self._embedding[tokens]
        for number, layer in enumerate(self._layers):
            query, key, value = self._project(layer, x, cos, sin)
            keys, values = self._cache[number, 0], self._cache[number, 1]
            keys[index[:, None], :, positions] = key
            values[index[:, None], :, positions] = value
            if number == self._count - 1 and count > 1:  # only the last token's state is needed from here on
                pick = torch.arange(rows, device=tokens.device), last if last is not None else -1
                query, x, seen = query[pick][:, None], x[pick][:, None], seen[pick][:, None]
            if slots is None:
                past, worth = keys[:rows, :, :reach], values[:rows, :, :reach]
            else:
                past, worth = keys[slots, :, :reach], values[slots, :, :reach]
            x = self._finish(layer, x, self._attend(query, past, worth, seen))
        hidden = functional.rms_norm(x[:, -1], (x.shape[-1],), self._norm, self._eps)
        return functional.linear(hidden, self._head, self._head_bias)

    def _project(self, layer: _Layer, x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Rotated queries ``[B, T, heads, D]`` and keys, and values ``[B, T, kv_heads, D]``."""
        normed = functional.rms_norm(x, (x.shape[-1],), layer.norm, self._eps)
        qkv = functional.linear(normed, layer.qkv, layer.qkv_bias).view(*x.shape[:2], -1, self._width)
        query, key, value = qkv.split((self._heads, self._groups, self._groups), 2)
        if layer.query_norm is not None:
            query = functional.rms_norm(query, (self._width,), layer.query_norm, self._eps)
            key = functional.rms_norm(key, (self._width,), layer.key_norm, self._eps)
        both = torch.cat((query, key), 2)
        half = self._width // 2
        turned = torch.cat((-both[..., half:], both[..., :half]), -1)
        both = both * cos + turned * sin
        return both[:, :, : self._heads], both[:, :, self._heads :], value

    def _attend(self, query: Tensor, keys: Tensor, values: Tensor, seen: Tensor) -> Tensor:
        """Attention ``[B, T, heads * D]`` of queries over cached positions ``[B, kv_heads, reach, D]``."""
        rows, count, heads, width = query.shape
        share = heads // self._groups
        grouped = query.view(rows, count, self._groups, share, width).permute(0, 2, 1, 3, 4)
        grouped = grouped.reshape(rows, self._groups, count * share, width)
        scores = grouped @ keys.transpose(-1, -2) * width**-0.5
        hidden = ~seen[:, None, :, None, :]  # [B, 1, T, 1, reach]
        scores = scores.view(rows, self._groups, count, share, -1).masked_fill_(hidden, -torch.inf)
        weights = scores.softmax(-1, dtype=torch.float32).to(values.dtype)
        out = weights.view(rows, self._groups, count * share, -1) @ values
        return out.view(rows, self._groups, count, share, width).permute(0, 2, 1, 3, 4).reshape(rows, count, -1)

    def _finish(self, layer: _Layer, x: Tensor, attended: Tensor) -> Tensor:
        x = x + functional.linear(attended, layer.out, layer.out_bias)
        normed = functional.rms_norm(x, (x.shape[-1],), layer.norm2, self._eps)
        gate, up = functional.linear(normed, layer.gate_up).chunk(2, -1)
        return x + functional.linear(functional.silu(gate) * up, layer.down)
