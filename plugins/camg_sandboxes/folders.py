"""Folders that end with their owner: each is labelled by a lock that its owner holds as long as it lives.

A lock, not a pid, says who is alive: pids come back, and mean nothing across containers that share a file system.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from camg.errors import BackendUnavailable


def root() -> Path:
    """This user's folder of folders, made if need be. Raises :class:`BackendUnavailable` if another user owns it.

    It lies in ``CAMG_RUNTIME_DIR``, or else where the system keeps what ends with it.
    """
    uid = os.getuid()
    # not /run/user/0 for root: nobody else may enter there, and root's boxes belong to nobody
    runtime = os.environ.get("CAMG_RUNTIME_DIR") or ("/run" if uid == 0 else os.environ.get("XDG_RUNTIME_DIR", ""))
    parent = runtime if runtime and os.access(runtime, os.W_OK) else tempfile.gettempdir()
    folder = Path(parent, f"camg-sandboxes-{uid}")
    folder.mkdir(mode=0o711, exist_ok=True)
    status = folder.lstat()
    if status.st_uid != uid or not stat.S_ISDIR(status.st_mode) or status.st_mode & 0o022:
        raise BackendUnavailable(
            f"{folder} is not a folder that only this user can write to",
            hint="Remove it, or set TMPDIR to another place.",
        )
    return folder


@contextmanager
def _all_locked(folder: Path) -> Iterator[None]:
    """Making and removing folders exclude each other across processes."""
    descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def make(kind: str) -> tuple[Path, int]:
    """A fresh folder ``KIND-…`` and the descriptor of its lock, held until every copy of the descriptor is closed."""
    parent = root()
    with _all_locked(parent):
        folder = Path(tempfile.mkdtemp(prefix=f"{kind}-", dir=parent))
        folder.chmod(0o711)
        descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    return folder, descriptor


def reconcile(kind: str, before: Callable[[Path], object] | None = None) -> int:
    """Remove the folders ``KIND-…`` of dead owners; ``before`` is called with each. Returns how many there were."""
    parent = root()
    removed = 0
    with _all_locked(parent):
        for folder in sorted(parent.glob(f"{kind}-*")):
            if not _owner_is_alive(folder):
                if before is not None:
                    before(folder)
                shutil.rmtree(folder, ignore_errors=True)
                removed += 1
    return removed


def _owner_is_alive(folder: Path) -> bool:
    try:
        descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)
