"""What the learner asks of its networks: values and log-probs of the sampled tokens of one micro-batch.

Contract of the networks (any ``torch.nn.Module``):

- actor: ``hidden(ids, mask, positions) -> [B, T, H]``, ``output_weight`` [V, H], ``output_bias`` [V] or None,
  ``pack_safe``: whether several segments may share a row with restarting positions;
- critic: ``values(ids, mask, positions) -> [B, T]`` float32 (and its own ``pack_safe``).

ids and positions [B, T] int64, mask [B, T] bool; rows are padded at their end only, so a causal model may ignore mask.
"""

from __future__ import annotations

from typing import Any, Protocol, cast

import torch
from torch import Tensor

from camg.errors import ConfigError
from camg.learn.batch import MicroBatch
from camg.learn.logprobs import token_logprobs


class ActorNetwork(Protocol):
    """See the module's docstring."""

    pack_safe: bool

    @property
    def output_weight(self) -> Tensor: ...
    @property
    def output_bias(self) -> Tensor | None: ...

    def hidden(self, ids: Tensor, mask: Tensor, positions: Tensor) -> Tensor: ...


class CriticNetwork(Protocol):
    """See the module's docstring."""

    pack_safe: bool

    def values(self, ids: Tensor, mask: Tensor, positions: Tensor) -> Tensor: ...


def logprobs(
    actor: torch.nn.Module, micro: MicroBatch, keep: Tensor, *, temperature: float, bf16: bool
) -> tuple[Tensor, Tensor]:
    """Log-probs and entropies of the tokens selected by ``keep`` [n] bool: two tensors [kept] float32.

    The log-prob of the token at position p comes from the hidden state at p - 1. The output head is applied at the kept
    states only.
    """
    network = cast(ActorNetwork, actor)
    with torch.autocast(micro.ids.device.type, dtype=torch.bfloat16, enabled=bf16):
        hidden = network.hidden(micro.ids, micro.mask, micro.positions)
    states = hidden[micro.rows[keep], micro.columns[keep]]
    return token_logprobs(
        states, network.output_weight, micro.targets[keep], bias=network.output_bias, temperature=temperature
    )


def values(critic: torch.nn.Module, micro: MicroBatch, *, bf16: bool) -> Tensor:
    """V of the state before each sampled token [n] float32: the value at position p - 1 (Eq. 6)."""
    network = cast(CriticNetwork, critic)
    with torch.autocast(micro.ids.device.type, dtype=torch.bfloat16, enabled=bf16):
        out = network.values(micro.ids, micro.mask, micro.positions)
    return out[micro.rows, micro.columns].float()


def prepare(module: torch.nn.Module, device: str, *, gradient_checkpointing: bool) -> torch.nn.Module:
    """Move a network to the device, without dropout (a ratio against the sampler's log-probs allows none).

    Raises :class:`ConfigError` when gradient checkpointing is asked for and no part of the network offers it.
    """
    module.to(device).eval()
    if gradient_checkpointing:
        parts = [part for part in module.modules() if hasattr(part, "gradient_checkpointing_enable")]
        if not parts:
            raise ConfigError(
                f"learner.gradient_checkpointing: expected a network with gradient_checkpointing_enable(), got "
                f"{type(module).__name__}.",
                hint="Switch it off, or use a transformers model.",
            )
        cast(Any, parts[0]).gradient_checkpointing_enable()
        module.train()  # transformers recomputes only in training mode
        for part in module.modules():
            if isinstance(part, torch.nn.Dropout):
                part.eval()
            if getattr(part, "attention_dropout", 0.0):
                cast(Any, part).attention_dropout = 0.0  # applied by a function, so that eval() cannot reach it
    return module
