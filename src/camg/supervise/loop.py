"""The training loop: the same code in a learner process beside the workers, and in lock-step (``--sync``).

Read :meth:`TrainingLoop.run` top to bottom. The order within an update makes a kill at any moment harmless:

    take N -> update -> checkpoint (rename) -> mark used -> publish weights -> line in metrics.jsonl -> hooks

Before the checkpoint everything is as if the update had not begun; after it, a resume repeats what comes later.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import attrs

from camg.config import RunConfig
from camg.errors import BackendUnavailable, Interrupted, RunDirectoryError
from camg.plugins import Registry
from camg.rollout.cell import Cell
from camg.rollout.queue import Queue, State
from camg.rollout.schedule import Schedule
from camg.supervise.metrics import append_report, from_json, rewind, to_json
from camg.supervise.trainer import Trainer
from camg.types import Episode, UpdateReport

PATIENCE_SECONDS = 8.0  # faults alone, for so long and so many, are an outage: the run stops and says why
PATIENCE_FAULTS = 12

Advance = Callable[[Queue], None]
"""Let the episodes of a queue make progress: wait a moment for the workers, or run one wave of them here."""


class TrainingLoop:
    """Updates, from wherever the last checkpoint stands to ``run.updates``.

    ``window``: episodes dispatched beyond the current update's. ``evaluate``: called with a name at the start, every
    ``evaluation.every`` updates and at the end; what it has finished before it does not do again.
    """

    def __init__(
        self,
        cell: Cell,
        config: RunConfig,
        registry: Registry,
        trainer: Trainer,
        schedule: Schedule,
        queue: Queue,
        *,
        window: int,
        advance: Advance,
        evaluate: Callable[[str, int], None],
        stop: threading.Event,
        beat: Callable[..., None],
    ) -> None:
        self._cell, self._config, self._registry = cell, config, registry
        self._trainer, self._schedule, self._queue = trainer, schedule, queue
        self._window, self._advance, self._evaluate = window, advance, evaluate
        self._stop, self._beat = stop, beat
        self._batch = config.run.episodes
        self._described = cell.described(config)
        self._report: UpdateReport | None = None
        self._saved = -1  # the update that the latest checkpoint holds
        self._before = 0.0  # seconds of training before this process took over
        self._started = time.monotonic()

    def run(self) -> None:
        """Everything. Raises :class:`Interrupted` after a checkpoint when ``stop`` is set."""
        self._restore()
        self._top_up()
        if self._config.evaluation.first and self._trainer.updates == 0:
            self._evaluate("initial", 0)
        self._started = time.monotonic()
        while self._trainer.updates < self._config.run.updates:
            self._pause_if_due()  # before the update: so that a resume catches up on what a kill has cut off
            self._update()
        self._pause("final")

    # ------------------------------------------------------------ resume
    def _restore(self) -> None:
        """Make queue, weights and metrics agree with the checkpoint, which is the truth."""
        self._beat(phase="restore")
        extra = self._trainer.restore()
        update = self._trainer.updates
        self._saved = update if extra else -1
        self._before = float(extra.get("elapsed", 0.0))
        self._report = from_json(extra["report"]) if extra.get("report") else None
        reports = rewind(self._cell.metrics, update, self._report)
        when = {episode: report.update for report in reports for episode in report.episodes}
        self._queue.reconcile({episode: when.get(episode, update) for episode in self._trainer.used()})
        self._queue.release_dead()
        self._check_schedule()
        self._trainer.publish()

    def _check_schedule(self) -> None:
        last = self._queue.next_id() - 1
        if last < 0:
            return
        there, here = self._queue.dispatch(last), self._schedule.entry(last)
        if there != here:
            raise RunDirectoryError(
                f"The schedule of {self._cell.root} has moved: episode {last} was dispatched as {there}, and would now "
                f"be {here}.",
                hint="Did the tasks of an environment change? Go on with those that the run was begun with.",
            )

    # ------------------------------------------------------------ one update
    def _update(self) -> None:
        began = time.monotonic()
        episodes = self._collect()
        waited = time.monotonic() - began
        self._top_up(taken=len(episodes))  # the workers go on while the learner learns
        self._beat(phase="train", update=self._trainer.updates)
        report = self._trainer.update(episodes)
        learned = time.monotonic()
        report = self._report = self._timed(report, began, waited, episodes)
        if report.update % self._config.learner.checkpoint_every == 0:
            self._save()
        saved = time.monotonic()
        self._queue.mark_used(report.episodes, report.update)
        self._trainer.publish()
        published = time.monotonic()
        report = attrs.evolve(
            report, time={**report.time, "checkpoint": saved - learned, "synchronise": published - saved}
        )
        append_report(self._cell.metrics, report)
        self._registry.hook.camg_update_end(run=self._described, report=report)

    def _collect(self) -> list[Episode]:
        """The N earliest dispatched complete episodes, as soon as there are N."""
        while True:
            self._check_stop()
            if self._queue.ready() >= self._batch:
                episodes = self._queue.take(self._batch)
                if episodes is not None:
                    return episodes
            check_outage(self._queue, self._config.rollout.reruns)
            self._top_up()  # whole groups that faulted are replaced, so that this wait always ends
            self._beat(phase="train" if self._trainer.updates else "warm-up", update=self._trainer.updates)
            self._advance(self._queue)

    def _top_up(self, taken: int = 0) -> None:
        """Dispatch until this update's episodes and the window are outstanding, but never more than are needed.

        ``taken``: outstanding ones that the running update has; the next update's are dispatched beside it.
        """
        updates = self._config.run.updates - self._trainer.updates - (1 if taken else 0)
        wanted = min(self._batch + self._window, self._batch * updates)
        lacking = wanted - (self._queue.outstanding() - taken)
        if lacking > 0:
            size = self._schedule.group_size
            count = -(-lacking // size) * size
            self._queue.enqueue(self._schedule.entries(self._queue.next_id(), count))

    def _timed(self, report: UpdateReport, began: float, waited: float, episodes: list[Episode]) -> UpdateReport:
        """The report with what a clock decides: seconds, throughput, the queue's lengths.

        ``rollout/…`` are thread-seconds that these episodes spent in the sampler, in environment and sandbox, in all.
        """
        now = time.monotonic()
        seconds = max(now - began, 1e-9)
        counts = self._queue.counts()
        turns = [turn for episode in episodes for turn in episode.turns]
        clock = {
            "wait": waited,
            "update": now - began,
            "elapsed": self._before + now - self._started,
            "throughput/episodes": len(episodes) / seconds,
            "throughput/tokens": report.metrics.get("tokens/sampled", 0.0) / seconds,
            "queue/dispatched": float(counts[State.DISPATCHED]),
            "queue/claimed": float(counts[State.CLAIMED]),
            "queue/complete": float(counts[State.COMPLETE] - len(episodes)),
            "queue/faulted": float(counts[State.FAULTED]),
            "rollout/generate": sum(turn.timing.generate for turn in turns),
            "rollout/environment": sum(turn.timing.environment for turn in turns),
            "rollout/episode": sum(episode.seconds for episode in episodes),
        }
        return attrs.evolve(report, time={**report.time, **clock})

    # ------------------------------------------------------------ in between
    def _pause_if_due(self) -> None:
        every, update = self._config.evaluation.every, self._trainer.updates
        if every and update and update % every == 0:
            self._pause(f"update-{update:05d}")

    def _pause(self, name: str) -> None:
        """Evaluate. The checkpoint comes first: weights that were evaluated are never lost."""
        if self._saved != self._trainer.updates:
            self._save()
        self._evaluate(name, self._trainer.updates)

    def _save(self) -> None:
        extra: dict[str, Any] = {
            "elapsed": self._report.time["elapsed"] if self._report else self._before,
            "report": to_json(self._report) if self._report else None,
            "schedule": self._queue.next_id(),
        }
        self._trainer.save(extra)
        self._saved = self._trainer.updates

    def _check_stop(self) -> None:
        if self._stop.is_set():
            if self._saved != self._trainer.updates and self._trainer.updates > 0:
                self._save()
            raise Interrupted("Interrupted; run again with --resume to go on.")


def check_outage(queue: Queue, reruns: int) -> None:
    """Raise :class:`BackendUnavailable` with the cause when nothing but faults has come for a while."""
    outage = queue.outage()
    if outage is None or outage.seconds < PATIENCE_SECONDS or outage.faults < PATIENCE_FAULTS * (reruns + 1) // 3:
        return
    raise BackendUnavailable(
        f"{outage.faults} infrastructure faults in {outage.seconds:.0f} s and not one complete episode. "
        f"The last one: {outage.error}",
        hint="`camg doctor` checks sandbox and engine; errors.jsonl in the cell's folder has every fault.",
    )
