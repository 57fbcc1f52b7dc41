"""A rollout worker: ``python -m camg.rollout.worker CELL_DIR LABEL PARENT_PID``.

It claims the earliest dispatched episode, runs it in a free slot with the latest published weights, and hands in
complete episodes only. Evaluation queues that are open go before the training queue.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from camg.config import RunConfig, load_cell
from camg.errors import BackendUnavailable, InfrastructureFault, PluginError
from camg.plugins import Registry
from camg.rollout.cell import BEAT_SECONDS, Cell, Heartbeat
from camg.rollout.owner import Owner
from camg.rollout.pool import Pool
from camg.rollout.process import child_main, leave
from camg.rollout.queue import Queue
from camg.rollout.rig import Rig, build_rig
from camg.types import Dispatch, Episode

POLL_SECONDS = 0.02  # how long a free slot waits at most for a dispatch
GRACE_SECONDS = 5.0  # for episodes in flight when the worker is asked to stop
CATCH_UP_SECONDS = 30.0  # an evaluation waits at most so long for the sampler to notice the weights it is of
IDLE_SECONDS = 0.2
LONGEST_PAUSE = 10.0  # between claims while everything faults

TRAINING = ""  # the name of the training queue; others are evaluations


@frozen
class Job:
    """One episode of one queue."""

    queue: str
    dispatch: Dispatch


class Claims:
    """The queues of a cell, as one source of jobs and one place for their results."""

    def __init__(self, cell: Cell, registry: Registry, run: Mapping[str, Any], owner: Owner, reruns: int) -> None:
        self._cell = cell
        self._registry = registry
        self._run = run
        self._owner = owner
        self._reruns = reruns
        self._queues = {TRAINING: Queue(cell.root, reruns=reruns)}
        self._seen: dict[str, float] = {}
        self._streak = 0
        self._resume_at = 0.0
        self.completed = 0

    def next(self, version: int, *, idle: bool) -> Job | None:
        """The next job for a sampler that holds weights ``version``, or None. ``idle``: nothing is in flight."""
        if time.monotonic() < self._resume_at:
            return None
        for name in (*self._evaluations(version, idle), TRAINING):
            dispatch = self._queue(name).claim(self._owner)
            if dispatch is not None:
                return Job(name, dispatch)
        return None

    def _evaluations(self, version: int, idle: bool) -> list[str]:
        """Open evaluations whose weights the sampler holds, or will take up with its next response."""
        ready = []
        for marker in sorted(self._cell.evaluation.glob("*/open")):
            name = marker.parent.name
            with contextlib.suppress(OSError, ValueError):  # closed this very moment
                wanted = int(marker.read_text())
                seen = self._seen.setdefault(name, time.monotonic())
                waited = time.monotonic() - seen
                # an idle sampler looks for new weights only when it is asked for a response
                if version >= wanted or waited > (IDLE_SECONDS if idle else CATCH_UP_SECONDS):
                    ready.append(name)
        return ready

    def _queue(self, name: str) -> Queue:
        if name not in self._queues:
            self._queues[name] = Queue(self._cell.evaluation / name, reruns=self._reruns)
        return self._queues[name]

    def done(self, job: Job, result: Episode | Exception) -> None:
        """Hand in a result. Raises what makes this whole worker useless: no disk, no sandbox, a broken plugin."""
        if isinstance(result, BackendUnavailable | PluginError):
            raise result
        if isinstance(result, Exception):
            self._fault(job, result)
            return
        if not self._queue(job.queue).complete(self._owner, result):
            return
        self.completed += 1
        self._streak = 0
        self._resume_at = 0.0
        if job.queue == TRAINING:
            self._registry.hook.camg_episode_end(run=self._run, episode=result)

    def _fault(self, job: Job, error: Exception) -> None:
        message = error.message if isinstance(error, InfrastructureFault) else f"{type(error).__name__}: {error}"
        again = self._queue(job.queue).fault(self._owner, job.dispatch.id, message)
        where = {"episode": job.dispatch.id, "env": job.dispatch.env, "task": job.dispatch.task, "queue": job.queue}
        self._cell.log_error(self._owner.label, error, rerun=again, **where)
        self._streak += 1
        pause = min(LONGEST_PAUSE, 0.02 * 2 ** min(self._streak, 16))  # an outage is waited out, not hammered
        self._resume_at = time.monotonic() + pause

    def release(self) -> None:
        """Give back everything that is claimed and not handed in."""
        for queue in self._queues.values():
            queue.release(self._owner)


class Worker:
    """The loop of one worker process."""

    def __init__(self, beat: Heartbeat, label: str, config: RunConfig, claims: Claims, rig: Rig) -> None:
        self._beat = beat
        self._label = label
        self._slots = config.rollout.slots
        self._claims = claims
        self._rig = rig
        self._beaten = 0.0
        self._pool: Pool[Job, Episode] = Pool(
            self._slots, self._run, claims.done, deadline=config.rollout.episode_seconds
        )

    def _run(self, job: Job) -> Episode:
        label = f"{self._label}{'-' if job.queue else ''}{job.queue}"
        return self._rig.run(job.dispatch, label=label, evaluating=job.queue != TRAINING)

    def run(self, stop: threading.Event) -> None:
        """Until ``stop``; then drain."""
        while not stop.is_set():
            self._look_after()
            self._fill()
            self._pool.wait(POLL_SECONDS)
        self._drain()

    def _fill(self) -> None:
        while free := self._pool.free:
            job = self._claims.next(self._rig.sampler.version, idle=free == self._slots)
            if job is None:
                return
            self._pool.submit(job)

    def _look_after(self) -> None:
        self._pool.evict()
        self._pool.check()
        if self._pool.stuck >= 2 * self._slots:
            raise InfrastructureFault(f"{self._pool.stuck} episodes hang for good: the worker starts afresh.")
        if time.monotonic() - self._beaten > BEAT_SECONDS:
            self._beaten = time.monotonic()
            flying = self._slots - self._pool.free
            version = self._rig.sampler.version
            self._beat(completed=self._claims.completed, flying=flying, version=version)

    def _drain(self) -> None:
        deadline = time.monotonic() + GRACE_SECONDS
        while self._pool.busy and time.monotonic() < deadline:
            self._look_after()
            self._pool.wait(0.1)
        self._pool.abandon()


def work(cell: Cell, label: str, stop: threading.Event) -> None:
    """The body of a worker process."""
    beat = Heartbeat(cell, label)
    beat(completed=0, flying=0, version=-1)
    config, registry = load_cell(cell.root)
    claims = Claims(cell, registry, cell.described(config), Owner.me(label), config.rollout.reruns)
    trainable = registry.spec("policy", config.policy).trainable and config.run.updates > 0
    rig = build_rig(config, registry, weights=cell.weights if trainable else None)
    try:
        Worker(beat, label, config, claims, rig).run(stop)
    finally:
        claims.release()
        rig.close()


def main() -> None:
    """Entry point."""
    leave(child_main(work, sys.argv[1:]))


if __name__ == "__main__":
    main()
