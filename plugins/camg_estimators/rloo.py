"""REINFORCE leave-one-out (Ahmadian et al. 2024): the other episodes of the task are the control variate.

    A_i = R_i - 1/(K-1) sum_{j != i} R_j

for every sampled token of episode i. Unbiased; no critic, no division by a deviation.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from camg.types import Estimate, Trajectory
from camg_estimators.config import GroupSize4
from camg_estimators.groups import episode_returns, group_sum, spread_over_episodes


@frozen
class Rloo:
    """See the module's docstring."""

    config: GroupSize4

    def estimate(self, trajectories: Sequence[Trajectory]) -> list[Estimate]:
        """One estimate per trajectory: float32 [sum(lengths)] advantages and returns; arithmetic in float64."""
        returns, group = episode_returns(trajectories)
        size = group_sum(returns.new_ones(len(returns)), group)
        others = (group_sum(returns, group) - returns) / (size - 1).clamp(min=1)
        return spread_over_episodes(trajectories, returns - others, returns)
