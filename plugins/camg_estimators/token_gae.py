"""GAE over tokens (paper D.2): the control that splits a response's reward by a learned value function.

One sampled token is one step. With V_k the value of the state before sampled token k of the episode (across responses
and replaced contexts), and the reward of a response at its last token,

    delta_k = r_k + gamma V_{k+1} - V_k            (V after the last token is 0)
    A_k     = delta_k + gamma lambda A_{k+1}
    G_k     = A_k + V_k

gamma and lambda decay once per token. Observations and prompts are no steps.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from camg.types import Estimate, Trajectory
from camg_estimators.config import GaeConfig
from camg_estimators.scan import discounted
from camg_estimators.table import Table, following


@frozen
class TokenGae:
    """See the module's docstring."""

    config: GaeConfig

    def estimate(self, trajectories: Sequence[Trajectory]) -> list[Estimate]:
        """One estimate per trajectory: float32 [sum(lengths)] advantages and returns; arithmetic in float64."""
        table = Table.of(trajectories)
        before = table.values.double()
        deltas = self.config.gamma * following(before, table.tokens) - before
        deltas[table.lengths.cumsum(0) - 1] += table.rewards
        advantages = discounted(deltas, table.tokens, self.config.gamma * self.config.lam)
        return table.estimates(advantages, advantages + before)
