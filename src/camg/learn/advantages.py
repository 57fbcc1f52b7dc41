"""The advantage pipeline of CAMG-RL (paper B.2): from raw token advantages to those of the actor's loss.

For sampled token i of environment d, over the learner batch (all ranks):

    1. centre       a_i <- a_i - mean over the tokens of d
    2. scale        a_i <- a_i / std over all tokens             (one scale for the batch)
    3. weigh        a_i <- a_i N_tok / (D_batch N_d)             (environments present count equally)
    4. standardise  a_i <- (a_i - mean) / std over all tokens

N_tok tokens in all, N_d of environment d, D_batch environments with at least one token. Standard deviations are
those of the population; where one is nearly zero (nothing to learn from, or a single token) its division is left out:
centre only. Critic targets never pass through here. Masked tokens take no part in any statistic and come out as 0.
Input and output are float32, sums run in float64: over a million tokens a float32 sum is off in the third digit.
"""

from __future__ import annotations

import torch
from torch import Tensor

from camg.learn.reduce import Reduce, alone

ABSOLUTE, RELATIVE = 1e-8, 1e-6
"""A standard deviation at most ABSOLUTE + RELATIVE * (root mean square before centring) is rounding, not signal."""


def pipeline(raw: Tensor, environments: Tensor, mask: Tensor, *, count: int, reduce: Reduce = alone) -> Tensor:
    """Normalise raw advantages [N] (float32; any finite or non-finite garbage where masked).

    environments [N] int64 in [0, count): the same numbering on every rank; mask [N] bool: tokens that the actor trains.
    Returns [N] float32, 0 where masked.
    """
    kept = mask.nonzero().squeeze(1)
    values, owner = raw[kept].double(), environments[kept]
    size = reduce(torch.bincount(owner, minlength=count).double())  # [count] = N_d
    total = size.sum().clamp(min=1.0)
    magnitude = (reduce(torch.dot(values, values)) / total).sqrt()

    means = reduce(_sums(values, owner, count)) / size.clamp(min=1.0)
    values = _divide(values - means[owner], magnitude, total, reduce)
    weights = total / ((size > 0).sum().clamp(min=1) * size.clamp(min=1.0))
    values = values * weights[owner]

    magnitude = (reduce(torch.dot(values, values)) / total).sqrt()
    values = _divide(values - reduce(values.sum()) / total, magnitude, total, reduce)
    return torch.zeros_like(raw, dtype=torch.float32).index_copy(0, kept, values.float())


def _sums(values: Tensor, owner: Tensor, count: int) -> Tensor:
    return torch.zeros(count, dtype=values.dtype, device=values.device).index_add(0, owner, values)


def _divide(centred: Tensor, magnitude: Tensor, total: Tensor, reduce: Reduce) -> Tensor:
    """Divide centred values by their standard deviation, unless it is rounding only."""
    deviation = (reduce(torch.dot(centred, centred)) / total).sqrt()
    signal = deviation > ABSOLUTE + RELATIVE * magnitude
    return centred / torch.where(signal, deviation, 1.0)
