"""What reporters hear of a run: every episode and update, and a progress line now and then.

Both are read back from the disk, so that it is the same whether the run is in one process or in many, and a slow
reporter cannot slow down rollout or learner.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from attrs import field, frozen

from camg.config import RunConfig
from camg.errors import CamgError, CorruptState
from camg.protocols import Reporter
from camg.rollout.cell import Cell
from camg.rollout.queue import Queue, State
from camg.supervise.metrics import read_reports
from camg.supervise.summary import by_environment
from camg.types import UpdateReport

PROGRESS_SECONDS = 0.5
_RECENT = 10  # updates that the estimate of the time left looks at


@frozen(kw_only=True)
class Progress:
    """Where a run stands. A reporter that has a method ``progress(progress: Progress)`` gets one twice a second.

    ``phase``: ``start``, ``evaluate``, ``warm-up`` (before the first update) or ``train``; ``detail`` names the
    evaluation. ``done`` of ``total``: updates, or episodes of an evaluation. ``success``: by environment, of the last
    update. ``lag``: mean age of the weights, in updates. ``seconds_left``: an estimate; None when there is no basis.
    """

    phase: str
    detail: str = ""
    done: int = 0
    total: int = 0
    update: int = 0
    updates: int = 0
    episodes: int = 0
    episodes_per_second: float = 0.0
    success: Mapping[str, float] = field(factory=dict)
    complete: Mapping[str, float] = field(factory=dict)
    lag: float = 0.0
    faults: int = 0
    seconds: float = 0.0
    seconds_left: float | None = None


class Reporters:
    """Calls reporters; one that raises is named and detached, and the run goes on.

    A reporter whose attribute ``needs_episodes`` is False (default True) is not told of episodes: reading each one back
    costs a few milliseconds of CPU, which rollout and learner can use on a small machine.
    """

    def __init__(self, reporters: Sequence[Reporter]) -> None:
        self._reporters = list(reporters)

    @property
    def need_episodes(self) -> bool:
        """Does any want to hear of episodes?"""
        return any(getattr(reporter, "needs_episodes", True) for reporter in self._reporters)

    def call(self, method: str, argument: object) -> None:
        """Call ``method`` of every reporter that has it."""
        for reporter in list(self._reporters):
            function: Callable[[object], None] | None = getattr(reporter, method, None)
            if function is None or (method == "episode" and not getattr(reporter, "needs_episodes", True)):
                continue
            try:
                function(argument)
            except Exception as error:
                self._reporters.remove(reporter)
                name = type(reporter).__name__
                print(
                    f"camg: reporter {name} failed in {method} and is detached: {type(error).__name__}: {error}",
                    file=sys.stderr,
                )


class Follower:
    """Follows a cell on disk and tells the reporters what is new."""

    def __init__(self, cell: Cell, config: RunConfig, reporters: Reporters) -> None:
        self._cell, self._config, self._reporters = cell, config, reporters
        self._queue = Queue(cell.root)
        self._reports = read_reports(cell.metrics)
        self._sequence = max((sequence for sequence, _ in self._queue.finished_after(0)), default=0)
        self._size = -1
        self._evaluation: tuple[str, Queue] | None = None
        self._told = 0.0
        self._started = time.monotonic()
        self._ended: deque[tuple[float, int]] = deque(maxlen=40)  # (when, episodes that had ended by then)
        self._completed = 0

    def poll(self, *, force: bool = False) -> None:
        """Tell what is new; progress twice a second, or always with ``force``."""
        self._episodes()
        self._updates()
        now = time.monotonic()
        if force or now - self._told >= PROGRESS_SECONDS:
            self._told = now
            self._reporters.call("progress", self.progress())

    def _episodes(self) -> None:
        for sequence, episode in self._queue.finished_after(self._sequence):
            self._sequence = sequence
            self._completed += 1
            if not self._reporters.need_episodes:
                continue
            try:
                self._reporters.call("episode", self._queue.store.read(episode))
            except CorruptState:
                continue  # whoever needs it will find out, and run it again

    def _updates(self) -> None:
        size = self._cell.metrics.stat().st_size if self._cell.metrics.exists() else 0
        if size == self._size:
            return
        self._size = size
        known = {report.update for report in self._reports}
        self._reports = read_reports(self._cell.metrics)
        for report in self._reports:
            if report.update not in known:
                self._reporters.call("update", report)

    def progress(self) -> Progress:
        """Where the run stands now."""
        beat = self._cell.last_beat("learner")
        phase, detail = str(beat.get("phase", "start")), str(beat.get("name", ""))
        last = self._reports[-1] if self._reports else None
        counts = self._queue.counts()
        evaluating = self._evaluation_counts(detail) if phase == "evaluate" else None
        done, total = evaluating or (len(self._reports), self._config.run.updates)
        ended = done if evaluating else self._completed
        return Progress(
            phase="start" if phase == "restore" else phase,
            detail=detail if evaluating else "",
            done=done,
            total=total,
            update=len(self._reports),
            updates=self._config.run.updates,
            episodes=counts[State.USED],
            episodes_per_second=self._speed(ended),
            success=by_environment(last, "success") if last else {},
            complete=by_environment(last, "complete") if last else {},
            lag=last.metrics.get("lag/mean", 0.0) if last else 0.0,
            faults=counts[State.FAULTED],
            seconds=time.monotonic() - self._started,
            seconds_left=self._left(self._reports),
        )

    def _evaluation_counts(self, name: str) -> tuple[int, int] | None:
        if self._evaluation is None or self._evaluation[0] != name:
            try:
                queue = Queue(self._cell.evaluation / name)
            except CamgError:
                return None  # not made yet
            if self._evaluation is not None:
                self._evaluation[1].close()
            self._evaluation = (name, queue)
            self._ended.clear()
        counts = self._evaluation[1].counts()
        return counts[State.COMPLETE] + counts[State.FAULTED], sum(counts.values())

    def _speed(self, ended: int) -> float:
        now = time.monotonic()
        if self._ended and ended < self._ended[-1][1]:
            self._ended.clear()  # another phase counts other episodes
        self._ended.append((now, ended))
        began, before = self._ended[0]
        return (ended - before) / (now - began) if now - began > 1.0 else 0.0

    def _left(self, reports: Sequence[UpdateReport]) -> float | None:
        recent = [report.time["update"] for report in reports[-_RECENT:] if "update" in report.time]
        if not recent:
            return None
        return (self._config.run.updates - len(reports)) * sum(recent) / len(recent)

    def close(self) -> None:
        self._queue.close()
        if self._evaluation is not None:
            self._evaluation[1].close()
