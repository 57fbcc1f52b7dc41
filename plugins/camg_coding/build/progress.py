"""What a build or check says while it works: a bar on a terminal, a line now and then elsewhere; on stderr."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Any

_EVERY = 10.0  # seconds between lines where there is no terminal


class Progress:
    """Counts finished work of a known (or growing) total. Usable from any thread."""

    def __init__(self, what: str, total: int) -> None:
        self._what, self._total, self._done = what, total, 0
        self._began = self._last = time.monotonic()
        self._lock = threading.Lock()
        self._bar: Any = None
        self._task: Any = None
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(what, total=total)

    def __enter__(self) -> Progress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def say(self, line: str) -> None:
        """A line that stays."""
        if self._bar is not None:
            self._bar.console.print(line, highlight=False, markup=False)
        else:
            print(line, file=sys.stderr, flush=True)

    def advance(self, count: int = 1) -> None:
        """``count`` pieces more are finished."""
        with self._lock:
            self._done += count
            now = time.monotonic()
            quiet = now - self._last < _EVERY
            if not quiet:
                self._last = now
        if self._bar is not None:
            self._bar.advance(self._task, count)
        elif not quiet:
            self.say(f"{self._what}: {self._done} of {self._total} after {now - self._began:.0f} s")

    def expect(self, fewer: int) -> None:
        """``fewer`` pieces of the total will not come."""
        with self._lock:
            self._total -= fewer
        if self._bar is not None:
            self._bar.update(self._task, total=self._total)
