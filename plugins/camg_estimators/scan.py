"""Discounted sums from the right, without a Python loop over steps."""

from __future__ import annotations

import torch
from torch import Tensor

BLOCK = 128


def discounted(steps: Tensor, rate: float) -> Tensor:
    """``y_t = x_t + rate * y_{t+1}``, ``y_T = x_T``: [T] float64 -> [T] float64, for a rate in [0, 1].

    Blocks of 128 steps are summed by one matrix of powers each; only the carry from block to block is a loop.
    """
    if rate == 1.0:
        return steps.flip(0).cumsum(0).flip(0)
    if rate == 0.0 or len(steps) < 2:
        return steps.clone()
    block = min(BLOCK, len(steps))
    exponents = torch.arange(block, dtype=steps.dtype, device=steps.device)
    distance = exponents[None, :] - exponents[:, None]  # [i, j]: from step i to the later step j
    powers = torch.where(distance >= 0, rate ** distance.clamp(min=0), 0.0)
    missing = -len(steps) % block
    blocks = torch.nn.functional.pad(steps, (0, missing)).view(-1, block)
    local = blocks @ powers.T
    fade = rate ** (block - exponents)  # what the block to the right still weighs at each step
    carry = 0.0
    weight = rate**block
    carries = []
    for first in reversed(local[:, 0].tolist()):
        carries.append(carry)
        carry = first + weight * carry
    right = torch.tensor(carries[::-1], dtype=steps.dtype, device=steps.device)
    return (local + right[:, None] * fade).view(-1)[: len(steps)]
