"""Log-probs of chosen tokens straight from hidden states: never a [tokens, vocabulary] tensor.

For hidden state h_i, output weight W, bias b, temperature T and target y_i, with logits z_i = (W h_i + b) / T:

    log pi(y_i) = z_i[y_i] - logsumexp(z_i)                   H_i = logsumexp(z_i) - sum_v p_iv z_iv

The forward pass walks over tiles [tokens, vocabulary block] with a running maximum and sum, and keeps two numbers a
token. The backward pass makes each tile again and turns it into the gradient of the logits in place:

    dL/dz_iv = (g_i ([v = y_i] - p_iv) - e_i p_iv (log p_iv + H_i)) / T

for incoming gradients g (log-probs) and e (entropy). A plain loop under autograd would bound nothing, since every tile
would be kept for the backward pass.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

TILE_ELEMENTS = 1 << 20
"""Elements of one tile (4 MiB in fp32): large enough for matrix products at full speed, small enough for the cache."""
TILE_ROWS = 2048


def token_logprobs(
    hidden: Tensor,
    weight: Tensor,
    targets: Tensor,
    *,
    bias: Tensor | None = None,
    temperature: float = 1.0,
    tile: int = TILE_ELEMENTS,
) -> tuple[Tensor, Tensor]:
    """Log-probs and entropies (nats) of N tokens at a temperature.

    hidden [N, H] (float), weight [V, H], targets [N] int64 in [0, V), bias [V] or None -> two tensors [N], float32
    (float64 for float64 inputs). Both carry gradients to hidden, weight and bias; an entropy that no loss uses costs
    nothing in the backward pass. The logits are computed in the wider of the two dtypes of hidden and weight, whatever
    autocast says, since ratios near 1 do not survive bf16 logits. N may be 0.
    """
    if temperature <= 0:
        raise ValueError(f"Expected a temperature above 0, got {temperature}.")
    if hidden.ndim != 2 or weight.ndim != 2 or hidden.shape[1] != weight.shape[1] or targets.shape != hidden.shape[:1]:
        raise ValueError(
            f"Expected hidden [N, H], weight [V, H], targets [N], got {[*hidden.shape]}, {[*weight.shape]}, "
            f"{[*targets.shape]}."
        )
    logprobs, entropy = _TokenLogprobs.apply(hidden, weight, bias, targets, temperature, tile)  # type: ignore[no-untyped-call]
    return logprobs, entropy


def _tiles(tokens: int, vocabulary: int, tile: int) -> tuple[list[slice], list[slice]]:
    """Row slices and vocabulary slices whose products hold at most ``tile`` elements (at least one each)."""
    rows = max(1, min(tokens, TILE_ROWS, tile))
    columns = max(1, min(vocabulary, tile // rows))
    return (
        [slice(start, min(start + rows, tokens)) for start in range(0, tokens, rows)],
        [slice(start, min(start + columns, vocabulary)) for start in range(0, vocabulary, columns)],
    )


def _logits(hidden: Tensor, weight: Tensor, bias: Tensor | None, temperature: float) -> Tensor:
    """One tile of logits / temperature, in float32 or float64."""
    tile = hidden @ weight.T
    if tile.dtype not in (torch.float32, torch.float64):
        tile = tile.float()
    if bias is not None:
        tile += bias
    if temperature != 1.0:
        tile /= temperature
    return tile


class _TokenLogprobs(torch.autograd.Function):
    """See the module's docstring for the mathematics."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        temperature: float,
        tile: int,
    ) -> tuple[Tensor, Tensor]:
        with torch.autocast(hidden.device.type, enabled=False):
            logprobs, lse, entropy = _statistics(hidden, weight, bias, targets, temperature, tile)
        ctx.save_for_backward(hidden, weight, bias, targets, lse, entropy)
        ctx.temperature, ctx.tile = temperature, tile
        ctx.set_materialize_grads(False)
        return logprobs, entropy

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor | None, grad_entropy: Tensor | None) -> tuple[Any, ...]:
        hidden, weight, bias, targets, lse, entropy = ctx.saved_tensors
        if grad is None:
            grad = torch.zeros_like(lse)
        with torch.autocast(hidden.device.type, enabled=False):
            gradients = _gradients(
                hidden, weight, bias, targets, lse, entropy, grad, grad_entropy, ctx.temperature, ctx.tile, ctx
            )
        return (*gradients, None, None, None)


