"""Discounted sums from the right over many sequences at once, without a Python loop over steps."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

BLOCK = 64


def discounted(steps: Tensor, sizes: Sequence[int], rate: float) -> Tensor:
    """``y_t = x_t + rate * y_{t+1}``, ``y_T = x_T`` within each sequence, for a rate in [0, 1].

    steps [N] float64 holds sequences of the given sizes (sum N), one after the other -> [N] float64. Sequences are cut
    into blocks; all blocks are summed together by doubling (log2 of the block passes); only the carry from block to
    block is a loop. Element-wise throughout: a sequence's result has the same bits whatever stands beside it.
    """
    longest = max(sizes, default=0)
    if rate == 0.0 or longest < 2:
        return steps.clone()
    block = min(BLOCK, 1 << (longest - 1).bit_length())
    counts = [-(-size // block) for size in sizes]
    rooms = [count * block for count in counts]
    blank = steps.new_zeros(block)
    parts = zip(torch.split(steps, list(sizes)), sizes, rooms, strict=True)
    padded = torch.cat([piece for part, size, room in parts for piece in (part, blank[: room - size])])
    blocks = padded.view(-1, block)
    reach = 1
    while reach < block:
        blocks[:, :-reach] += rate**reach * blocks[:, reach:]  # the product is a tensor of its own: no overlap
        reach *= 2
    if longest > block:
        fade = rate ** torch.arange(block, 0, -1, dtype=steps.dtype, device=steps.device)
        blocks += _carries(blocks[:, 0], counts, rate**block)[:, None] * fade
    return torch.cat([part[:size] for part, size in zip(torch.split(padded, rooms), sizes, strict=True)])


def _carries(firsts: Tensor, counts: Sequence[int], weight: float) -> Tensor:
    """What flows into each block from the one to its right [blocks]; 0 into the last block of a sequence."""
    sums, carries = firsts.tolist(), []
    stop = len(sums)
    for count in reversed(counts):
        carry = 0.0
        for place in range(stop - 1, stop - count - 1, -1):
            carries.append(carry)
            carry = sums[place] + weight * carry
        stop -= count
    return torch.tensor(carries[::-1], dtype=firsts.dtype, device=firsts.device)
