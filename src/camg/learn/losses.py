"""Clipped losses (paper Eq. 11 to 14). Sums over the tokens of a micro-batch, divided by the mini-batch's normaliser,
so that accumulated micro-batches give exactly the gradient of the single batch.

Masks select with ``where``, never by multiplication: garbage (also NaN) in what is masked reaches neither loss nor
gradient.
"""

from __future__ import annotations

import torch
from torch import Tensor

LOG_RATIO_LIMIT = 20.0
"""Log-ratios are clamped here (ratios of 5e8), so that one absurd token gives a bounded loss and no infinity."""


def policy_loss(
    logprobs: Tensor,
    behaviour: Tensor,
    advantages: Tensor,
    mask: Tensor,
    *,
    clip: float,
    normaliser: float | Tensor,
    weights: Tensor | None = None,
) -> Tensor:
    """Clipped PPO with one ratio per token (Eq. 11, 13): a scalar.

        rho = exp(logprobs - behaviour)
        L   = -sum_i w_i min(rho_i A_i, clip(rho_i, 1 - clip, 1 + clip) A_i) / normaliser

    All inputs [N] float32, mask [N] bool; ``weights`` (importance weights of sampler against learner) default to 1;
    ``clip`` 0: only the first of the two, unclipped.
    """
    difference = torch.where(mask, logprobs - torch.where(mask, behaviour, 0.0), 0.0)
    return _clipped(difference, torch.where(mask, advantages, 0.0), clip, weights, mask) / normaliser


def turn_policy_loss(
    logprobs: Tensor,
    behaviour: Tensor,
    advantages: Tensor,
    mask: Tensor,
    responses: Tensor,
    *,
    clip: float,
    normaliser: float | Tensor,
    weights: Tensor | None = None,
) -> Tensor:
    """Clipped PPO with one ratio per response (Turn-PPO): a scalar.

        rho_t = exp(sum_j (logprobs_tj - behaviour_tj)),  A_t = mean_j A_tj
        L     = -sum_t w_t min(rho_t A_t, clip(rho_t, 1 - clip, 1 + clip) A_t) / normaliser

    Each response is one term whatever its length; the normaliser is the number of responses. ``responses`` [N] int64
    tells which response a token belongs to (whole responses; masked tokens are left out); ``weights`` [N] holds a
    response's one importance weight at each of its tokens.
    """
    kept = mask.nonzero().squeeze(1)
    groups, owner = torch.unique(responses[kept], return_inverse=True)
    zeros = torch.zeros(len(groups), dtype=logprobs.dtype, device=logprobs.device)
    lengths = zeros.index_add(0, owner, torch.ones_like(owner, dtype=logprobs.dtype))
    difference = zeros.index_add(0, owner, logprobs[kept] - behaviour[kept])
    advantage = zeros.index_add(0, owner, advantages[kept]) / lengths
    shared = None if weights is None else zeros.index_add(0, owner, weights[kept]) / lengths
    return _clipped(difference, advantage, clip, shared, torch.ones_like(groups, dtype=torch.bool)) / normaliser


def _clipped(difference: Tensor, advantages: Tensor, clip: float, weights: Tensor | None, mask: Tensor) -> Tensor:
    ratio = torch.exp(difference.clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT))
    gain = ratio * advantages
    if clip > 0:
        gain = torch.minimum(gain, ratio.clamp(1.0 - clip, 1.0 + clip) * advantages)
    if weights is not None:
        gain = gain * torch.where(mask, weights, 0.0)
    return -torch.where(mask, gain, 0.0).sum()


def value_loss(
    values: Tensor, old: Tensor, returns: Tensor, mask: Tensor, *, clip: float, normaliser: float | Tensor
) -> Tensor:
    """Clipped value loss (Eq. 12, 14): a scalar.

        V~ = clip(V, V^- - clip, V^- + clip)
        L  = sum_i max((V_i - G_i)^2, (V~_i - G_i)^2) / (2 normaliser)

    ``values``, ``old`` (V^-, before the update) and ``returns`` (G) [N] float32, mask [N] bool.
    """
    values = torch.where(mask, values, 0.0)
    old, returns = torch.where(mask, old, 0.0), torch.where(mask, returns, 0.0)
    near = torch.maximum(torch.minimum(values, old + clip), old - clip)
    worst = torch.maximum((values - returns).square(), (near - returns).square())
    return torch.where(mask, worst, 0.0).sum() / (2.0 * normaliser)


def entropy_loss(entropy: Tensor, mask: Tensor, *, coefficient: float, normaliser: float | Tensor) -> Tensor:
    """Minus the entropy bonus: ``-coefficient * sum_i H_i / normaliser``; entropy [N] in nats, mask [N] bool."""
    return -coefficient * torch.where(mask, entropy, 0.0).sum() / normaliser


def reference_loss(
    logprobs: Tensor, reference: Tensor, mask: Tensor, *, coefficient: float, normaliser: float | Tensor
) -> Tensor:
    """KL penalty against a frozen reference policy by the k3 estimate: a scalar; log-probs [N] float32, mask [N] bool.

    d_i = reference_i - logprobs_i,   L = coefficient * sum_i (exp(d_i) - 1 - d_i) / normaliser
    """
    difference = torch.where(mask, reference - logprobs, 0.0).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
    return coefficient * (difference.exp() - 1.0 - difference).sum() / normaliser
