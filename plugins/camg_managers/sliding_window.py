"""A sliding window: under pressure the oldest whole steps fall out, until a share of the room for steps is free."""

from __future__ import annotations

from collections.abc import Sequence

from camg.protocols import EpisodeView, Kept, Replace
from camg.types import Boundary, BoundaryKind, Tool
from camg.workspace.memory import PassiveSession
from camg_managers.config import SlidingWindowConfig


class SlidingWindow:
    """``--memory sliding-window``: no tools of its own."""

    tools: Sequence[Tool] = ()

    def __init__(self, config: SlidingWindowConfig) -> None:
        self.config = config

    def instructions(self, *, terse: bool) -> str:
        """That older steps disappear."""
        return "" if terse else "Your context is bounded: your oldest steps disappear from it."

    def open(self, view: EpisodeView) -> SlidingWindowSession:
        """One episode's memory."""
        return SlidingWindowSession(view, self.config)


class SlidingWindowSession(PassiveSession):
    """Drops steps."""

    def __init__(self, view: EpisodeView, config: SlidingWindowConfig) -> None:
        super().__init__(view)
        self._config = config

    def at_boundary(self, boundary: Boundary) -> Replace:
        """Keep the newest steps that leave enough free; nothing at a declared boundary."""
        if boundary.kind is BoundaryKind.DECLARED:
            return Replace()
        steps = self.view.steps()
        enough = self._config.free * max(self.view.room(Replace()), 0)
        for first in range(1, len(steps)):
            plan = Replace(keep=[Kept(step.turn) for step in steps[first:]])
            if self.view.room(plan) >= enough:
                return plan
        last = Replace(keep=[Kept(step.turn) for step in steps[-1:]])
        return last if self.view.room(last) >= 0 else Replace()
