"""What an episode changed in its workspace: the tree as it is now against the tree that it started as.

The tree belongs to the policy and may hold anything; the base is ours. As everywhere in this package no link is
followed, and only regular files are opened. Times and inode numbers are not trusted: contents are compared.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from camg.types import Change
from camg.workspace.manifest import DEPTH

Skip = Callable[[str], bool]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CHUNK = 1 << 18


def changes(root: int, base: Path, limit: int, skip: Skip = lambda path: False) -> Mapping[str, Change]:
    """How the tree below the folder descriptor ``root`` differs from the tree ``base``: relative path -> change.

    Folders count only by what is in them. ``skip``: paths (of folders or files) that are not looked at. A file whose
    content would make the whole longer than ``limit`` bytes has kind ``"large"`` and no data. Names that are not
    UTF-8 have surrogate escapes (PEP 383). Raises ``OSError`` if the base cannot be read.
    """
    comparison = _Comparison(limit, skip)
    origin = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        comparison.folder(root, origin, "", DEPTH)
    finally:
        os.close(origin)
    return dict(sorted(comparison.found.items()))


class _Comparison:
    def __init__(self, limit: int, skip: Skip) -> None:
        self.found: dict[str, Change] = {}
        self._left = limit
        self._skip = skip

    def folder(self, now: int | None, before: int | None, prefix: str, depth: int) -> None:
        """Compare two open folders; None: that side has none here."""
        old, new = _entries(before), _entries(now)
        for name in sorted(old.keys() | new.keys()):
            path = prefix + name
            if not self._skip(path):
                self._entry(name, path, (now, new.get(name)), (before, old.get(name)), depth)

    def _entry(
        self,
        name: str,
        path: str,
        now: tuple[int | None, os.stat_result | None],
        before: tuple[int | None, os.stat_result | None],
        depth: int,
    ) -> None:
        new, old = now[1], before[1]
        folders = [status is not None and stat.S_ISDIR(status.st_mode) for status in (new, old)]
        if any(folders):
            self._descend(name, path, now[0] if folders[0] else None, before[0] if folders[1] else None, depth)
        if new is not None and not folders[0]:
            self._leaf(name, path, now, before)
        elif old is not None and not folders[1]:
            self.found[path] = Change("removed")

    def _descend(self, name: str, path: str, now: int | None, before: int | None, depth: int) -> None:
        opened = []
        for parent in (now, before):
            descriptor = None
            if parent is not None and depth > 0:
                with suppress(OSError):  # locked by its owner, or replaced meanwhile: seen as empty
                    descriptor = os.open(name, _FOLDER, dir_fd=parent)
            opened.append(descriptor)
        try:
            self.folder(opened[0], opened[1], path + "/", depth - 1)
        finally:
            for descriptor in opened:
                if descriptor is not None:
                    os.close(descriptor)

    def _leaf(
        self,
        name: str,
        path: str,
        now: tuple[int | None, os.stat_result | None],
        before: tuple[int | None, os.stat_result | None],
    ) -> None:
        (here, new), (there, old) = now, before
        if here is None or new is None:
            return
        if stat.S_ISLNK(new.st_mode):
            same = old is not None and stat.S_ISLNK(old.st_mode) and _target(name, here) == _target(name, there)
            if not same:
                self.found[path] = Change("symlink")
            return
        if not stat.S_ISREG(new.st_mode):
            self.found[path] = Change("other")
            return
        executable = bool(new.st_mode & stat.S_IXUSR)
        regular = old is not None and stat.S_ISREG(old.st_mode)
        if regular and old is not None and there is not None:
            same_mode = executable == bool(old.st_mode & stat.S_IXUSR)
            if same_mode and new.st_size == old.st_size and _same(name, here, there):
                return
        self.found[path] = self._file(name, here, executable)

    def _file(self, name: str, folder: int, executable: bool) -> Change:
        try:
            data = _read(name, folder, self._left + 1)
        except OSError:
            return Change("other")  # not readable by its owner's will: it cannot be part of a submission
        if len(data) > self._left:
            return Change("large", executable=executable)
        self._left -= len(data)
        return Change("file", data, executable)


def _entries(folder: int | None) -> dict[str, os.stat_result]:
    found: dict[str, os.stat_result] = {}
    if folder is None:
        return found
    try:
        names = os.listdir(folder)
    except OSError:
        return found
    for name in names:
        with suppress(OSError):  # gone since it was listed
            found[name] = os.stat(name, dir_fd=folder, follow_symlinks=False)
    return found


def _target(name: str, folder: int | None) -> str | None:
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError:
        return None


def _same(name: str, one: int, other: int) -> bool:
    """Have two regular files of the same size the same content?"""
    try:
        first = os.open(name, _FILE, dir_fd=one)
    except OSError:
        return False
    try:
        second = os.open(name, _FILE, dir_fd=other)
        try:
            while True:
                a, b = os.read(first, _CHUNK), os.read(second, _CHUNK)
                if a != b:
                    return False
                if not a:
                    return True
        finally:
            os.close(second)
    finally:
        os.close(first)


def _read(name: str, folder: int, limit: int) -> bytes:
    """At most ``limit`` bytes. Raises ``OSError``."""
    descriptor = os.open(name, _FILE, dir_fd=folder)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("not a regular file")
        parts, left = [], limit
        while left > 0 and (part := os.read(descriptor, min(left, _CHUNK))):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)
