"""Files of a workspace by the descriptor of its root: no link is ever followed, no path leaves the tree.

The tree belongs to the policy. Whatever it holds (links in place of folders, pipes, sockets, devices), these
functions either act on a regular file inside it or raise ``OSError``.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # O_NONBLOCK: opening a pipe must not hang
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def read_file(root: int, path: str, limit: int) -> bytes:
    """At most ``limit`` bytes of the regular file ``path`` below the folder descriptor ``root``. Raises ``OSError``."""
    folder, name = _parent(root, path)
    try:
        descriptor = os.open(name, _READ, dir_fd=folder)
    finally:
        os.close(folder)
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        parts: list[bytes] = []
        while limit > 0:
            part = file.read(min(limit, 1 << 20))
            if not part:
                break
            parts.append(part)
            limit -= len(part)
    return b"".join(parts)


def write_file(root: int, path: str, data: bytes, *, owner: tuple[int, int] | None = None) -> None:
    """Place ``data`` as the regular file ``path`` below ``root``, whole or not at all; parents are made.

    What stood there is replaced, not written into: a link is replaced by a file, another name of the same file keeps
    its content. The mode of a replaced regular file stays. ``owner``: uid and gid of what is made. Raises ``OSError``.
    """
    folder, name = _parent(root, path, make=True, owner=owner)
    beside = f".{secrets.token_hex(8)}.part"
    try:
        mode = _mode_of(folder, name)
        descriptor = os.open(beside, _CREATE, 0o600, dir_fd=folder)
        try:
            with os.fdopen(descriptor, "wb", buffering=0) as file:
                view = memoryview(data)
                while view:
                    view = view[file.write(view) :]
                _give(descriptor, owner)
                os.fchmod(descriptor, mode)
            os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            os.unlink(beside, dir_fd=folder)
            raise
    finally:
        os.close(folder)


def remove(root: int, path: str) -> None:
    """Remove ``path`` below ``root``: a file, a link (never what it points to) or a whole folder.

    Raises ``OSError``; ``FileNotFoundError`` if nothing is there. What of a folder could be removed before an error
    is gone.
    """
    folder, name = _parent(root, path)
    try:
        if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            shutil.rmtree(name, dir_fd=folder)  # resists links that appear meanwhile, where descriptors exist
        else:
            os.unlink(name, dir_fd=folder)
    finally:
        os.close(folder)


def _parent(root: int, path: str, *, make: bool = False, owner: tuple[int, int] | None = None) -> tuple[int, str]:
    """A descriptor of the folder that holds ``path`` (the caller closes it), and the last name."""
    names = [name for name in path.split("/") if name not in ("", ".")]
    if path.startswith("/") or ".." in names or not names or "\0" in path or path.endswith("/"):
        raise OSError(errno.EINVAL, "expected a relative path of a file inside the workspace", path)
    folder = os.open(".", _FOLDER, dir_fd=root)
    try:
        for name in names[:-1]:
            try:
                below = os.open(name, _FOLDER, dir_fd=folder)
            except FileNotFoundError:
                if not make:
                    raise
                os.mkdir(name, 0o755, dir_fd=folder)
                below = os.open(name, _FOLDER, dir_fd=folder)
                _give(below, owner)
            os.close(folder)
            folder = below
    except BaseException:
        os.close(folder)
        raise
    return folder, names[-1]


def _mode_of(folder: int, name: str) -> int:
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return 0o644
    return stat.S_IMODE(status.st_mode) & 0o777 if stat.S_ISREG(status.st_mode) else 0o644


def _give(descriptor: int, owner: tuple[int, int] | None) -> None:
    """As root: hand a new file to the workspace's user."""
    if owner is not None and os.geteuid() == 0:
        os.fchown(descriptor, *owner)
