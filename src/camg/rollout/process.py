"""Manners of a child process: it ends with its parent, and leaves in order when asked to."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from camg.errors import CamgError, ExitCode, Interrupted
from camg.rollout.cell import Cell

_PR_SET_PDEATHSIG = 1


def die_with(parent: int) -> None:
    """Let the kernel end this process (SIGKILL) as soon as ``parent``, which started it, is gone.

    SIGKILL, because a learner that lingered would write beside the one of a resumed run.
    """
    with contextlib.suppress(OSError, AttributeError):  # no prctl: the parent sends signals while it lives
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)  # the parent was gone before the line above


def stop_on_sigterm() -> threading.Event:
    """An event that SIGTERM sets. Ctrl-C is the parent's: it decides, and tells its children."""
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return stop


def child_main(body: Callable[[Cell, str, threading.Event], None], arguments: list[str]) -> int:
    """The frame of a child: ``CELL_DIR LABEL PARENT_PID``.

    Whatever escapes the body is written to ``errors.jsonl`` as fatal, where the parent finds it by pid.
    """
    directory, label, parent = arguments
    die_with(int(parent))
    stop = stop_on_sigterm()
    cell = Cell(Path(directory))
    try:
        body(cell, label, stop)
    except Interrupted:
        return ExitCode.INTERRUPTED
    except CamgError as error:
        cell.log_error(label, error, fatal=True)
        print(f"{label}: {error}", file=sys.stderr)
        return error.exit_code
    except Exception as error:
        cell.log_error(label, error, fatal=True)
        raise
    return ExitCode.OK


def leave(code: int) -> None:
    """End this process now: threads that hang in a foreign call must not keep it."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
