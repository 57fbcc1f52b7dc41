"""The durable queue between rollout and learner (paper B.3).

An SQLite index says where every episode of the schedule stands; the episodes themselves lie beside it, one file each.

    dispatched -> claimed -> complete -> used
        ^            |          |  ^       |
        |            v          v  +-------+   resume from a checkpoint that does not hold that update
        +------- fault, loss   dropped
                     |
                     v
                  faulted (its group: dropped)

Only ``used`` episodes have trained the policy; the learner's checkpoint, not this index, has the last word on them.
"""

from __future__ import annotations

import enum
import sqlite3
import time
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from camg.errors import CorruptState
from camg.rollout.database import Database
from camg.rollout.owner import Owner
from camg.rollout.store import EpisodeStore
from camg.types import Dispatch, Episode

LOSSES = 10  # an episode that was lost with its worker so often is taken for the cause
_OUTSTANDING = "state IN ('dispatched', 'claimed', 'complete')"


class State(enum.StrEnum):
    """Where an episode of the schedule stands."""

    DISPATCHED = "dispatched"  # waits for a worker
    CLAIMED = "claimed"  # runs in a worker
    COMPLETE = "complete"  # waits for the learner
    USED = "used"  # was in an update
    FAULTED = "faulted"  # the infrastructure failed it too often; left out
    DROPPED = "dropped"  # a member of a faulted group; left out


@frozen
class Outage:
    """Faults in a row, with no completed episode between them. ``seconds`` since the first."""

    faults: int
    seconds: float
    error: str


