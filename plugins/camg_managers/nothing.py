"""No memory at all: a full context ends the episode, and the environment's own boundaries clear it."""

from __future__ import annotations

from collections.abc import Sequence

from camg.protocols import Continue, EpisodeView, Replace
from camg.specs import NoConfig
from camg.types import Boundary, BoundaryKind, Tool
from camg.workspace.memory import PassiveSession


class Nothing:
    """``--memory none``."""

    tools: Sequence[Tool] = ()

    def __init__(self, config: NoConfig) -> None:
        self.config = config

    def instructions(self, *, terse: bool) -> str:
        """There is nothing to say."""
        return ""

    def open(self, view: EpisodeView) -> NothingSession:
        """One episode."""
        return NothingSession(view)


class NothingSession(PassiveSession):
    """Replaces nothing by itself."""

    def at_boundary(self, boundary: Boundary) -> Replace | Continue:
        """Clear where the environment does; else go on until there is no room."""
        return Replace() if boundary.kind is BoundaryKind.DECLARED else Continue()
