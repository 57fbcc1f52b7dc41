"""``camg sweep --jobs N``: each cell in a process of its own, N at a time."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from attrs import frozen

from camg.cli.execute import finished
from camg.errors import BackendUnavailable, CamgError, ExitCode, Interrupted
from camg.report.format import duration, percent
from camg.rollout.cell import Cell
from camg.supervise import interruptible
from camg.supervise.children import child_environment

TICK_SECONDS = 0.1
LINE_SECONDS = 30.0
"""Between two lines that say where every running cell stands."""

LOG = "cell"


@frozen
class _Running:
    process: subprocess.Popen[bytes]
    began: float


def run_side_by_side(
    cells: Mapping[str, Path], titles: Mapping[str, str], *, jobs: int, reporters: Sequence[str], quiet: bool
) -> Generator[tuple[str, Mapping[str, Any] | CamgError], None, None]:
    """Run cells (hash -> folder) and yield each with its summary, or with why it failed, as they end.

    A cell that is finished is not run again. What a cell prints goes to ``logs/cell.log`` in its folder; here a line
    says when it begins and ends, and every :data:`LINE_SECONDS` where all stand. The processes end with this one,
    however it ends. Raises :class:`Interrupted` after Ctrl-C or SIGTERM, once every cell has drained; a second one
    ends them at once.
    """
    waiting, running = deque(cells), dict[str, _Running]()
    done, said = 0, time.monotonic()
    with interruptible() as stop:
        try:
            while waiting or running:
                while waiting and len(running) < jobs and not stop.is_set():
                    digest = waiting.popleft()
                    if (summary := finished(cells[digest])) is not None:
                        done += 1
                        _say(quiet, f"{titles[digest]}: was finished already")
                        yield digest, summary
                        continue
                    try:
                        running[digest] = _start(cells[digest], reporters, quiet)
                    except BackendUnavailable as problem:
                        yield digest, problem
                        continue
                    _say(quiet, f"{titles[digest]}: begins")
                for digest in [d for d, cell in running.items() if cell.process.poll() is not None]:
                    ended = running.pop(digest)
                    outcome = _outcome(cells[digest], ended.process)
                    done += 1
                    _say(quiet, f"{titles[digest]}: {_ending(outcome, time.monotonic() - ended.began)}")
                    yield digest, outcome
                if stop.is_set():
                    yield from _drain(cells, running)
                    raise Interrupted("Interrupted.")
                if time.monotonic() - said >= LINE_SECONDS:
                    said = time.monotonic()
                    _say(quiet, _standing(cells, titles, running, done))
                time.sleep(TICK_SECONDS)
        finally:
            for cell in running.values():
                if cell.process.poll() is None:
                    cell.process.kill()
                    cell.process.wait()


def _start(cell: Path, reporters: Sequence[str], quiet: bool) -> _Running:
    """Raises :class:`BackendUnavailable` if there is no process, memory or disk left."""
    log = Cell(cell).log(LOG)
    arguments = [sys.executable, "-m", "camg.cli.cell", str(cell), LOG, str(os.getpid())]
    arguments += ["--quiet"] * quiet + list(reporters)
    try:
        log.parent.mkdir(exist_ok=True)
        with log.open("ab") as stream:
            process = subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                env=child_environment(),
                start_new_session=True,  # Ctrl-C on the terminal is for the sweep alone, which asks its cells to drain
            )
    except OSError as cause:
        raise BackendUnavailable(f"The cell's process could not be started: {cause}.") from cause
    return _Running(process, time.monotonic())


def _drain(cells: Mapping[str, Path], running: dict[str, _Running]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Ask every cell to stop, and wait; those that happen to finish are yielded."""
    for cell in running.values():
        cell.process.terminate()
    while any(cell.process.poll() is None for cell in running.values()):
        time.sleep(TICK_SECONDS)
    for digest in list(running):
        del running[digest]
        if (summary := finished(cells[digest])) is not None:
            yield digest, summary


def _outcome(folder: Path, process: subprocess.Popen[bytes]) -> Mapping[str, Any] | CamgError:
    if (summary := finished(folder)) is not None:
        return summary
    cell, status = Cell(folder), process.returncode
    if (error := cell.last_error(process.pid)) is not None:
        return error
    if status == ExitCode.INTERRUPTED:
        return CamgError("Its process was asked to stop by someone else.", hint="Go on with --resume.")
    ended = f"was ended by signal {-status}" if status < 0 else f"left with status {status}"
    return CamgError(f"Its process {ended}.", hint=f"See {cell.log(LOG)}; go on with --resume.")


# ---------------------------------------------------------------- what a person sees
def _say(quiet: bool, text: str) -> None:
    if not quiet:
        click.echo(text, err=True)


def _ending(outcome: Mapping[str, Any] | CamgError, seconds: float) -> str:
    if isinstance(outcome, CamgError):
        return f"failed after {duration(seconds)}"
    success = (outcome.get("final") or {}).get("success") or {}
    return ", ".join([f"finished in {duration(seconds)}", *(f"{env} {percent(x)}" for env, x in success.items())])


def _standing(cells: Mapping[str, Path], titles: Mapping[str, str], running: Mapping[str, _Running], done: int) -> str:
    """One line: how many are done, and what the others are at."""
    parts = [f"{titles[digest].partition(': ')[2]} {_phase(Cell(cells[digest]))}" for digest in running]
    return f"{done} of {len(cells)} cells done; " + "; ".join(parts)


def _phase(cell: Cell) -> str:
    beat = cell.last_beat("learner")
    phase = str(beat.get("phase", "start"))
    if phase == "evaluate":
        return f"evaluates ({beat.get('name', '')})"
    try:
        updates = cell.metrics.read_bytes().count(b"\n")
    except OSError:
        updates = 0
    return f"has made {updates} updates" if updates else "begins"
