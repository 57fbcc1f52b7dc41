"""The SQLite file under the queue: opened safely, its errors named after what a person can do."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from camg.errors import BackendUnavailable, CorruptState

FORMAT = 1
BUSY_SECONDS = 30.0

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE episodes (
    id INTEGER PRIMARY KEY, grp INTEGER NOT NULL, env TEXT NOT NULL, task TEXT NOT NULL, seed INTEGER NOT NULL,
    state TEXT NOT NULL, label TEXT, pid INTEGER, started INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0, losses INTEGER NOT NULL DEFAULT 0,
    used INTEGER, error TEXT, finished INTEGER
);
CREATE INDEX by_state ON episodes (state, id);
CREATE INDEX by_group ON episodes (grp);
CREATE INDEX by_finished ON episodes (finished) WHERE finished IS NOT NULL;
"""


class Database:
    """One connection, shared by the threads of a process; processes are kept apart by SQLite's own locks."""

    def __init__(self, path: Path, *, create: bool) -> None:
        """Raises :class:`CorruptState` when ``path`` is missing, truncated or not a queue (unless ``create``)."""
        self.path = path
        self._lock = threading.RLock()
        fresh = not path.exists()
        if fresh and not create:
            raise self._corrupt("it does not exist")
        with self._translated():
            self._connection = sqlite3.connect(
                path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
        try:
            self._prepare(fresh)
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self, fresh: bool) -> None:
        with self._translated():
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=NORMAL")  # with WAL: safe against kill -9 and power loss
            if fresh:
                self._connection.executescript(
                    f"BEGIN IMMEDIATE; {_SCHEMA} INSERT INTO meta VALUES ('format', {FORMAT}); COMMIT;"
                )
            faults = self._connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            tables = self._connection.execute("SELECT count(*) FROM sqlite_master WHERE type='table'").fetchone()[0]
            if faults != "ok" or tables == 0:
                raise self._corrupt("it is empty or truncated" if tables == 0 else str(faults).splitlines()[0])
            found = self._connection.execute("SELECT value FROM meta WHERE key='format'").fetchone()
        if found is None or found[0] != FORMAT:
            raise self._corrupt(f"expected format {FORMAT}, got {found and found[0]}")

    def _corrupt(self, reason: object) -> CorruptState:
        return CorruptState(
            f"The queue index {self.path} cannot be read: {reason}.",
            hint="Run again with --resume: the index is rebuilt from episodes/ and the last checkpoint.",
        )

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
                raise BackendUnavailable(
                    f"Could not write the queue index {self.path}: {error}.",
                    hint="Nothing was lost. Free some space or mend the disk, then run again with --resume.",
                ) from error
            if code == sqlite3.SQLITE_BUSY:
                raise BackendUnavailable(
                    f"The queue index {self.path} stayed locked for {BUSY_SECONDS:.0f} s.",
                    hint="Is another process (a backup, a debugger) holding it? Then run again with --resume.",
                ) from error
            raise self._corrupt(error) from error

    def read(self, query: str, *values: object) -> list[tuple[object, ...]]:
        """All rows of one query."""
        with self._lock, self._translated():
            return self._connection.execute(query, values).fetchall()

    @contextmanager
    def change(self) -> Iterator[sqlite3.Connection]:
        """One write transaction: whole, or not at all when the body raises."""
        with self._lock, self._translated():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:  # a full disk has rolled back by itself
                    self._connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        with self._lock:
            self._connection.close()
