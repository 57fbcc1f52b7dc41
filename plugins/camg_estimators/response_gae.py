"""GAE over responses (paper B.2, Eq. 6 to 10): the default.

One response is one step. With V_t the value of the state before the first token of response t,

    delta_t = r_t + gamma V_{t+1} - V_t            (Eq. 7; V after the last response is 0)
    A_t     = delta_t + gamma lambda A_{t+1}       (Eq. 8)
    G_t     = A_t + V_t                            (Eq. 9)

and every sampled token of response t gets A_t and G_t (Eq. 10). The next response is the next in the episode, also
across a replaced context; gamma and lambda decay once per response. With gamma = lambda = 1, A_t is the Monte-Carlo
return minus V_t. An episode cut by a limit is not bootstrapped: the horizon is finite and known.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from camg.types import Estimate, Trajectory
from camg_estimators.config import GaeConfig
from camg_estimators.scan import discounted
from camg_estimators.table import Table, following


@frozen
class ResponseGae:
    """See the module's docstring."""

    config: GaeConfig

    def estimate(self, trajectories: Sequence[Trajectory]) -> list[Estimate]:
        """One estimate per trajectory: float32 [sum(lengths)] advantages and returns; arithmetic in float64."""
        table = Table.of(trajectories)
        before = table.first_values()
        deltas = table.rewards + self.config.gamma * following(before, table.responses) - before
        advantages = discounted(deltas, table.responses, self.config.gamma * self.config.lam)
        return table.spread(advantages, advantages + before)
