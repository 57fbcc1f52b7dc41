"""A machine with much other work, made on purpose: tests that measure time pass on an idle one and fail later."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator

from camg.errors import CamgError
from camg.protocols import Box, Boxes
from camg.types import Workspace

PER_CORE = 4
"""Endless loops beside the suite: it gets about a fifth of the time that it has alone."""

_SLICE = 0.5  # seconds between looks at whether to stop


@contextlib.contextmanager
def crowd(boxes: Boxes) -> Iterator[None]:
    """Keep every core busy while the context lasts. Raises :class:`InfrastructureFault`."""
    stop, box = threading.Event(), boxes(Workspace())
    thread = threading.Thread(target=_spin, args=(box, stop), daemon=True)
    thread.start()
    try:
        time.sleep(_SLICE / 2)  # until they run
        yield
    finally:
        stop.set()
        thread.join()
        box.close()


def _spin(box: Box, stop: threading.Event) -> None:
    loops = PER_CORE * (os.cpu_count() or 1)
    # a session for each: Linux may share the time out among sessions, not among processes
    command = f"for i in $(seq {loops}); do setsid timeout {_SLICE} sh -c 'while :; do :; done' & done; wait"
    with contextlib.suppress(CamgError):  # without a crowd the run is one more run
        while not stop.is_set():
            box.run(command, wall_seconds=30.0)
