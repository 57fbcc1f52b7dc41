"""Environments: families of tasks, and the session of one episode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from camg.protocols.sandbox import Box, Boxes
from camg.types import Action, CheckpointVerdict, EndReason, Outcome, StepResult, Task, Tool, Workspace


@runtime_checkable
class Environment(Protocol):
    """A family of tasks. ``tools`` are its native actions; ``shell_command`` is the core's."""

    @property
    def tools(self) -> Sequence[Tool]: ...

    def task_ids(self, split: str) -> Sequence[str]:
        """The ids of a split, in a fixed order. Raises :class:`DataError` for an unknown split."""

    def task(self, task_id: str) -> Task:
        """Raises :class:`DataError` for an unknown id."""

    def workspace(self, task: Task) -> Workspace:
        """What the episode's box starts with: a tree of files, inputs, variables. ``Workspace()``: an empty folder."""

    def open(self, task: Task, box: Box, boxes: Boxes) -> Session:
        """Start one episode in ``box``, opened as :meth:`workspace` says. ``boxes`` opens others, for grading."""


@runtime_checkable
class Session(Protocol):
    """One episode of an environment."""

    def brief(self) -> str:
        """The fixed task text (objective, rules, current request) that opens every context."""

    def step(self, action: Action) -> StepResult:
        """Execute a native action."""

    def after_action(self, action: Action, result: StepResult, checkpoint: CheckpointVerdict | None) -> StepResult:
        """See *every* action, whoever executed it, and return the result as it shall count.

        Called once per response: parse faults and refused checkpoints are priced here.
        """

    def reminder(self, path: str, limit: int) -> str:
        """The fixed text that asks for a checkpoint: the fields worth keeping, and the shape of the command."""

    def cross(self) -> str:
        """A declared boundary has been confirmed: move on and return the next brief."""

    def finish(self, reason: EndReason) -> tuple[float, Outcome]:
        """The final reward (added to the last response) and the outcome. Called exactly once."""

    def close(self) -> None:
        """Free what the session holds; must be safe after any failure."""
