"""Keep a run from its reporters: one that raises is named and detached; the run goes on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from attrs import define

from camg.types import Episode, UpdateReport


@define
class Guarded:
    """A reporter that cannot harm the run (:class:`camg.protocols.Reporter`, and the optional ``progress``)."""

    name: str
    reporter: Any
    detached: bool = False

    def start(self, run: Mapping[str, Any]) -> None:
        """A cell starts."""
        self._call("start", run)

    def progress(self, event: Mapping[str, Any]) -> None:
        """Something between updates: phase, throughput, time left. Reporters need not have it."""
        self._call("progress", event)

    def episode(self, episode: Episode) -> None:
        """An episode is complete."""
        self._call("episode", episode)

    def update(self, report: UpdateReport) -> None:
        """An update is published."""
        self._call("update", report)

    def finish(self, summary: Mapping[str, Any]) -> None:
        """The cell has ended, however it did."""
        self._call("finish", summary)

    def _call(self, method: str, argument: Any) -> None:
        call: Callable[[Any], None] | None = getattr(self.reporter, method, None)
        if self.detached or call is None:
            return
        try:
            call(argument)
        except Exception as cause:
            self.detached = True
            print(
                f"camg: reporter '{self.name}' raised in {method}() and is detached: {type(cause).__name__}: {cause}",
                file=sys.stderr,
            )


def guarded(name: str, reporter: Any) -> Guarded:
    """Wrap a reporter under its name."""
    return Guarded(name, reporter)
