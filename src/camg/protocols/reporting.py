"""Reporters: who follows a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from camg.types import Episode, UpdateReport


@runtime_checkable
class Reporter(Protocol):
    """Follows a run. A reporter that raises is named and detached; the run goes on.

    An attribute ``needs_episodes = False`` spares the reading back of every episode for :meth:`episode`.
    """

    def start(self, run: Mapping[str, Any]) -> None: ...

    def episode(self, episode: Episode) -> None: ...

    def update(self, report: UpdateReport) -> None: ...

    def finish(self, summary: Mapping[str, Any]) -> None: ...
