"""Child processes: started with one compute thread each, watched, restarted within bounds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from camg.errors import BackendUnavailable, CamgError, ExitCode, InfrastructureFault
from camg.rollout.cell import Cell

RESTARTS = 4  # without progress in between
RESTARTS_KILLED = (
    12  # the same when it was ended by SIGKILL, which comes from outside (a person, the kernel's OOM killer)
)
FIRST_PAUSE = 0.1  # before a restart; doubled with each that made no progress
LONGEST_PAUSE = 2.0
_LOG_LINES = 8


class Child:
    """One role (a worker, the learner) and the process that fills it now."""

    def __init__(self, cell: Cell, label: str, module: str) -> None:
        self.cell, self.label, self.module = cell, label, module
        self._process: subprocess.Popen[bytes] | None = None
        self._restarts = 0
        self._progress = -1
        self._due = 0.0
        self.since = 0.0

    @property
    def pid(self) -> int | None:
        """Of the process that runs now, or ran last."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Start the process. It ends with the thread that calls this: call it from the one that watches."""
        log = self.cell.log(self.label)
        log.parent.mkdir(exist_ok=True)
        arguments = [sys.executable, "-m", self.module, str(self.cell.root), self.label, str(os.getpid())]
        try:
            with log.open("ab") as stream:
                self._process = subprocess.Popen(
                    arguments,
                    stdin=subprocess.DEVNULL,
                    stdout=stream,
                    stderr=stream,
                    env=child_environment(),
                    start_new_session=True,  # Ctrl-C on the terminal is for the supervisor alone
                )
        except OSError as error:  # no process, memory or disk left
            raise BackendUnavailable(
                f"The {self.label} could not be started: {error}.", hint="Nothing was lost: run again with --resume."
            ) from error
        self.since = time.monotonic()
        self._due = 0.0

    def poll(self) -> int | None:
        """The exit status, None while it runs (or waits for its restart)."""
        return self._process.poll() if self._process else None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """Ask it to drain and leave."""
        if self._process is not None and self.running:
            self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it now."""
        if self._process is not None and self.running:
            self._process.kill()
            self._process.wait()

    # ------------------------------------------------------------ death and restart
    def bury(self, progress: int) -> None:
        """The process has died: decide what follows. ``progress``: any figure that grows with useful work.

        Raises what the child failed of when a restart cannot help (:class:`BackendUnavailable`, :class:`PluginError`,
        …) and :class:`CamgError` with its last words when it died too often without progress.
        """
        status, pid = self.poll(), self.pid
        error = self.cell.last_error(pid) if pid is not None else None
        if error is not None and not isinstance(error, InfrastructureFault) and type(error) is not CamgError:
            raise error
        self._restarts = self._restarts + 1 if progress == self._progress else 1
        self._progress = progress
        self._process = None
        if self._restarts > (RESTARTS_KILLED if status == -signal.SIGKILL else RESTARTS):
            reason = error.message if error is not None else f"{_ended(status)}\n{self.last_words()}".rstrip()
            raise CamgError(
                f"The {self.label} died {self._restarts} times without getting any further. Its last error: {reason}",
                hint=f"See {self.cell.log(self.label)} and {self.cell.errors}; run again with --resume.",
            )
        self._due = time.monotonic() + min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (self._restarts - 1))

    def restart_if_due(self) -> bool:
        """Start again after the pause; True when it was."""
        if self._process is None and self._due and time.monotonic() >= self._due:
            self.start()
            return True
        return False

    def last_words(self) -> str:
        """The end of its log."""
        try:
            lines = self.cell.log(self.label).read_text(errors="replace").splitlines()
        except OSError:
            return ""
        return "\n".join(lines[-_LOG_LINES:])


def _ended(status: int | None) -> str:
    if status is not None and status < 0:
        return f"it was ended by signal {-status}"
    if status == ExitCode.OK:
        return "it left although it was not asked to"
    return f"it left with status {status}"


def child_environment() -> dict[str, str]:
    """One compute thread for each process, and no spinning at barriers (platform: Threads)."""
    environment = dict(os.environ)
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        environment.setdefault(name, "1")
    environment.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    environment.setdefault("TOKENIZERS_PARALLELISM", "false")
    environment["PYTHONUNBUFFERED"] = "1"
    return environment
