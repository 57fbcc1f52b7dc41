"""The worker's side of a box: commands through its agent, files through the descriptor of its workspace."""

from __future__ import annotations

import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from attrs import define

from camg.errors import InfrastructureFault
from camg.types import Change, CommandResult, Limits, Manifest
from camg.workspace.changes import changes
from camg.workspace.manifest import scan
from camg.workspace.shell import command_fault, encode_command
from camg.workspace.tree import read_file, remove, write_file
from camg_sandboxes import agent
from camg_sandboxes.system import receive

_CHUNK = 1 << 18
_REPLY_BYTES = 8192
_GRACE = 30.0  # seconds past its deadline until an agent that does not answer is given up
_FLOOD = 64 << 20  # bytes past the output limit at which a command is ended early
_NOTICES = {
    agent.MEMORY: "memory limit reached: all processes were killed",
    agent.PROCESSES: "process limit reached: all processes were killed",
    agent.STOPPED: "output far past its limit: all processes were killed",
}


@define
class _Output:
    """What a command wrote: the first ``limit`` bytes, and how many followed."""

    limit: int
    kept: bytearray
    dropped: int = 0

    def drain(self, descriptor: int) -> bool:
        """Read until the pipe is empty; False once it is closed."""
        while True:
            try:
                chunk = os.read(descriptor, _CHUNK)
            except BlockingIOError:
                return True
            if not chunk:
                return False
            room = self.limit - len(self.kept)
            self.kept += chunk[:room]
            self.dropped += max(0, len(chunk) - room)
            if self.dropped > _FLOOD:
                return True


