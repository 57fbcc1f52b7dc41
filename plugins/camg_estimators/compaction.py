"""CompactionRL's credit (arXiv 2607.05378, as read in reproductions): GAE within each context, discounted by position.

A segment s is one run of context: the responses between two compactions, or one summary, which is sampled outside the
dialogue and so a segment of its own. All segments of an episode share its whole return R, paid at the segment's last
sampled token. With L_s the sampled tokens of segment s, k counting them, and

    lambda_s = 1 - 1 / (1.5 L_s)
    delta_k  = r_k + gamma V_{k+1} - V_k           (r_k = R at the last token, else 0; V after it is 0)
    A_k      = delta_k + gamma lambda_s A_{k+1}
    G_k      = A_k + V_k

the advantage of the actor is A_k (gamma lambda_s)^(L_s - 1 - k): tokens far from the segment's end weigh less.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import torch
from attrs import frozen

from camg.types import Estimate, Trajectory
from camg_estimators.config import DiscountConfig
from camg_estimators.scan import discounted
from camg_estimators.table import Table, following


@frozen
class Compaction:
    """See the module's docstring."""

    config: DiscountConfig

    def estimate(self, trajectories: Sequence[Trajectory]) -> list[Estimate]:
        """One estimate per trajectory: float32 [sum(lengths)] advantages and returns; arithmetic in float64."""
        table, gamma = Table.of(trajectories), self.config.gamma
        sizes, pay = segments(trajectories)
        before = table.values.double()
        deltas = gamma * following(before, sizes) - before
        ends = torch.tensor(sizes, dtype=torch.int64, device=deltas.device).cumsum(0) - 1
        deltas[ends] += torch.tensor(pay, dtype=deltas.dtype, device=deltas.device)
        rates = [gamma * (1 - 1 / (1.5 * size)) for size in sizes]
        parts = zip(torch.split(deltas, sizes), sizes, rates, strict=True)
        sums = [discounted(part, [size], rate) for part, size, rate in parts]
        advantages = torch.cat(sums) if sums else deltas
        later = [torch.arange(size - 1, -1, -1, dtype=deltas.dtype) for size in sizes]  # tokens that follow
        fades = [rate**count for rate, count in zip(rates, later, strict=True)]
        fade = torch.cat(fades).to(deltas.device) if fades else deltas
        return table.estimates(advantages * fade, advantages + before)


def segments(trajectories: Sequence[Trajectory]) -> tuple[list[int], list[float]]:
    """Sampled tokens of each segment of each trajectory, in order, and what is paid at its end.

    A summary lies between the responses of two segments: consecutive responses of one segment number form a run.
    """
    sizes, pay = [], []
    for item in trajectories:
        numbers = item.segments or (0,) * len(item.lengths)
        for _, run in groupby(zip(numbers, item.lengths, strict=True), key=lambda pair: pair[0]):
            sizes.append(sum(length for _, length in run))
            pay.append(sum(item.rewards))
    return sizes, pay
