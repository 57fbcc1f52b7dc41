"""Workers and learner in processes of their own, watched by a light third one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from camg.config import RunConfig
from camg.errors import CamgError, CorruptState, Interrupted
from camg.rollout.cell import Cell
from camg.rollout.queue import Queue
from camg.supervise.children import Child
from camg.supervise.metrics import read_reports

TICK_SECONDS = 0.05
STALL_SECONDS = 60.0  # a worker that has not beaten for so long is killed and started again
START_SECONDS = 300.0  # imports and models may take this long before the first beat of the loop
DRAIN_SECONDS = 60.0  # for workers to leave when they were asked to


class Supervisor:
    """Starts and watches the processes of one cell."""

    def __init__(self, cell: Cell, config: RunConfig, *, stop: threading.Event, poll: Callable[[], None]) -> None:
        self._cell, self._config = cell, config
        self._stop, self._poll = stop, poll
        self._queue = Queue(cell.root, reruns=config.rollout.reruns)
        self._learner = Child(cell, "learner", "camg.supervise.learner")
        labels = [f"worker-{number}" for number in range(config.rollout.workers)]
        self._workers = [Child(cell, label, "camg.rollout.worker") for label in labels]
        # an update has no natural limit, an episode has: give the learner the longer of the two
        self._learner_stall = max(600.0, config.rollout.episode_seconds)

    def run(self) -> None:
        """Until the learner is done.

        Raises :class:`Interrupted` when ``stop`` is set and all is drained, and what a child failed of when it cannot
        go on.
        """
        try:
            for child in (self._learner, *self._workers):
                child.start()
            while True:
                if self._stop.is_set():
                    self._drain()
                    raise Interrupted("Interrupted: drained and checkpointed.", hint="Go on with --resume.")
                if self._watch_learner():
                    break
                for worker in self._workers:
                    self._watch_worker(worker)
                self._poll()
                time.sleep(TICK_SECONDS)
            self._leave(self._workers)
        finally:
            for child in (*self._workers, self._learner):
                child.kill()
            self._release()
            self._queue.close()

    # ------------------------------------------------------------ watching
    def _watch_learner(self) -> bool:
        """True when it is done."""
        learner = self._learner
        if learner.restart_if_due():
            return False
        status = learner.poll()
        if status == 0:
            return True
        if status is not None:
            learner.bury(len(read_reports(self._cell.metrics)))
            if self._config.learner.checkpoint_every > 1:
                # updates since the checkpoint are lost, and with them weights that the samplers may hold
                self._leave(self._workers)
                for worker in self._workers:
                    worker.start()
        elif self._stalled(learner, self._learner_stall):
            learner.kill()
        return False

    def _watch_worker(self, worker: Child) -> None:
        if worker.restart_if_due():
            return
        if worker.poll() is not None:
            completed = max((sequence for sequence, _ in self._queue.finished_after(0)), default=0)
            worker.bury(completed + self._evaluated())
            self._release()
        elif worker.running and self._stalled(worker, STALL_SECONDS):
            worker.kill()

    def _stalled(self, child: Child, limit: float) -> bool:
        beat = self._cell.last_beat(child.label)
        if beat.get("pid") != child.pid or beat.get("version") == -1 or beat.get("phase") in ("start", "restore"):
            return time.monotonic() - child.since > START_SECONDS
        return time.time() - float(beat.get("time", 0.0)) > limit

    def _evaluated(self) -> int:
        """Episode files of evaluations: progress too."""
        return sum(1 for _ in self._cell.evaluation.glob("*/episodes/*.json.gz"))

    def _release(self) -> None:
        """Give back what dead workers held, in every queue."""
        self._queue.release_dead()
        for marker in self._cell.evaluation.glob("*/open"):
            try:
                queue = Queue(marker.parent, reruns=self._config.rollout.reruns)
            except CorruptState:
                continue
            queue.release_dead()
            queue.close()

    # ------------------------------------------------------------ leaving
    def _leave(self, children: list[Child]) -> None:
        for child in children:
            child.stop()
        deadline = time.monotonic() + DRAIN_SECONDS
        while any(child.running for child in children) and time.monotonic() < deadline:
            self._poll()
            time.sleep(TICK_SECONDS)
        for child in children:
            child.kill()
        self._release()

    def _drain(self) -> None:
        """Workers hand in or give back; the learner ends its update and leaves a checkpoint, however long it takes."""
        self._learner.stop()
        self._leave(self._workers)
        deadline = time.monotonic() + self._learner_stall
        while self._learner.running and time.monotonic() < deadline:
            time.sleep(TICK_SECONDS)
        if self._learner.poll() not in (None, 0, 130):
            error = self._cell.last_error(self._learner.pid or 0)
            if isinstance(error, CamgError):
                raise error
