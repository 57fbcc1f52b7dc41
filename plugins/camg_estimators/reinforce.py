"""Monte-Carlo return minus value.

    G_t = r_t + gamma G_{t+1}            (0 after the last response)
    A_t = G_t - V_t

for response t, given to each of its sampled tokens; V_t is the value of the state before its first token and serves as
control variate only. Equals response-level GAE at lambda = 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from camg.types import Estimate, Trajectory
from camg_estimators.config import ReturnConfig
from camg_estimators.scan import discounted
from camg_estimators.table import Table


@frozen
class Reinforce:
    """See the module's docstring."""

    config: ReturnConfig

    def estimate(self, trajectories: Sequence[Trajectory]) -> list[Estimate]:
        """One estimate per trajectory: float32 [sum(lengths)] advantages and returns; arithmetic in float64."""
        table = Table.of(trajectories)
        returns = discounted(table.rewards, table.responses, self.config.gamma)
        return table.spread(returns - table.first_values(), returns)
