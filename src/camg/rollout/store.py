"""Episodes on disk: one gzip JSON file each, whose CRC tells a damaged file."""

from __future__ import annotations

import errno
import gzip
import json
import os
import re
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path

from camg.episode.recording import from_json, to_json
from camg.errors import BackendUnavailable, CorruptState
from camg.types import Episode

_NAME = re.compile(r"(\d{8,})\.json\.gz")
_FULL = (errno.ENOSPC, errno.EDQUOT)


def disk_full(error: OSError, path: Path) -> BackendUnavailable | None:
    """The error to raise when ``error`` means that the disk is full, else None."""
    if error.errno not in _FULL:
        return None
    return BackendUnavailable(
        f"The disk is full: could not write {path}.", hint="Free some space, then run again with --resume."
    )


def stage(path: Path, data: bytes) -> Path:
    """Write ``data`` beside ``path``; ``replace`` the returned file to ``path`` to make it count.

    Raises :class:`BackendUnavailable` when the disk is full (nothing is left behind).
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        beside.write_bytes(data)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise disk_full(error, path) or error from None
    return beside


def write_beside(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path`` so that a reader sees all of it or what was there before.

    Raises :class:`BackendUnavailable` when the disk is full (the old content stays).
    """
    stage(path, data).replace(path)


class EpisodeStore:
    """The folder ``episodes/`` of a cell or an evaluation."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, episode: int) -> Path:
        """Where episode ``episode`` lies."""
        return self.folder / f"{episode:08d}.json.gz"

    def stage(self, episode: Episode) -> Path:
        """Write an episode beside its place. Raises :class:`BackendUnavailable` when the disk is full."""
        text = json.dumps(to_json(episode), separators=(",", ":"))
        # level 1: a tenth of the time of level 9 for a fifth more bytes; mtime 0: the same episode, the same file
        return stage(self.path(episode.id), gzip.compress(text.encode(), compresslevel=1, mtime=0))

    def write(self, episode: Episode) -> None:
        """Keep an episode. Raises :class:`BackendUnavailable` when the disk is full."""
        self.stage(episode).replace(self.path(episode.id))

    def read(self, episode: int) -> Episode:
        """Raises :class:`CorruptState` when the file is missing, damaged or another episode's."""
        path = self.path(episode)
        try:
            found = from_json(json.loads(gzip.decompress(path.read_bytes())))
        except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, AttributeError) as error:
            raise CorruptState(f"Episode file {path} cannot be read: {type(error).__name__}: {error}.") from error
        if found.id != episode:
            raise CorruptState(f"Episode file {path} holds episode {found.id}, expected {episode}.")
        return found

    def ids(self) -> Iterator[int]:
        """The episodes that have a file, in order (the files may be damaged)."""
        names = sorted(entry.name for entry in self.folder.iterdir())
        return (int(match[1]) for match in map(_NAME.fullmatch, names) if match)

    def has(self, episode: int) -> bool:
        return self.path(episode).exists()

    def set_aside(self, episode: int) -> Path | None:
        """Move a damaged file out of the way, into ``corrupt/``; None when there is none."""
        path = self.path(episode)
        aside = self.folder / "corrupt"
        aside.mkdir(exist_ok=True)
        target = aside / path.name
        number = 1
        while target.exists():
            target = aside / f"{path.name}.{number}"
            number += 1
        try:
            path.replace(target)
        except FileNotFoundError:
            return None
        return target
