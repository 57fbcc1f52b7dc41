"""The agent of a ``process`` box: an ordinary process, and the subreaper of whatever its commands start.

It runs without site packages (:func:`camg_sandboxes.system.command`).
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress

from camg_sandboxes.agent import Agent, Arguments, Crowd, Process, prctl, prepare, processes

_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 36, 38


class Descendants(Crowd):
    """The tree below us; orphans come back to us, since we are their subreaper."""

    def members(self) -> list[Process]:
        children: dict[int, list[Process]] = {}
        for process in processes():
            children.setdefault(process.parent, []).append(process)
        found: list[Process] = []
        pending = [os.getpid()]
        while pending:
            below = children.get(pending.pop(), ())
            found += below
            pending += [process.pid for process in below]
        return found

    def socket_memory(self) -> int:
        """Not known: the network namespace is the host's."""
        return 0

    def end(self, main: int | None, status: int) -> int:
        """Stop until a census finds nobody new (who is stopped cannot fork), then kill; again until none is left."""
        while True:
            stopped: set[int] = set()
            while True:
                new = [process.pid for process in self.members() if process.pid not in stopped]
                if not new:
                    break
                stopped.update(new)
                _signal_all(new, signal.SIGSTOP)
            _signal_all(stopped, signal.SIGKILL)
            while True:
                try:
                    pid, ended = os.waitpid(-1, 0)
                except ChildProcessError:
                    return status
                if pid == main:
                    status = ended
                stopped.discard(pid)
                if not stopped:
                    break


class OwnUser(Descendants):
    """As before, under a user id that nobody else has: ``kill(-1)`` then reaches exactly them."""

    def end(self, main: int | None, status: int) -> int:
        return Crowd.end(self, main, status)


def _signal_all(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def main(argv: list[str]) -> None:
    """Serve one box in ``FOLDER``, then remove it as far as we may (the worker, or ``reconcile``, removes the rest).

    ``OWNER``: as root, the uid and gid to become first, which nobody else has; else -1.
    """
    arguments = Arguments(argv)
    prepare(arguments)
    prctl(_PR_SET_CHILD_SUBREAPER, 1)
    prctl(_PR_SET_NO_NEW_PRIVS, 1)
    owner = arguments.owner
    if owner >= 0:
        os.setgroups([])
        os.setresgid(owner, owner, owner)
        os.setresuid(owner, owner, owner)
    Agent(OwnUser() if owner >= 0 else Descendants(), arguments).serve()
    os.chdir("/")
    shutil.rmtree(arguments.folder, ignore_errors=True)
    sys.exit(0)
