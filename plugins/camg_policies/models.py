"""The networks that the learner trains: thin wrappers around transformers modules.

``Actor.hidden(ids, mask, positions)`` with ``output_weight`` lets the learner compute log-probabilities chunk by
chunk; ``ValueModel.values(...)`` is a backbone of its own with a zero scalar head (paper B.2: the critic starts as a
copy of the actor and is trained apart).
"""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor, nn

PLAIN_DECODERS = frozenset({"qwen3", "llama", "qwen2"})
"""Architectures with nothing but causal full attention (unless their config asks for a sliding window)."""


def is_plain(config: Any) -> bool:
    """Is every layer of this transformers config causal full attention with rotary positions?"""
    layers = getattr(config, "layer_types", None) or ("full_attention",)
    return config.model_type in PLAIN_DECODERS and set(layers) == {"full_attention"}


def cache_argument(backbone: nn.Module) -> str:
    """What this version of transformers calls the key-value cache in ``forward``."""
    return "cache" if "cache" in inspect.signature(backbone.forward).parameters else "past_key_values"


class _Backbone(nn.Module):
    """A decoder without a head, called the way the learner does."""

    def __init__(self, backbone: nn.Module, plain: bool) -> None:
        super().__init__()
        self.backbone = backbone
        self.pack_safe = plain

    @property
    def config(self) -> Any:
        """The transformers config."""
        return self.backbone.config

    def gradient_checkpointing_enable(self) -> None:
        """Recompute activations in the backward pass."""
        self.backbone.gradient_checkpointing_enable()

    def hidden(self, ids: Tensor, mask: Tensor | None = None, positions: Tensor | None = None) -> Tensor:
        """Last hidden states.

        Args:
            ids: int64 ``[B, T]``.
            mask: bool ``[B, T]``, true at real tokens; None: all are.
            positions: int64 ``[B, T]``; where they restart within a row, another sequence begins (only if
                ``pack_safe``). None: counted from the first real token.

        Returns:
            ``[B, T, H]`` in the backbone's dtype; what stands at padding is arbitrary but finite.
        """
        if positions is None:
            start = 0 if mask is None else mask.long().argmax(1, keepdim=True)
            positions = (torch.arange(ids.shape[1], device=ids.device)[None] - start).clamp(min=0).expand_as(ids)
        if mask is not None:
            if bool((mask[:, 1:] <= mask[:, :-1]).all()):  # padded on the right: causality hides it without a mask
                positions = _continued(positions, mask)
                mask = None
            else:
                mask = mask.long()
        output = self.backbone(input_ids=ids, attention_mask=mask, position_ids=positions, use_cache=False)
        hidden: Tensor = output.last_hidden_state
        return hidden


def _continued(positions: Tensor, mask: Tensor) -> Tensor:
    """Let positions count on through right padding, so that transformers sees no new sequence there."""
    last = (mask.long().sum(1, keepdim=True) - 1).clamp(min=0)
    index = torch.arange(positions.shape[1], device=positions.device)[None]
    return torch.where(mask, positions, positions.gather(1, last) + index - last)


class Actor(_Backbone):
    """A causal language model as backbone and output projection, tied weights held once.

    ``pack_safe`` says whether several sequences may share a row with restarting positions.
    """

    def __init__(self, model: nn.Module) -> None:
        """``model``: a transformers causal LM; its modules are taken over, not copied."""
        head = model.get_output_embeddings()
        backbone = model.get_decoder() if hasattr(model, "get_decoder") else model.base_model
        super().__init__(backbone, is_plain(backbone.config))
        tied = head.weight is backbone.get_input_embeddings().weight
        self.head: nn.Module | None = None if tied else head

    @property
    def output_weight(self) -> Tensor:
        """``[V, H]``."""
        weight: Tensor = (self.head or self.backbone.get_input_embeddings()).weight
        return weight

    @property
    def output_bias(self) -> Tensor | None:
        """``[V]``, where the head has one."""
        return None if self.head is None else getattr(self.head, "bias", None)

    def project(self, hidden: Tensor) -> Tensor:
        """Hidden states ``[..., H]`` -> logits ``[..., V]`` in the model's dtype."""
        return nn.functional.linear(hidden, self.output_weight, self.output_bias)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, position_ids: Tensor | None = None
    ) -> Tensor:
        """Logits ``[B, T, V]`` of ids ``[B, T]``."""
        mask = None if attention_mask is None else attention_mask.bool()
        return self.project(self.hidden(input_ids, mask, position_ids))


class ValueModel(_Backbone):
    """V(state) for each token: a backbone of its own and a zero-initialised scalar head in fp32."""

    def __init__(self, actor: Actor) -> None:
        """``actor``: freshly loaded; its backbone is taken over, not copied."""
        super().__init__(actor.backbone, actor.pack_safe)
        width = actor.output_weight.shape[1]
        self.value = nn.Linear(width, 1, dtype=torch.float32)
        nn.init.zeros_(self.value.weight)
        nn.init.zeros_(self.value.bias)

    def values(self, ids: Tensor, mask: Tensor | None = None, positions: Tensor | None = None) -> Tensor:
        """fp32 ``[B, T]``: at position p the value of the state that ends with token p."""
        hidden = self.hidden(ids, mask, positions)
        with torch.autocast(hidden.device.type, enabled=False):
            values: Tensor = self.value(hidden.float()).squeeze(-1)
        return values

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, position_ids: Tensor | None = None
    ) -> Tensor:
        """:meth:`values`, with the names that transformers uses."""
        return self.values(input_ids, None if attention_mask is None else attention_mask.bool(), position_ids)
