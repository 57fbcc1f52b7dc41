"""Rebuild a queue's index from what is still on disk: the episode files and the learner's checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from attrs import frozen

from camg.errors import CorruptState
from camg.rollout.queue import Queue
from camg.rollout.schedule import Schedule


@frozen
class Rebuilt:
    """What a rebuild found. ``aside``: where the damaged index went."""

    used: int
    complete: int
    rerun: int
    damaged: int
    aside: Path | None

    def __str__(self) -> str:
        where = f" (the old one is {self.aside.name})" if self.aside else ""
        return (
            f"rebuilt the queue index{where}: {self.used} episodes used, {self.complete} complete, "
            f"{self.rerun} to run again, of which {self.damaged} had a damaged file"
        )


def rebuild(folder: Path, schedule: Schedule, used: Mapping[int, int], *, reruns: int) -> tuple[Queue, Rebuilt]:
    """Set a damaged index aside and make a new one.

    ``used``: episode -> update, from the checkpoint. Every id up to the last known one is in the schedule again: used,
    complete (its file is sound) or to be run again (what was faulted or in flight has left no trace).
    """
    aside = _set_aside(folder)
    queue = Queue(folder, reruns=reruns, create=True)
    known = max((-1, *queue.store.ids(), *used))
    groups = known // schedule.group_size + 1
    queue.enqueue(schedule.entries(0, groups * schedule.group_size))
    complete, damaged = [], 0
    for episode in queue.store.ids():
        if episode in used:
            continue
        try:
            queue.store.read(episode)
            complete.append(episode)
        except CorruptState:
            queue.store.set_aside(episode)
            damaged += 1
    queue.restore(complete, used)
    rerun = groups * schedule.group_size - len(complete) - len(used)
    return queue, Rebuilt(len(used), len(complete), rerun, damaged, aside)


def _set_aside(folder: Path) -> Path | None:
    index = folder / "queue.db"
    number = 1
    while (aside := folder / f"queue.db.damaged-{number}").exists():
        number += 1
    found = index.exists()
    for suffix in ("-wal", "-shm", ""):
        part = folder / f"queue.db{suffix}"
        if part.exists():
            part.replace(folder / f"{aside.name}{suffix}")
    return aside if found else None