class Queue:
    """The queue of one folder: ``queue.db`` and ``episodes/``. Safe for many threads and processes."""

    def __init__(self, folder: Path, *, reruns: int = 2, create: bool = False, evaluating: bool = False) -> None:
        """``reruns``: how often a faulted episode is tried again. ``evaluating``: its episodes are no training.

        Raises :class:`CorruptState` when the index is missing (without ``create``), truncated or damaged.
        """
        if create:
            folder.mkdir(parents=True, exist_ok=True)
        self._database = Database(folder / "queue.db", create=create)
        self.store = EpisodeStore(folder / "episodes")
        self.folder = folder
        self.evaluating = evaluating
        self._reruns = reruns

    # ------------------------------------------------------------ dispatching
    def enqueue(self, dispatches: Iterable[Dispatch]) -> None:
        """Make dispatches claimable; ids that are there already are left as they are."""
        rows = [(d.id, d.group, d.env, d.task, d.seed, State.DISPATCHED) for d in dispatches]
        with self._database.change() as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO episodes (id, grp, env, task, seed, state) VALUES (?, ?, ?, ?, ?, ?)", rows
            )

    def next_id(self) -> int:
        """The first id that was never enqueued."""
        return _int(self._database.read("SELECT coalesce(max(id) + 1, 0) FROM episodes"))

    def dispatch(self, episode: int) -> Dispatch | None:
        """What an id was dispatched as; None when it was not."""
        rows: list[Any] = self._database.read("SELECT id, grp, env, task, seed FROM episodes WHERE id = ?", episode)
        return Dispatch(*rows[0]) if rows else None

    def outstanding(self) -> int:
        """How many episodes were dispatched and neither used nor left out."""
        return _int(self._database.read(f"SELECT count(*) FROM episodes WHERE {_OUTSTANDING}"))

    def waiting(self) -> int:
        """How many episodes are yet to end."""
        return _int(self._database.read("SELECT count(*) FROM episodes WHERE state IN ('dispatched', 'claimed')"))

    # ------------------------------------------------------------ the worker's side
    def claim(self, owner: Owner) -> Dispatch | None:
        """Take the earliest dispatched episode, or None. Two workers never get the same one."""
        find = "SELECT id, grp, env, task, seed FROM episodes WHERE state = 'dispatched' ORDER BY id LIMIT 1"
        if not self._database.read(find):  # a read takes no lock: an idle worker disturbs nobody
            return None
        with self._database.change() as connection:
            row = connection.execute(find).fetchone()
            if row is None:
                return None
            connection.execute(
                "UPDATE episodes SET state = 'claimed', label = ?, pid = ?, started = ? WHERE id = ?",
                (owner.label, owner.pid, owner.started, row[0]),
            )
        return Dispatch(*row)

    def complete(self, owner: Owner, episode: Episode) -> bool:
        """Hand in a finished episode. False when the claim was lost meanwhile (it is then someone else's).

        Raises :class:`BackendUnavailable` when the disk is full; the claim stays.
        """
        staged = self.store.stage(episode)
        try:
            with self._database.change() as connection:
                if not _holds(connection, owner, episode.id):
                    return False
                staged.replace(self.store.path(episode.id))
                _finish(connection, episode.id)
        finally:
            staged.unlink(missing_ok=True)
        return True

    def fault(self, owner: Owner, episode: int, error: str) -> bool:
        """The infrastructure failed an episode. True when it will run again.

        After the last rerun it is left out with its whole group, so that nothing ever waits for it.
        """
        with self._database.change() as connection:
            if not _holds(connection, owner, episode):
                return False
            return self._fault(connection, episode, error)

    def _fault(self, connection: sqlite3.Connection, episode: int, error: str) -> bool:
        attempts, group = connection.execute("SELECT attempts, grp FROM episodes WHERE id = ?", (episode,)).fetchone()
        again = bool(attempts < self._reruns)
        connection.execute(
            "UPDATE episodes SET state = ?, attempts = attempts + 1, error = ?, label = NULL WHERE id = ?",
            (State.DISPATCHED if again else State.FAULTED, error, episode),
        )
        if not again:
            connection.execute(
                f"UPDATE episodes SET state = 'dropped' WHERE grp = ? AND id <> ? AND {_OUTSTANDING}", (group, episode)
            )
        connection.execute("INSERT OR IGNORE INTO meta VALUES ('outage_since', ?)", (time.time(),))
        connection.execute(
            "INSERT INTO meta VALUES ('outage_faults', 1) ON CONFLICT (key) DO UPDATE SET value = value + 1"
        )
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('outage_error', ?)", (error,))
        return again

    def release(self, owner: Owner) -> int:
        """Give back everything that ``owner`` holds, unblamed (a drain); returns how many."""
        with self._database.change() as connection:
            return connection.execute(
                "UPDATE episodes SET state = 'dispatched', label = NULL"
                " WHERE state = 'claimed' AND pid = ? AND started = ?",
                (owner.pid, owner.started),
            ).rowcount

    def release_dead(self) -> int:
        """Give back what dead workers held; returns how many.

        An episode whose file was already in place counts as complete. One that was lost over and over is taken for
        the cause, and faulted.
        """
        held = self._database.read("SELECT DISTINCT label, pid, started FROM episodes WHERE state = 'claimed'")
        dead = [owner for owner in (Owner(*row) for row in held) if not owner.alive]  # type: ignore[arg-type]
        return sum(self._release_dead(owner) for owner in dead)

    def _release_dead(self, owner: Owner) -> int:
        with self._database.change() as connection:
            rows = connection.execute(
                "SELECT id, losses FROM episodes WHERE state = 'claimed' AND pid = ? AND started = ?",
                (owner.pid, owner.started),
            ).fetchall()
            for episode, losses in rows:
                if self._readable(episode):
                    _finish(connection, episode)
                elif losses + 1 >= LOSSES:
                    self._fault(connection, episode, f"its worker died {losses + 1} times while it ran")
                else:
                    connection.execute(
                        "UPDATE episodes SET state = 'dispatched', losses = losses + 1, label = NULL WHERE id = ?",
                        (episode,),
                    )
        return len(rows)

    def _readable(self, episode: int) -> bool:
        if not self.store.has(episode):
            return False
        try:
            self.store.read(episode)
        except CorruptState:
            self.store.set_aside(episode)
            return False
        return True

    # ------------------------------------------------------------ the learner's side
    def ready(self) -> int:
        """How many complete episodes stand in wholly complete groups."""
        return len(self._complete(-1))

    def take(self, count: int) -> list[Episode] | None:
        """The ``count`` earliest dispatched complete episodes, whole groups only; None until so many are there.

        They stay ``complete`` until :meth:`mark_used`. A damaged file is set aside and its episode runs again.
        """
        ids = self._complete(count)
        if len(ids) < count:
            return None
        episodes, damaged = [], []
        for episode in ids:
            try:
                episodes.append(self.store.read(episode))
            except CorruptState:
                damaged.append(episode)
        for episode in damaged:
            self.rerun(episode)
        return None if damaged else episodes

    def rerun(self, episode: int) -> None:
        """Set a complete episode's damaged file aside and let it run again."""
        self.store.set_aside(episode)
        with self._database.change() as connection:
            connection.execute(
                "UPDATE episodes SET state = 'dispatched', finished = NULL WHERE id = ? AND state = 'complete'",
                (episode,),
            )
            connection.execute(
                "INSERT INTO meta VALUES ('damaged', 1) ON CONFLICT (key) DO UPDATE SET value = value + 1"
            )

    def _complete(self, count: int) -> list[int]:
        rows = self._database.read(
            "SELECT id FROM episodes WHERE state = 'complete' AND grp NOT IN"
            " (SELECT grp FROM episodes WHERE state IN ('dispatched', 'claimed')) ORDER BY id LIMIT ?",
            count,
        )
        return [_int([row]) for row in rows]

    def mark_used(self, episodes: Collection[int], update: int) -> None:
        """These episodes are in a checkpoint now, as part of ``update``."""
        with self._database.change() as connection:
            connection.executemany(
                "UPDATE episodes SET state = 'used', used = ? WHERE id = ?", [(update, episode) for episode in episodes]
            )

    def reconcile(self, used: Mapping[int, int]) -> tuple[int, int]:
        """Make the index agree with a checkpoint (``used``: episode -> update), the truth about what was used.

        Returns how many became used and how many became complete again.
        """
        with self._database.change() as connection:
            rows = connection.execute("SELECT id, state FROM episodes WHERE state IN ('used', 'complete')").fetchall()
            marked = [(used[episode], episode) for episode, state in rows if episode in used and state != State.USED]
            undone = [(episode,) for episode, state in rows if episode not in used and state == State.USED]
            connection.executemany("UPDATE episodes SET state = 'used', used = ? WHERE id = ?", marked)
            connection.executemany("UPDATE episodes SET state = 'complete', used = NULL WHERE id = ?", undone)
        return len(marked), len(undone)

    def restore(self, complete: Collection[int], used: Mapping[int, int]) -> None:
        """Say of enqueued episodes that they are complete or used (a rebuild from their files and a checkpoint)."""
        with self._database.change() as connection:
            for episode in complete:
                _finish(connection, episode)
            connection.executemany(
                "UPDATE episodes SET state = 'used', used = ? WHERE id = ?", [(u, e) for e, u in used.items()]
            )

    # ------------------------------------------------------------ looking on
    def counts(self) -> dict[State, int]:
        """How many episodes stand where."""
        found = _pairs(self._database.read("SELECT state, count(*) FROM episodes GROUP BY state"))
        return {state: int(found.get(state.value, 0)) for state in State}

    def states(self) -> dict[int, State]:
        """Where each episode stands."""
        return {_int([row]): State(str(row[1])) for row in self._database.read("SELECT id, state FROM episodes")}

    def finished_after(self, sequence: int) -> list[tuple[int, int]]:
        """(sequence, id) of episodes that were completed after ``sequence``, in the order of completion."""
        rows = self._database.read(
            "SELECT finished, id FROM episodes WHERE finished > ? AND state IN ('complete', 'used') ORDER BY finished",
            sequence,
        )
        return [(_int([row]), _int([row[1:]])) for row in rows]

    def faults(self) -> dict[int, str]:
        """The faulted episodes and their last error."""
        rows = self._database.read("SELECT id, error FROM episodes WHERE state = 'faulted' ORDER BY id")
        return {_int([row]): str(row[1]) for row in rows}

    def outage(self) -> Outage | None:
        """The faults since the last completed episode, or None when there were none."""
        found = _pairs(self._database.read("SELECT key, value FROM meta WHERE key LIKE 'outage%'"))
        if not found:
            return None
        seconds = max(0.0, time.time() - found["outage_since"])
        return Outage(int(found["outage_faults"]), seconds, str(found["outage_error"]))

    def damaged(self) -> int:
        """How many episode files were found damaged and set aside."""
        rows = self._database.read("SELECT value FROM meta WHERE key = 'damaged'")
        return _int(rows) if rows else 0

    def close(self) -> None:
        self._database.close()


def _holds(connection: sqlite3.Connection, owner: Owner, episode: int) -> bool:
    row = connection.execute("SELECT state, pid, started FROM episodes WHERE id = ?", (episode,)).fetchone()
    return row is not None and tuple(row) == (State.CLAIMED, owner.pid, owner.started)


def _finish(connection: sqlite3.Connection, episode: int) -> None:
    connection.execute(
        "UPDATE episodes SET state = 'complete', label = NULL,"
        " finished = (SELECT coalesce(max(finished), 0) + 1 FROM episodes) WHERE id = ?",
        (episode,),
    )
    connection.execute("DELETE FROM meta WHERE key LIKE 'outage%'")


def _pairs(rows: list[tuple[object, ...]]) -> dict[Any, Any]:
    return {row[0]: row[1] for row in rows}


def _int(rows: list[tuple[object, ...]]) -> int:
    return int(rows[0][0])  # type: ignore[call-overload, no-any-return]
