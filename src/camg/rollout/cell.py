"""A cell on disk (house plan: a run on disk): where everything lies, and what its processes tell each other there."""

from __future__ import annotations

import fcntl
import json
import os
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import frozen

from camg import errors
from camg.config import RunConfig
from camg.errors import CamgError, CorruptState, RunDirectoryError
from camg.rollout.store import write_beside

BEAT_SECONDS = 1.0


@frozen
class Cell:
    """The folder of one cell."""

    root: Path

    @property
    def config_file(self) -> Path:
        return self.root / "config.toml"

    @property
    def metrics(self) -> Path:
        return self.root / "metrics.jsonl"

    @property
    def weights(self) -> Path:
        return self.root / "weights"

    @property
    def checkpoints(self) -> Path:
        return self.root / "checkpoints"

    @property
    def advantages(self) -> Path:
        """One file per update: ``{episode: {turn: advantage}}``, for replay."""
        return self.root / "advantages"

    @property
    def evaluation(self) -> Path:
        return self.root / "evaluation"

    @property
    def errors(self) -> Path:
        return self.root / "errors.jsonl"

    @property
    def summary(self) -> Path:
        return self.root / "summary.json"

    def log(self, label: str) -> Path:
        """Standard output and error of a child."""
        return self.root / "logs" / f"{label}.log"

    def described(self, config: RunConfig) -> dict[str, Any]:
        """The cell as hooks and reporters see it: its folder, and every setting by dotted name."""
        return {"directory": str(self.root), "settings": config.flat()}

    # ------------------------------------------------------------ errors
    def log_error(self, label: str, error: BaseException, **details: Any) -> None:
        """Append one line to ``errors.jsonl``."""
        record = {
            "time": time.time(),
            "label": label,
            "pid": os.getpid(),
            "class": type(error).__name__,
            "message": error.message if isinstance(error, CamgError) else str(error),
            "hint": error.hint if isinstance(error, CamgError) else "",
            "traceback": "".join(traceback.format_exception(error)),
            **details,
        }
        line = json.dumps(record, default=str) + "\n"
        with self.errors.open("ab") as stream:  # one write in append mode: lines of several processes do not mix
            stream.write(line.encode())

    def last_error(self, pid: int) -> CamgError | None:
        """What a child wrote before it failed, as the error that it was; None when it wrote nothing."""
        if not self.errors.exists():
            return None
        for line in reversed(self.errors.read_bytes().splitlines()):
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if record.get("pid") == pid and record.get("fatal"):
                found = getattr(errors, record["class"], None)
                known = isinstance(found, type) and issubclass(found, CamgError)
                message = record["message"] if known else f"{record['class']}: {record['message']}"
                return (found if known else CamgError)(message, hint=record["hint"])  # type: ignore[misc]
        return None

    # ------------------------------------------------------------ liveness
    def last_beat(self, label: str) -> Mapping[str, Any]:
        """The last words of a process; empty when there are none."""
        try:
            return read_json(self.root / "processes" / f"{label}.json")
        except CorruptState:
            return {}

    @contextmanager
    def locked(self, name: str, *, wait: float = 0.0) -> Iterator[None]:
        """Hold a role in this cell, alone. Raises :class:`RunDirectoryError` when another process has it.

        The kernel frees the lock when its holder dies, however it dies.
        """
        self.root.mkdir(parents=True, exist_ok=True)
        deadline = time.monotonic() + wait
        with (self.root / f".{name}.lock").open("a") as stream:
            while True:
                try:
                    fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() >= deadline:
                        raise RunDirectoryError(
                            f"Another process is running {self.root}.", hint="Wait for it, or stop it first."
                        ) from None
                    time.sleep(0.05)
            yield


class Heartbeat:
    """Says that this process is alive and what it is doing: at once when that changes, else once a second."""

    def __init__(self, cell: Cell, label: str) -> None:
        self._path = cell.root / "processes" / f"{label}.json"
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._state: Mapping[str, Any] | None = None
        self._written = 0.0

    def __call__(self, **state: Any) -> None:
        now = time.monotonic()
        if state == self._state and now - self._written < BEAT_SECONDS:
            return
        self._state, self._written = state, now
        write_beside(self._path, json.dumps({"pid": os.getpid(), "time": time.time(), **state}).encode())


def read_json(path: Path) -> dict[str, Any]:
    """Raises :class:`CorruptState` when the file is missing or no JSON object."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise CorruptState(f"{path} cannot be read: {error}.") from error
    if not isinstance(found, dict):
        raise CorruptState(f"Expected a JSON object in {path}, got {type(found).__name__}.")
    return found
