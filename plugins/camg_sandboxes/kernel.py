"""The few system calls that Python does not offer: mounts, namespaces, owner-mapped mounts."""

from __future__ import annotations

import ctypes
import os

CLONE_NEWNS, CLONE_NEWUSER = 0x0002_0000, 0x1000_0000
MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 32, 4096, 16384, 1 << 18

_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442  # one number on every architecture
_AT_FDCWD, _AT_EMPTY_PATH = -100, 0x1000
_OPEN_TREE_CLONE, _MOVE_MOUNT_F_EMPTY_PATH, _MOUNT_ATTR_IDMAP = 1, 4, 0x0010_0000

_libc = ctypes.CDLL(None, use_errno=True)


class _MountAttr(ctypes.Structure):
    _fields_ = (
        ("attr_set", ctypes.c_uint64),
        ("attr_clr", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("userns_fd", ctypes.c_uint64),
    )


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    """mount(2). Raises ``OSError`` naming the mount."""
    code = _libc.mount(
        os.fsencode(source),
        os.fsencode(target),
        kind.encode() if kind else None,
        ctypes.c_ulong(flags),
        os.fsencode(data) if data else None,
    )
    _check(code, f"mount {kind or 'bind'} {source} on {target}")


def unshare(flags: int) -> None:
    """unshare(2). Raises ``OSError``."""
    _check(_libc.unshare(flags), "unshare")


def owner_mapping(owner: tuple[int, int], shown: tuple[int, int]) -> int:
    """A descriptor of a user namespace that maps uid and gid ``owner`` to ``shown``; needs root. Raises ``OSError``."""
    ready_read, ready_write = os.pipe2(os.O_CLOEXEC)
    done_read, done_write = os.pipe2(os.O_CLOEXEC)
    child = os.fork()
    if child == 0:
        os.close(done_write)
        failed = _libc.unshare(CLONE_NEWUSER)
        os.write(ready_write, b"!" if failed else b".")
        os.read(done_read, 1)
        os._exit(0)
    try:
        os.close(done_read)
        if os.read(ready_read, 1) != b".":
            raise OSError("user namespaces are not available")
        for name, before, after in (("uid_map", owner[0], shown[0]), ("gid_map", owner[1], shown[1])):
            with open(f"/proc/{child}/{name}", "w") as table:
                table.write(f"{before} {after} 1")
        return os.open(f"/proc/{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        for descriptor in (done_write, ready_read, ready_write):
            os.close(descriptor)
        os.waitpid(child, 0)


def bind_mapped(source: str, target: str, shown: tuple[int, int]) -> None:
    """Bind ``source`` on ``target`` so that its owner's files belong to ``shown``; the disk is unchanged.

    Needs root and a kernel and filesystem with id-mapped mounts (Linux 5.12 and later). Raises ``OSError``.
    """
    status = os.stat(source)
    mapping = owner_mapping((status.st_uid, status.st_gid), shown)
    try:
        flags = _OPEN_TREE_CLONE | os.O_CLOEXEC
        tree = _check(_libc.syscall(_OPEN_TREE, _AT_FDCWD, os.fsencode(source), flags), f"open_tree {source}")
        try:
            change = _MountAttr(_MOUNT_ATTR_IDMAP, 0, 0, mapping)
            size = ctypes.c_size_t(ctypes.sizeof(change))
            code = _libc.syscall(_MOUNT_SETATTR, tree, b"", _AT_EMPTY_PATH, ctypes.byref(change), size)
            _check(code, f"map owners of {source}")
            code = _libc.syscall(_MOVE_MOUNT, tree, b"", _AT_FDCWD, os.fsencode(target), _MOVE_MOUNT_F_EMPTY_PATH)
            _check(code, f"mount {source} on {target}")
        finally:
            os.close(tree)
    finally:
        os.close(mapping)
