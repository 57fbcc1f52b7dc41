"""Monte-Carlo return minus value.

    G_t = r_t + gamma G_{t+1}            (0 after the last response)
    A_t = G_t - V_t

for response t, given to each of its sampled tokens; V_t is the value of the state before its first token and serves as
control variate only. Equals response-level GAE at lambda = 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from attrs import frozen

from camg.types import Estimate, Trajectory
from camg_estimators.config import ReturnConfig
from camg_estimators.scan import discounted


@frozen
class Reinforce:
    """See the module's docstring."""

    config: ReturnConfig

    def estimate(self, trajectories: Sequence[Trajectory]) -> list[Estimate]:
        """One estimate per trajectory: float32 [sum(lengths)] advantages and returns; arithmetic in float64."""
        return [self._estimate(trajectory) for trajectory in trajectories]

    def _estimate(self, trajectory: Trajectory) -> Estimate:
        values: torch.Tensor = trajectory.values
        lengths = torch.tensor(trajectory.lengths, device=values.device)
        before = values[lengths.cumsum(0) - lengths].double()
        rewards = torch.tensor(trajectory.rewards, dtype=torch.float64, device=values.device)
        returns = discounted(rewards, self.config.gamma)
        return Estimate(
            advantages=(returns - before).float().repeat_interleave(lengths),
            returns=returns.float().repeat_interleave(lengths),
        )
