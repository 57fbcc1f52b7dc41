"""Group-relative policy optimisation (Shao et al. 2024, DeepSeekMath): episodes of one task compared with each other.

With R_i the return of episode i among the K of its group,

    A_i = (R_i - mean(R)) / (std(R) + eps)          (population std; ``normalise=false``: without it, Dr. GRPO)

for every sampled token of episode i. No critic; a group whose returns are equal teaches nothing (A = 0).
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from camg.types import Estimate, Trajectory
from camg_estimators.config import GroupConfig
from camg_estimators.groups import episode_returns, group_sum, spread_over_episodes

EPS = 1e-6


@frozen
class Grpo:
    """See the module's docstring."""

    config: GroupConfig

    def estimate(self, trajectories: Sequence[Trajectory]) -> list[Estimate]:
        """One estimate per trajectory: float32 [sum(lengths)] advantages and returns; arithmetic in float64."""
        returns, group = episode_returns(trajectories)
        size = group_sum(returns.new_ones(len(returns)), group)
        centred = returns - group_sum(returns, group) / size
        if self.config.normalise:
            centred = centred / ((group_sum(centred.square(), group) / size).sqrt() + EPS)
        return spread_over_episodes(trajectories, centred, returns)
