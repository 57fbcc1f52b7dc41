"""Drawing one token per row, with the exact log-probability of what was drawn.

Each response has a random stream of its own (seed of its speaker, index of the response), and tokens are drawn by
inverting the cumulative distribution: what a response says does not depend on who is decoded beside it.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from camg.types import Sampling

_BLOCK = 64


class Stream:
    """The uniform numbers of one response: a counter-based generator keyed by (seed, index)."""

    def __init__(self, seed: int, index: int) -> None:
        key = np.array([seed % (1 << 64), index], dtype=np.uint64)
        self._generator = np.random.Generator(np.random.Philox(key=key))
        self._block: list[float] = []

    def next(self) -> float:
        """The next number in [0, 1)."""
        if not self._block:
            self._block = self._generator.random(_BLOCK).tolist()[::-1]
        return self._block.pop()


def keep_support(logits: Tensor, sampling: Sampling) -> Tensor:
    """Set all but the kept tokens to -inf: first the ``top_k`` likeliest, then the smallest set of at least ``top_p``.

    Args:
        logits: fp32 ``[B, V]`` at the sampling temperature.

    Returns:
        fp32 ``[B, V]``; a softmax over it is renormalised over the kept support. The likeliest token is always kept.
    """
    if 0 < sampling.top_k < logits.shape[-1]:
        threshold = logits.topk(sampling.top_k, dim=-1).values[:, -1:]
        logits = logits.masked_fill(logits < threshold, -torch.inf)
    if sampling.top_p < 1:
        ordered, order = logits.softmax(-1).sort(dim=-1, descending=True, stable=True)
        before = ordered.cumsum(-1) - ordered
        drop = torch.zeros_like(before, dtype=torch.bool).scatter_(-1, order, before >= sampling.top_p)
        logits = logits.masked_fill(drop, -torch.inf)
    return logits


def draw(logits: Tensor, uniforms: list[float], sampling: Sampling) -> tuple[list[int], list[float]]:
    """One token for each row and its natural log-probability at the sampling temperature.

    Args:
        logits: ``[B, V]``, any floating dtype.
        uniforms: one number in [0, 1) for each row; not used at temperature 0.
        sampling: at temperature 0 the likeliest token (the first of equals), with the log-probability of the
            untempered model.

    Returns:
        ids and log-probabilities, ``B`` of each. The log-probabilities are computed in fp32 from these very logits.
    """
    logits = logits.float()
    if sampling.temperature == 0:
        logprobs = logits.log_softmax(-1)
        ids = logits.argmax(-1, keepdim=True)
    else:
        logprobs = keep_support(logits / sampling.temperature, sampling).log_softmax(-1)
        cumulative = logprobs.double().exp_().cumsum(-1)
        point = torch.tensor(uniforms, dtype=torch.float64, device=logits.device)[:, None]
        # just below the total, whatever the rounding, so that a token without mass is never drawn
        point = point * cumulative[:, -1:] * (1 - 1e-12)
        ids = torch.searchsorted(cumulative, point, right=True)
    return ids[:, 0].tolist(), logprobs.gather(-1, ids)[:, 0].tolist()