def _statistics(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, temperature: float, tile: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Log-prob of the target, logsumexp and entropy of each token: three [N], by running sums over tiles.

    All is kept relative to the running maximum, the target's logit too, and that logit comes from the same matrix
    product as the others: a token of probability 1 has log-prob 0, not the rounding error of a large logit, and the
    entropy does not cancel.
    """
    wide = torch.promote_types(hidden.dtype, weight.dtype)
    dtype = torch.float64 if wide is torch.float64 else torch.float32
    tokens, vocabulary = hidden.shape[0], weight.shape[0]
    logprobs, lse, entropy = (hidden.new_empty(tokens, dtype=dtype) for _ in range(3))
    row_slices, column_slices = _tiles(tokens, vocabulary, tile)
    for rows in row_slices:
        states, wanted = hidden[rows].to(wide), targets[rows]
        maximum = hidden.new_full((len(states),), -torch.inf, dtype=dtype)
        total, weighted, chosen = torch.zeros_like(maximum), torch.zeros_like(maximum), torch.zeros_like(maximum)
        for columns in column_slices:
            part = None if bias is None else bias[columns]
            logits = _logits(states, weight[columns].to(wide), part, temperature)
            inside = (wanted >= columns.start) & (wanted < columns.stop)
            own = logits.gather(1, (wanted - columns.start).clamp(0, logits.shape[1] - 1)[:, None]).squeeze(1)
            chosen = torch.where(inside, own, chosen)
            higher = torch.maximum(maximum, logits.amax(dim=1))
            shrink = torch.exp(maximum - higher)
            shift = torch.where(total > 0, maximum - higher, 0.0)
            weighted = shrink * (weighted + shift * total)
            logits -= higher[:, None]
            weights = torch.exp(logits)
            total = shrink * total + weights.sum(dim=1)
            weighted = weighted + torch.linalg.vecdot(weights, logits)
            maximum = higher
        spread = torch.log(total)
        logprobs[rows] = (chosen - maximum) - spread
        lse[rows] = maximum + spread
        entropy[rows] = spread - weighted / total
    return logprobs, lse, entropy


def _gradients(
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    targets: Tensor,
    lse: Tensor,
    entropy: Tensor,
    grad: Tensor,
    grad_entropy: Tensor | None,
    temperature: float,
    tile: int,
    ctx: Any,
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """Gradients of hidden [N, H], weight [V, H] and bias [V]: vocabulary outside, so that each row of the weight's
    gradient is finished at once instead of being read and written for each group of tokens."""
    wants_hidden, wants_weight, wants_bias = ctx.needs_input_grad[:3]
    wide = torch.promote_types(hidden.dtype, weight.dtype)
    states = hidden.to(wide)
    row_slices, column_slices = _tiles(hidden.shape[0], weight.shape[0], tile)
    d_hidden = torch.zeros_like(states, dtype=lse.dtype) if wants_hidden else None
    d_weight = torch.zeros_like(weight) if wants_weight else None
    d_bias = torch.zeros_like(bias) if bias is not None and wants_bias else None
    for columns in column_slices:
        block = weight[columns].to(wide)
        block_grad = torch.zeros_like(block, dtype=lse.dtype) if wants_weight else None
        for rows in row_slices:
            logits = _logits(states[rows], block, None if bias is None else bias[columns], temperature)
            g_entropy = None if grad_entropy is None else grad_entropy[rows]
            _to_gradient(logits, lse[rows], entropy[rows], grad[rows], g_entropy, targets[rows], columns, temperature)
            narrow = logits.to(wide)
            if d_hidden is not None:
                d_hidden[rows] += narrow @ block
            if block_grad is not None:
                block_grad += narrow.T @ states[rows]
            if d_bias is not None:
                d_bias[columns] += logits.sum(dim=0).to(d_bias.dtype)
        if d_weight is not None and block_grad is not None:
            d_weight[columns] = block_grad
    return None if d_hidden is None else d_hidden.to(hidden.dtype), d_weight, d_bias


def _to_gradient(
    logits: Tensor,
    lse: Tensor,
    entropy: Tensor,
    grad: Tensor,
    grad_entropy: Tensor | None,
    targets: Tensor,
    columns: slice,
    temperature: float,
) -> None:
    """Turn one tile of logits into dL/d(W h + b), in place."""
    logits -= lse[:, None]  # log p
    scale = grad / -temperature
    if grad_entropy is None:
        torch.exp_(logits)
        logits *= scale[:, None]
    else:
        probabilities = torch.exp(logits)
        logits += entropy[:, None]
        logits *= (grad_entropy / -temperature)[:, None]
        logits += scale[:, None]
        logits *= probabilities
    inside = ((targets >= columns.start) & (targets < columns.stop)).nonzero().squeeze(1)
    logits[inside, targets[inside] - columns.start] -= scale[inside]
