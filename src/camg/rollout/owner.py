"""Who holds something: a process, told apart from a later one that was given the same number."""

from __future__ import annotations

import os
from pathlib import Path

from attrs import frozen


@frozen
class Owner:
    """A process. ``started``: its start in clock ticks since boot (field 22 of ``/proc/PID/stat``)."""

    label: str
    pid: int
    started: int

    @classmethod
    def me(cls, label: str) -> Owner:
        """This process."""
        return cls(label, os.getpid(), start_time(os.getpid()))

    @property
    def alive(self) -> bool:
        """Whether that very process still runs (a zombie does not)."""
        return self.started != 0 and start_time(self.pid) == self.started


def start_time(pid: int) -> int:
    """Start of a running process in clock ticks since boot; 0 when there is none (or only a zombie)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return 0
    fields = stat[stat.rindex(b")") + 2 :].split()  # the name before may hold spaces and brackets
    return 0 if fields[0] in (b"Z", b"X") else int(fields[19])
