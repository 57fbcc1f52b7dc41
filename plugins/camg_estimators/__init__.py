"""Estimators: how the reward of an episode becomes the advantage of each sampled token."""

from __future__ import annotations

from collections.abc import Iterable

from camg import hookimpl
from camg.specs import EstimatorSpec
from camg_estimators.config import DiscountConfig, GaeConfig, GroupConfig, GroupSize4, GroupSize8, ReturnConfig


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
    yield EstimatorSpec(
        name="turn-ppo",
        summary="GAE over responses with one probability ratio for each response, not for each token.",
        factory="camg_estimators.turn_ppo:TurnPpo",
        config=GaeConfig,
        ratio="turn",
    )
    yield EstimatorSpec(
        name="grpo",
        summary="Return against the mean of the episodes of the same task, in standard deviations; no critic.",
        factory="camg_estimators.grpo:Grpo",
        config=GroupConfig,
        group_option="size",
        needs_critic=False,
        pipeline="none",
    )
    yield EstimatorSpec(
        name="stepwise-grpo",
        summary="AgeMem's own: group-relative terminal reward at every step, no clipping, KL to the start.",
        factory="camg_estimators.stepwise_grpo:StepwiseGrpo",
        config=GroupSize8,
        group_option="size",
        needs_critic=False,
        pipeline="none",
        clip=0.0,
        kl=0.1,
    )
    yield EstimatorSpec(
        name="rloo",
        summary="Return against the mean of the other episodes of the same task; no critic.",
        factory="camg_estimators.rloo:Rloo",
        config=GroupSize4,
        group_option="size",
        needs_critic=False,
        pipeline="none",
    )
    yield EstimatorSpec(
        name="compaction",
        summary="CompactionRL's own: GAE within each context, every context paid the whole return.",
        factory="camg_estimators.compaction:Compaction",
        config=DiscountConfig,
    )
