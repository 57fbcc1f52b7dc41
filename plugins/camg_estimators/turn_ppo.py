"""Turn-PPO: advantages of whole turns, as response-level GAE gives them, *and* one probability ratio for each turn.

    A_t, G_t    as in :mod:`camg_estimators.response_gae`
    rho_t = prod_j pi(a_tj) / mu(a_tj)                 over the tokens j of turn t

The ratio belongs to the loss (:func:`camg.learn.losses.turn_policy_loss`): the spec asks for it with ``ratio="turn"``.
Each turn is one term of the loss whatever its length.
"""

from __future__ import annotations

from attrs import frozen

from camg_estimators.response_gae import ResponseGae


@frozen
class TurnPpo(ResponseGae):
    """See the module's docstring."""
