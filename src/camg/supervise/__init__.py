"""Run one cell: rollout and learner processes under a supervisor, or in lock-step (``--sync``)."""

from __future__ import annotations

import signal
import sys
import threading
import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from camg.config import RunConfig
from camg.errors import CamgError, CorruptState, Interrupted, RunDirectoryError, UsageError
from camg.plugins import Registry
from camg.protocols import Reporter
from camg.rollout.cell import Cell, read_json
from camg.rollout.queue import Queue
from camg.rollout.recover import rebuild
from camg.supervise.reporting import Follower, Progress, Reporters
from camg.supervise.summary import summarise, write_summary

__all__ = ["Progress", "interruptible", "run_cell"]


def run_cell(
    cell_dir: Path,
    config: RunConfig,
    registry: Registry,
    *,
    sync: bool = False,
    resume: bool = False,
    reporters: Sequence[Reporter] = (),
) -> dict[str, Any]:
    """Train and evaluate one cell; returns its summary (also in ``summary.json``).

    ``sync``: rollout and learner take turns in this process, deterministically. ``resume``: go on from what lies in
    ``cell_dir``; a cell that is finished returns its summary at once. ``reporters`` are told of every episode and
    update, and of :class:`Progress` if they have a method ``progress``.

    Raises:
        Interrupted: Ctrl-C or SIGTERM; drained, checkpointed, resumable. A second one ends everything at once.
        RunDirectoryError: the cell has been begun and ``resume`` is False, or another process runs it.
        BackendUnavailable, PluginError, CorruptState: as a child met it, with its message.
        CamgError: a process died again and again; the message has its last error.
    """
    cell = Cell(Path(cell_dir))
    _check(config, registry)
    with cell.locked("cell"):
        if resume and cell.summary.exists():
            summary = read_json(cell.summary)
            if summary.get("status") == "finished":
                return summary
        _prepare(cell, config, registry, resume=resume)
        return _run(cell, config, registry, sync, Reporters(reporters))


def _run(cell: Cell, config: RunConfig, registry: Registry, sync: bool, reporters: Reporters) -> dict[str, Any]:
    described = cell.described(config)
    registry.hook.camg_run_start(run=described)
    reporters.call("start", described)
    follower = Follower(cell, config, reporters)
    status, message = "failed", ""
    try:
        with interruptible() as stop:
            if sync:
                from camg.supervise.lockstep import run_lockstep

                run_lockstep(cell, config, registry, stop=stop, poll=follower.poll)
            else:
                from camg.supervise.supervisor import Supervisor

                Supervisor(cell, config, stop=stop, poll=follower.poll).run()
        status = "finished"
    except BaseException as error:
        status = "interrupted" if isinstance(error, Interrupted | KeyboardInterrupt) else "failed"
        message = error.message if isinstance(error, CamgError) else f"{type(error).__name__}: {error}"
        raise
    finally:
        try:
            follower.poll(force=True)
            follower.close()
            summary = summarise(cell, config, registry, status=status, error=message)
            write_summary(cell, summary)
        except CamgError as error:
            if status == "finished":
                raise
            # the run has failed of something else already, which must stay the error that is seen
            summary = {"status": status, "error": message}
            print(f"camg: the summary could not be written: {error}", file=sys.stderr)
        reporters.call("finish", summary)
        registry.hook.camg_run_end(run=described, outcome=summary)
    return summary


def _check(config: RunConfig, registry: Registry) -> None:
    size = config.group_size(registry)
    if config.run.updates and config.run.episodes % size:
        raise UsageError(
            f"Expected run.episodes to be a multiple of {size}, the group size of {config.estimator}, "
            f"got {config.run.episodes}.",
            hint=f"Set run.episodes to {-(-config.run.episodes // size) * size}.",
        )


def _prepare(cell: Cell, config: RunConfig, registry: Registry, *, resume: bool) -> None:
    """Make or take up the queue. A damaged index is rebuilt when resuming, and what was found is said."""
    begun = (cell.root / "queue.db").exists() or (cell.root / "episodes").exists()
    if begun and not resume:
        raise RunDirectoryError(f"{cell.root} holds a run already.", hint="Go on with --resume, or choose another.")
    if not cell.config_file.exists():
        config.save(cell.config_file, registry=registry)
    try:
        Queue(cell.root, create=not begun).close()
    except CorruptState:
        from camg.rollout.rig import training_schedule

        queue, found = rebuild(
            cell.root, training_schedule(config, registry), _used(cell), reruns=config.rollout.reruns
        )
        queue.close()
        print(f"camg: {found}", file=sys.stderr)


def _used(cell: Cell) -> dict[int, int]:
    """Episode -> update, as the latest checkpoint has it."""
    from camg.learn import checkpoint
    from camg.supervise.metrics import read_reports

    latest = checkpoint.latest(cell.checkpoints)
    if latest is None:
        return {}
    state = checkpoint.summary(latest)
    when = {episode: report.update for report in read_reports(cell.metrics) for episode in report.episodes}
    return {episode: when.get(episode, state["update"]) for episode in state["used"]}


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C or SIGTERM sets; the second raises ``KeyboardInterrupt``."""
    stop = threading.Event()

    def handle(number: int, frame: types.FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        print("\ncamg: stopping after what is in flight; once more to quit at once", file=sys.stderr)

    if threading.current_thread() is not threading.main_thread():
        yield stop  # only the main thread may have handlers: whoever runs cells in threads sends no signals
        return
    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
