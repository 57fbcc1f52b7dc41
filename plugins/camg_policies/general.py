"""Decoding with any causal transformers model, through its own forward pass and cache classes."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from camg_policies.backends import Track, shared_length
from camg_policies.models import Actor, cache_argument, is_plain


class TransformersBackend:
    """Any causal transformers model: a cache object for each speaker, prefilled singly, decoded as one padded batch.

    The batch's cache is kept while its members stay the same, and is taken apart when one joins or leaves. Layers with
    a recurrent state (linear attention) cannot be cut back: such a context is continued or started afresh. Models with
    cache layers of an unknown kind are decoded row by row.
    """

    def __init__(self, actor: Actor) -> None:
        self._actor = actor
        self._argument = cache_argument(actor.backbone)
        self._device = actor.output_weight.device
        self._croppable = is_plain(actor.config)
        self._tracks: set[Track] = set()
        self._members: list[Track] = []
        self._batch: Any = None
        self._pads: list[int] = []
        self._stackable = all(_kind(layer) != "other" for layer in self._fresh().layers)
        self._continues = self._croppable or self._continues_exactly()
        self.cached_tokens = 0
        self.prefilled_tokens = 0

    def _fresh(self) -> Any:
        from transformers import DynamicCache

        return DynamicCache(config=self._actor.config)

    @torch.inference_mode()
    def _continues_exactly(self) -> bool:
        """Can this version of transformers append several tokens to a recurrent state? Some start from zero."""
        ids = torch.arange(12, device=self._device)[None] % self._actor.config.vocab_size
        whole = self._forward(ids, self._fresh(), 0)
        cache = self._fresh()
        self._forward(ids[:, :7], cache, 0)
        parts = self._forward(ids[:, 7:], cache, 7)
        return bool(torch.allclose(whole, parts, rtol=1e-2, atol=1e-3 + 1e-2 * float(whole.abs().max())))

    def _forward(self, ids: Tensor, cache: Any, start: int) -> Tensor:
        positions = torch.arange(start, start + ids.shape[1], device=self._device)[None]
        output = self._actor.backbone(input_ids=ids, position_ids=positions, use_cache=True, **{self._argument: cache})
        hidden: Tensor = output.last_hidden_state[:, -1]
        return self._actor.project(hidden)

    def load(self, state: Mapping[str, Tensor]) -> None:
        """See :class:`Backend`."""
        self._members, self._batch = [], None
        for track in self._tracks:
            track.cache, track.ids = None, []
        self._actor.load_state_dict(dict(state))

    def release(self, track: Track) -> None:
        """See :class:`Backend`."""
        if track in self._members:
            self._split()
        self._tracks.discard(track)
        track.cache, track.ids = None, []

    @torch.inference_mode()
    def prefill(self, tracks: Sequence[Track]) -> Tensor:
        """See :class:`Backend`."""
        self._split()
        self._tracks.update(tracks)
        return torch.cat([self._prefill_one(track) for track in tracks])

    def _prefill_one(self, track: Track) -> Tensor:
        own = min(shared_length(track.ids, track.prompt), len(track.prompt) - 1)
        if track.cache is None or own == 0 or (own < len(track.ids) and not self._croppable) or not self._continues:
            track.cache, own = self._fresh(), 0
        elif own < len(track.ids):
            track.cache.crop(own - len(track.ids))
        suffix = track.prompt[own:]
        logits = self._forward(torch.tensor([suffix], device=self._device), track.cache, own)
        track.ids = list(track.prompt)
        self.cached_tokens += own
        self.prefilled_tokens += len(suffix)
        return logits

    @torch.inference_mode()
    def decode(self, tracks: Sequence[Track], tokens: Sequence[int]) -> Tensor:
        """See :class:`Backend`."""
        if len(tracks) == 1 or not self._stackable:
            self._split()
            rows = [
                self._forward(torch.tensor([[token]], device=self._device), track.cache, len(track.ids))
                for track, token in zip(tracks, tokens, strict=True)
            ]
            logits = torch.cat(rows)
        else:
            logits = self._decode_batch(tracks, tokens)
        for track, token in zip(tracks, tokens, strict=True):
            track.ids.append(token)
        return logits

    def _decode_batch(self, tracks: Sequence[Track], tokens: Sequence[int]) -> Tensor:
        if self._members != list(tracks):
            self._split()
            longest = max(len(track.ids) for track in tracks)
            self._pads = [longest - len(track.ids) for track in tracks]
            self._batch = stack([track.cache for track in tracks], self._pads)
            self._members = list(tracks)
            for track in tracks:
                track.cache = None
        length = len(tracks[0].ids) + self._pads[0] + 1
        pads = torch.tensor(self._pads, device=self._device)[:, None]
        mask = (torch.arange(length, device=self._device)[None] >= pads).long()
        output = self._actor.backbone(
            input_ids=torch.tensor(tokens, device=self._device)[:, None],
            attention_mask=mask,
            position_ids=torch.tensor([[len(track.ids)] for track in tracks], device=self._device),
            use_cache=True,
            **{self._argument: self._batch},
        )
        return self._actor.project(output.last_hidden_state[:, -1])

    def _split(self) -> None:
        """Give every member of the batch its own cache back."""
        for row, track in enumerate(self._members):
            track.cache = unstack(self._batch, row, self._pads[row])
        self._members, self._batch = [], None


def _kind(layer: Any) -> str:
    """Which of the layouts that can be stacked a cache layer has, by what it holds (class names vary by version)."""
    name = type(layer).__name__
    if name == "DynamicLayer":
        return "attention"
    if name == "LinearAttentionLayer" and isinstance(getattr(layer, "conv_states", None), dict):
        return "linear"
    return "other"


def _with_states(layer: Any, change: Any) -> Any:
    """A copy of a linear-attention cache layer whose state tensors went through ``change(name, index)``."""
    new = copy.copy(layer)
    for name, value in vars(layer).items():
        if isinstance(value, dict):
            tensors = {k: change(name, k) if isinstance(v, Tensor) else v for k, v in value.items()}
            setattr(new, name, tensors)
    return new


def stack(caches: Sequence[Any], pads: Sequence[int]) -> Any:
    """Single-row caches -> one cache; keys and values are padded on the left with ``pads`` zeros."""
    batch = copy.copy(caches[0])
    batch.layers = []
    for index, first in enumerate(caches[0].layers):
        rows = [cache.layers[index] for cache in caches]
        if _kind(first) == "linear":
            batch.layers.append(
                _with_states(first, lambda name, key, rows=rows: torch.cat([getattr(row, name)[key] for row in rows]))
            )
            continue
        new = copy.copy(first)
        for name in ("keys", "values"):
            parts = [
                torch.nn.functional.pad(getattr(row, name), (0, 0, pad, 0)) for row, pad in zip(rows, pads, strict=True)
            ]
            setattr(new, name, torch.cat(parts))
        batch.layers.append(new)
    return batch


def unstack(batch: Any, row: int, pad: int) -> Any:
    """The inverse of :func:`stack` for one row, with storage of its own."""
    single = copy.copy(batch)
    single.layers = []
    for layer in batch.layers:
        if _kind(layer) == "linear":
            single.layers.append(
                _with_states(layer, lambda name, key, layer=layer: getattr(layer, name)[key][row : row + 1].clone())
            )
            continue
        new = copy.copy(layer)
        new.keys = layer.keys[row : row + 1, :, pad:].clone()
        new.values = layer.values[row : row + 1, :, pad:].clone()
        single.layers.append(new)
    return single
