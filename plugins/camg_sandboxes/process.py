"""The sandbox without isolation: for machines where bwrap cannot run, and only on the user's word.

What it still enforces: wall and CPU time, output, file size, resident memory and processes (watched), and that
nothing which a command started outlives it. As root, each box runs under a user id of its own, so that the kernel
enforces its number of processes (root may have as many as the machine bears). What it does not enforce: no network,
the host's files and processes, the number of files, written bytes, read-only inputs.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from attrs import asdict, frozen

from camg.errors import BackendUnavailable, InfrastructureFault
from camg.specs import option
from camg.types import Limits, Workspace
from camg_sandboxes import folders, system
from camg_sandboxes.box import AgentBox, check_base, check_variables, kill
from camg_sandboxes.keeper import SLOTS, box_uid

KIND = "process"
_OPEN_SECONDS = 60.0
_slots: set[int] = set()  # of the open boxes of this process
_slots_lock = threading.Lock()


@frozen
class ProcessConfig:
    """Options of ``process``."""

    i_know_this_is_not_isolated: bool = option(False, "the policy may do to this machine whatever you may")


class ProcessSandbox:
    """A :class:`camg.protocols.Sandbox` of ordinary processes in folders of their own."""

    def __init__(self, config: ProcessConfig) -> None:
        self._config = config

    def open(
        self,
        label: str,
        *,
        limits: Limits,
        workspace: Workspace | None = None,
    ) -> AgentBox:
        """See :meth:`camg.protocols.Sandbox.open`. The workspace's base is copied; nothing is hidden from it.

        Raises :class:`BackendUnavailable` without the user's word, or for ``inputs``, which need a namespace.
        """
        start = workspace or Workspace()
        if not self._config.i_know_this_is_not_isolated:
            raise BackendUnavailable(
                "the sandbox `process` does not isolate: the policy's commands would run as you, on your files",
                hint="`camg doctor` says why bwrap cannot run here; "
                "pass --i-know-this-is-not-isolated to go on without isolation.",
            )
        if start.inputs:
            raise BackendUnavailable(
                f"the sandbox `process` cannot place inputs at {', '.join(start.inputs)}", hint="Use bwrap."
            )
        source, variables = check_base(start.base), check_variables(start.variables)
        folder, lock = folders.make(KIND)
        try:
            if source is None:
                (folder / "workspace").mkdir()
            else:
                shutil.copytree(source, folder / "workspace", symlinks=True)
            slot = _take_slot()
            try:
                return _start(label, folder, lock, limits, slot, variables)
            except BaseException:
                _slots.discard(slot)
                raise
        except BaseException as error:
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, OSError):
                raise InfrastructureFault(f"box {label} did not open: {error}") from error
            raise
        finally:
            os.close(lock)

    def reconcile(self) -> int:
        """Remove the folders of dead workers, and kill what still runs of their boxes; returns how many boxes."""
        return folders.reconcile(KIND, before=_kill_survivors)

    def close(self) -> None:
        """Nothing is shared between boxes."""


def _take_slot() -> int:
    """A number that no other open box of this process has. Raises :class:`InfrastructureFault`."""
    with _slots_lock:
        slot = next((slot for slot in range(SLOTS) if slot not in _slots), None)
        if slot is None:
            raise InfrastructureFault(f"one worker can hold {SLOTS} boxes, and all are open")
        _slots.add(slot)
        return slot


def _start(label: str, folder: Path, lock: int, limits: Limits, slot: int, extra: Mapping[str, str]) -> AgentBox:
    """Start the agent of a box, which holds the folder's lock from now on."""
    workspace = folder / "workspace"
    owner = (os.getuid(), os.getgid())
    if os.getuid() == 0:
        owner = (box_uid(slot), box_uid(slot))
        for path in (workspace, *workspace.rglob("*")):
            os.chown(path, *owner, follow_symlinks=False)
    variables = {**system.environment(str(workspace), os.environ.get("PATH", os.defpath)), **extra}
    variables["CAMG_BOX"] = folder.name  # by which reconcile() knows what is left of a box
    control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    descriptor = theirs.detach()
    try:
        process = subprocess.Popen(
            [
                *(*system.command("process_agent"), str(folder)),
                *(str(owner[0] if os.getuid() == 0 else -1), str(descriptor)),
                *system.limit_arguments(asdict(limits), counted_alone=os.getuid() == 0),
                *(f"{name}={value}" for name, value in variables.items()),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=workspace,
            env={"CAMG_BOX": folder.name},
            pass_fds=(descriptor, lock),
            start_new_session=True,
        )
    finally:
        os.close(descriptor)

    def after() -> None:
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)
        _slots.discard(slot)

    root = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    box = AgentBox(label, control, root, owner=owner, limits=limits, end=process.kill, after=after)
    try:
        box.greet(time.monotonic() + _OPEN_SECONDS)
    except BaseException:
        box.close()
        raise
    return box


def _kill_survivors(folder: Path) -> None:
    """Kill the processes that carry the box's mark in their environment."""
    mark = f"CAMG_BOX={folder.name}".encode()
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            with suppress(OSError):
                if mark in Path("/proc", entry, "environ").read_bytes().split(b"\0"):
                    kill(int(entry))


def probe() -> str | None:
    """Why ``process`` cannot run here, or None."""
    return None if os.access("/bin/bash", os.X_OK) else "there is no /bin/bash"
