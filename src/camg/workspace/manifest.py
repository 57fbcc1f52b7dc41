"""Snapshots of ``.agent_memory``: what there was before a response, and after it.

Taken twice a turn, over a tree that the policy made: no link is followed, only regular files are opened, and every
entry that cannot be seen clearly (it vanished, it cannot be read, it lies too deep) still gets a state or is left out,
never an exception.
"""

from __future__ import annotations

import hashlib
import os
import stat

from camg.types import FileState, Manifest

FOLDER = ".agent_memory"
HASHED_BYTES = 4 << 20  # a larger file is no memory: its state has its size and no hash
DEPTH = 64  # folders within folders; what lies deeper is seen as "other"

_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def scan(root: int, folder: str = FOLDER, *, hashed_bytes: int = HASHED_BYTES) -> Manifest:
    """The state of every path below ``folder`` of the workspace whose root is the folder descriptor ``root``.

    Keys are relative to ``folder``, ``/``-separated; names that are not UTF-8 have surrogate escapes (PEP 383), which
    pass through JSON. An absent folder is an empty manifest. If ``folder`` itself is not a folder (a link, a file),
    the manifest has one entry, ``"."``, of that kind: memory is not regular then. ``sha256`` is empty for what is not
    a regular file, cannot be read, or has more than ``hashed_bytes`` bytes.
    """
    found: dict[str, FileState] = {}
    try:
        descriptor = os.open(folder, _OPEN_FOLDER, dir_fd=root)
    except FileNotFoundError:
        return found
    except OSError:
        return _itself(root, folder, hashed_bytes)
    try:
        _scan_folder(descriptor, "", DEPTH, hashed_bytes, found)
    finally:
        os.close(descriptor)
    return found


def _itself(root: int, folder: str, hashed_bytes: int) -> Manifest:
    try:
        status = os.stat(folder, dir_fd=root, follow_symlinks=False)
    except OSError:
        return {}
    return {".": _state(root, folder, status, hashed_bytes)}


def _scan_folder(descriptor: int, prefix: str, depth: int, hashed_bytes: int, found: dict[str, FileState]) -> None:
    """Add everything below one open folder. Holds one descriptor a level."""
    try:
        names = sorted(os.listdir(descriptor))
    except OSError:
        return
    for name in names:
        try:
            status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
        except OSError:
            continue  # gone since it was listed
        path = prefix + name
        found[path] = _state(descriptor, name, status, hashed_bytes)
        if stat.S_ISDIR(status.st_mode):
            try:
                if depth == 0:
                    raise OSError("too deep")
                below = os.open(name, _OPEN_FOLDER, dir_fd=descriptor)
            except OSError:
                found[path] = FileState(kind="other", links=status.st_nlink)
                continue
            try:
                _scan_folder(below, path + "/", depth - 1, hashed_bytes, found)
            finally:
                os.close(below)


def _state(folder: int, name: str, status: os.stat_result, hashed_bytes: int) -> FileState:
    """The state of one entry from its ``lstat``; a regular file is opened and judged by what was opened."""
    if stat.S_ISREG(status.st_mode):
        return _file_state(folder, name, status, hashed_bytes)
    if stat.S_ISDIR(status.st_mode):
        return FileState(kind="directory")
    return FileState(kind="symlink" if stat.S_ISLNK(status.st_mode) else "other", links=status.st_nlink)


def _file_state(folder: int, name: str, status: os.stat_result, hashed_bytes: int) -> FileState:
    unread = FileState(kind="file", size=status.st_size, links=status.st_nlink)
    if status.st_size > hashed_bytes:
        return unread
    try:
        descriptor = os.open(name, _OPEN_FILE, dir_fd=folder)
    except OSError:
        return unread
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return FileState(kind="other", links=status.st_nlink)
        digest = hashlib.sha256()
        size = 0
        while size <= hashed_bytes:  # a file that grows while we read it has an end all the same
            part = os.read(descriptor, 1 << 16)
            if not part:
                return FileState(kind="file", size=size, sha256=digest.hexdigest(), links=status.st_nlink)
            digest.update(part)
            size += len(part)
        return FileState(kind="file", size=size, links=status.st_nlink)
    except OSError:
        return unread
    finally:
        os.close(descriptor)
