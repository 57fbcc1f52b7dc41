"""Estimators: how the reward of an episode becomes the advantage of each sampled token."""

from __future__ import annotations

from collections.abc import Iterable

from camg import hookimpl
from camg.specs import EstimatorSpec
from camg_estimators.config import GaeConfig, ReturnConfig


@hookimpl
def camg_estimators() -> Iterable[EstimatorSpec]:
    """The estimators of the paper and its controls."""
    yield EstimatorSpec(
        name="response-gae",
        summary="GAE over responses: one advantage for every token of a response (the paper's).",
        factory="camg_estimators.response_gae:ResponseGae",
        config=GaeConfig,
    )
    yield EstimatorSpec(
        name="token-gae",
        summary="GAE over tokens: each token has its own temporal-difference recursion (the paper's control, D.2).",
        factory="camg_estimators.token_gae:TokenGae",
        config=GaeConfig,
    )
    yield EstimatorSpec(
        name="reinforce",
        summary="Monte-Carlo return minus value, for every token of a response.",
        factory="camg_estimators.reinforce:Reinforce",
        config=ReturnConfig,
    )
