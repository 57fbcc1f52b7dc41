"""Slots: many episodes in flight in one process, each in a thread, each with a deadline."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from attrs import define, field

from camg.errors import InfrastructureFault

Job = TypeVar("Job", bound=Hashable)
Result = TypeVar("Result")


@define(eq=False)
class _Slot(Generic[Job]):
    job: Job
    started: float
    thread: threading.Thread = field(init=False)


class Pool(Generic[Job, Result]):
    """Runs jobs in ``slots`` threads and hands each result, or the exception, to ``done`` exactly once.

    A job that passes the deadline is evicted: its slot is free again at once, ``done`` gets an
    :class:`InfrastructureFault` with the stack where it hangs, and what its thread may still return is discarded.
    An exception of ``done`` itself (a full disk) is kept for :meth:`check`; it takes no other job down.
    """

    def __init__(
        self,
        slots: int,
        run: Callable[[Job], Result],
        done: Callable[[Job, Result | Exception], None],
        *,
        deadline: float,
    ) -> None:
        self._slots = slots
        self._run = run
        self._done = done
        self._deadline = deadline
        self._changed = threading.Condition()
        self._running: dict[Job, _Slot[Job]] = {}
        self._finishing = 0  # results on their way through ``done``
        self._evicted: list[threading.Thread] = []
        self._error: Exception | None = None

    @property
    def free(self) -> int:
        """Slots that can take a job now."""
        with self._changed:
            return self._slots - len(self._running)

    @property
    def busy(self) -> bool:
        """Is any job running, or its result being handed over?"""
        with self._changed:
            return bool(self._running) or self._finishing > 0

    @property
    def stuck(self) -> int:
        """Threads of evicted jobs that still hang; a process cannot end them."""
        self._evicted = [thread for thread in self._evicted if thread.is_alive()]
        return len(self._evicted)

    def submit(self, job: Job) -> None:
        """Start a job in a free slot."""
        slot = _Slot(job, time.monotonic())
        slot.thread = threading.Thread(target=self._work, args=(slot,), name=f"episode {job}", daemon=True)
        with self._changed:
            self._running[job] = slot
        slot.thread.start()

    def _work(self, slot: _Slot[Job]) -> None:
        result: Result | Exception
        try:
            result = self._run(slot.job)
        except Exception as error:
            result = error
        self._finish(slot, result)

    def _finish(self, slot: _Slot[Job], result: Result | Exception) -> None:
        with self._changed:
            if self._running.get(slot.job) is not slot:
                return  # evicted meanwhile, or finished while it was being evicted
            del self._running[slot.job]
            self._finishing += 1
        try:
            self._done(slot.job, result)
        except Exception as error:
            self._error = self._error or error
        finally:
            with self._changed:
                self._finishing -= 1
                self._changed.notify_all()

    def evict(self) -> int:
        """Give up the jobs that are past their deadline; returns how many."""
        now = time.monotonic()
        with self._changed:
            late = [slot for slot in self._running.values() if now - slot.started > self._deadline]
        for slot in late:
            self._evicted.append(slot.thread)
            self._finish(slot, InfrastructureFault(f"Passed its deadline of {self._deadline:g} s; {_stack(slot)}"))
        return len(late)

    def abandon(self) -> list[Job]:
        """Forget everything that runs (its results are discarded); returns what it was."""
        with self._changed:
            jobs = list(self._running)
            self._evicted.extend(slot.thread for slot in self._running.values())
            self._running.clear()
        return jobs

    def wait(self, seconds: float) -> None:
        """Until a job ends, at most ``seconds``."""
        with self._changed:
            self._changed.wait(seconds)

    def check(self) -> None:
        """Raise what ``done`` raised."""
        if self._error is not None:
            raise self._error


def _stack(slot: _Slot[Job]) -> str:
    frame = sys._current_frames().get(slot.thread.ident or 0)
    if frame is None:
        return "its thread has ended"
    return "it hangs at:\n" + "".join(traceback.format_stack(frame)[-6:]).rstrip()
