"""What training does unless something else is asked for: the environment's own reward, and one stage."""

from __future__ import annotations

from collections.abc import Iterable

from camg import hookimpl
from camg.specs import RecipeSpec, RewardSpec


@hookimpl
def camg_rewards() -> Iterable[RewardSpec]:
    """Offer ``--reward task``."""
    yield RewardSpec(
        name="task", summary="The environment's own rewards, as they are.", factory="camg_training.task:TaskReward"
    )


@hookimpl
def camg_recipes() -> Iterable[RecipeSpec]:
    """Offer ``--recipe whole``."""
    yield RecipeSpec(
        name="whole",
        summary="One stage: the run is the same from its start to its end.",
        factory="camg_training.whole:Whole",
    )