class AgentBox:
    """A :class:`camg.protocols.Box` whose commands an agent runs. Safe to use from several threads, one at a time.

    ``control``: connected to the agent, which has said ``H``. ``workspace``: a folder descriptor, now owned by the box.
    ``owner``: uid and gid that placed files get. ``end``: called by :meth:`close` when the agent does not end by
    itself; ``after`` when all is over.
    """

    def __init__(
        self,
        label: str,
        control: socket.socket,
        workspace: int,
        *,
        owner: tuple[int, int],
        limits: Limits,
        end: Callable[[], object],
        after: Callable[[], object] = lambda: None,
    ) -> None:
        self._label = label
        self._control = control
        self._workspace = workspace
        self._owner = owner
        self._limits = limits
        self._end = end
        self._after = after
        self._lock = threading.RLock()
        self._output = -1
        self._gone = ""
        self._closed = False

    def greet(self, deadline: float) -> None:
        """Wait for the agent until ``deadline`` (monotonic seconds). Raises :class:`InfrastructureFault`."""
        self._wait(deadline)
        self._reply()

    def run(self, command: str, *, wall_seconds: float | None = None) -> CommandResult:
        """See :meth:`camg.protocols.Box.run`."""
        fault = command_fault(command)
        if fault:
            return CommandResult(output=f"bash: {fault}\n".encode(), exit_status=126)
        wall = self._limits.wall_seconds if wall_seconds is None else wall_seconds
        with self._lock:
            self._require_open()
            output = _Output(self._limits.output_bytes, bytearray())
            try:
                self._control.send(agent.REQUEST.pack(b"R", wall) + encode_command(command))
            except OSError as error:
                raise self._lost(f"{error}") from error
            pipe, self._output = self._output, -1
            try:
                status, flags, seconds = self._follow(pipe, output, time.monotonic() + wall + _GRACE)
            except BaseException:  # Ctrl-C, too: the agent's answer to this command must not meet the next one
                self._gone = self._gone or f"box {self._label} is gone: a command was interrupted"
                raise
            finally:
                os.close(pipe)
        return _result(output, status, flags, seconds)

    def _follow(self, pipe: int, output: _Output, deadline: float) -> tuple[int, int, float]:
        """Collect output until the agent reports the end; (wait status, flags, seconds)."""
        poller = select.poll()
        control = self._control.fileno()
        poller.register(control, select.POLLIN)
        poller.register(pipe, select.POLLIN)
        stopped = False
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise self._lost("its agent does not answer")
            ready = dict(poller.poll(1000 * left))
            if control in ready:
                answer = self._reply()
                output.drain(pipe)  # every writer is dead: what the pipe still holds is all
                return answer
            if pipe in ready and not output.drain(pipe):
                poller.unregister(pipe)
            if output.dropped > _FLOOD and not stopped:
                stopped = True
                self._control.send(agent.STOP)

    def _reply(self) -> tuple[int, int, float]:
        """One message of the agent; keeps the pipe that it brings for the next command."""
        try:
            data, descriptors = receive(self._control, _REPLY_BYTES)
        except OSError as error:
            raise self._lost(str(error)) from error
        if len(data) != agent.REPLY.size or not descriptors:
            raise self._lost(data[1:].decode("utf-8", "replace").strip() or "its agent ended")
        self._output = descriptors[0]
        _, status, flags, seconds = agent.REPLY.unpack(data)
        return status, flags, seconds

    def manifest(self) -> Manifest:
        """See :meth:`camg.protocols.Box.manifest` and :func:`camg.workspace.manifest.scan`."""
        with self._lock:
            self._require_open()
            return scan(self._workspace)

    def read(self, path: str, limit: int) -> bytes:
        """See :meth:`camg.protocols.Box.read`."""
        with self._lock:
            self._require_open()
            return read_file(self._workspace, path, limit)

    def write(self, path: str, data: bytes) -> None:
        """See :meth:`camg.protocols.Box.write`."""
        with self._lock:
            self._require_open()
            write_file(self._workspace, path, data, owner=self._owner)

    def remove(self, path: str) -> None:
        """See :meth:`camg.protocols.Box.remove`."""
        with self._lock:
            self._require_open()
            remove(self._workspace, path)

    def changes(self, base: Path, limit: int, skip: Callable[[str], bool]) -> Mapping[str, Change]:
        """See :meth:`camg.protocols.Box.changes`."""
        with self._lock:
            self._require_open()
            return changes(self._workspace, base, limit, skip)

    def close(self) -> None:
        """End the agent, and with it every process; returns when the last one is gone."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            for descriptor in (self._workspace, self._output):
                if descriptor >= 0:
                    os.close(descriptor)
            with suppress(OSError):
                self._control.shutdown(socket.SHUT_WR)  # the agent reads end of file, ends everything, and goes
            if not self._drained(5.0):
                self._end()
                self._drained(30.0)
            self._control.close()
            self._after()

    def _drained(self, seconds: float) -> bool:
        """Has the other end closed within ``seconds``?"""
        deadline = time.monotonic() + seconds
        while self._readable(deadline):
            try:
                data, descriptors = receive(self._control, _REPLY_BYTES)
            except OSError:
                return True
            for descriptor in descriptors:
                os.close(descriptor)
            if not data:
                return True
        return False

    def _readable(self, deadline: float) -> bool:
        poller = select.poll()
        poller.register(self._control, select.POLLIN)
        return bool(poller.poll(max(0.0, 1000 * (deadline - time.monotonic()))))

    def _wait(self, deadline: float) -> None:
        if not self._readable(deadline):
            raise self._lost("it did not start in time")

    def _require_open(self) -> None:
        if self._closed:
            raise InfrastructureFault(f"box {self._label} is closed")
        if self._gone:
            raise InfrastructureFault(self._gone)

    def _lost(self, why: str) -> InfrastructureFault:
        self._gone = f"box {self._label} is gone: {why}"
        return InfrastructureFault(self._gone)


def _result(output: _Output, status: int, flags: int, seconds: float) -> CommandResult:
    """Translate the agent's answer."""
    if flags & agent.NOT_STARTED:
        text = f"bash: {os.strerror(status)}\n".encode()
        return CommandResult(output=text, exit_status=126, notices=("the command could not be started",))
    timed_out = bool(flags & agent.TIMED_OUT)
    code = os.waitstatus_to_exitcode(status)
    return CommandResult(
        output=bytes(output.kept),
        exit_status=None if timed_out else 128 - code if code < 0 else code,
        timed_out=timed_out,
        dropped_bytes=output.dropped,
        notices=tuple(text for flag, text in _NOTICES.items() if flags & flag),
        seconds=seconds,
    )


def check_base(base: Path | None) -> str | None:
    """The absolute path of a base, or None. Raises :class:`InfrastructureFault` if it is no folder."""
    if base is None:
        return None
    if not base.is_dir():
        raise InfrastructureFault(f"the workspace's base {base} is not a folder")
    return os.path.realpath(base)


def check_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """Names and values that an environment can hold. Raises :class:`InfrastructureFault` for others."""
    for name, value in variables.items():
        if not name or "=" in name or "\0" in name + value:
            raise InfrastructureFault(f"Expected an environment variable of a box, got {name!r}={value!r}.")
    return dict(variables)


def kill(pid: int) -> None:
    """SIGKILL, whether or not ``pid`` is still there."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
