"""Step-wise GRPO (AgeMem, arXiv 2601.01885): the group-relative terminal reward, broadcast to all steps.

    A_t = (r_T - mean(r_T)) / (std_{K-1}(r_T) + eps)         for every step t of an episode

with the sample standard deviation (K - 1) over the K episodes of a task. Its objective is rho * A - beta KL with
beta = 0.1 and no clipping: that is in the estimator's spec, not here. r_T is the episode's whole reward (AgeMem pays
everything at the end; CAMG's environments pay some of it earlier, which comes to the same in an undiscounted sum).
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from camg.types import Estimate, Trajectory
from camg_estimators.config import GroupSize8
from camg_estimators.groups import episode_returns, group_sum, spread_over_episodes

EPS = 1e-6


@frozen
class StepwiseGrpo:
    """See the module's docstring."""

    config: GroupSize8

    def estimate(self, trajectories: Sequence[Trajectory]) -> list[Estimate]:
        """One estimate per trajectory: float32 [sum(lengths)] advantages and returns; arithmetic in float64."""
        returns, group = episode_returns(trajectories)
        size = group_sum(returns.new_ones(len(returns)), group)
        centred = returns - group_sum(returns, group) / size
        deviation = (group_sum(centred.square(), group) / (size - 1).clamp(min=1)).sqrt()
        return spread_over_episodes(trajectories, centred / (deviation + EPS), returns)
