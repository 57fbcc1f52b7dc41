"""Learning: credit assignment, shaping and the stages of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from camg.types import Episode, Estimate, Stage, Trajectory


@runtime_checkable
class Estimator(Protocol):
    """Credit assignment. Pure; one trajectory per episode, estimates in the same order."""

    def estimate(self, trajectories: Sequence[Trajectory]) -> Sequence[Estimate]: ...


@runtime_checkable
class Reward(Protocol):
    """What the learner trains on in place of the environment's own rewards (shaping). Pure."""

    def rewards(self, episode: Episode) -> Sequence[float]:
        """One finite reward for each of ``episode.turns``, in order; ``turn.reward`` is the environment's own.

        Called in the learner, for each episode that an update learns from. The environment's return stays in the
        metrics, and evaluations never see this.
        """


@runtime_checkable
class Recipe(Protocol):
    """How a run's updates are divided into stages (see :func:`camg.config.stage_plan`). Pure."""

    def stages(self) -> Sequence[Stage]: ...
