"""The agent of a box: the process that starts each command and ends everything that the command started.

In a ``bwrap`` box it is PID 1 of the box's pid namespace: no signal from inside can kill or stop it, it is not
dumpable (so no process of the box can trace it or open its ``/proc`` entries), and every descriptor that it holds is
closed on exec. :mod:`camg_sandboxes.process_agent` runs the same agent without a namespace.

This file runs by itself (``python -I -S``), before any package can be imported, and starts in a few milliseconds:
hence the plain C modules instead of ``socket``, ``signal`` and ``ctypes``.

Wire, on one SOCK_SEQPACKET socket: the worker sends :data:`REQUEST` + command; the agent answers with
:data:`REPLY` and the read end of the pipe that will carry the *next* command's output (made here, so that its owner is
the box's user and ``/dev/stderr`` can be opened again). ``b"K"`` ends the running command; end of file ends the box.
"""

from __future__ import annotations

import _signal
import _socket
import os
import resource
import select
import sys
import time
from struct import Struct

REQUEST = Struct("<cd")  # b"R", wall seconds; the command's bytes follow
REPLY = Struct("<ciId")  # b"H" (ready) or b"D" (done), wait status (errno if not started), flags, seconds
MESSAGE_BYTES = 160 << 10
STOP = b"K"

TIMED_OUT = 1
MEMORY = 2
PROCESSES = 4
STOPPED = 8
NOT_STARTED = 16

TICK = 0.025  # seconds between looks at memory and processes
_OPEN_FILES = 4096  # of one process
_PAGE = resource.getpagesize()
_SOCKET = 416 << 10  # what one may hold in the kernel unread, which no process's memory shows
_PR_SET_DUMPABLE = 4
_RESET = (_signal.SIGINT, _signal.SIGPIPE, _signal.SIGXFSZ, _signal.SIGCHLD)  # Python changes these


class Process:
    """One line of the census: parent pid, threads, resident bytes (shared pages included)."""

    __slots__ = ("parent", "pid", "resident", "threads")

    def __init__(self, pid: int, stat: bytes) -> None:
        fields = stat.rpartition(b")")[2].split()  # the name may hold spaces and parentheses
        self.pid = pid
        self.parent = int(fields[1])
        self.threads = int(fields[17])
        self.resident = int(fields[21]) * _PAGE


def processes() -> list[Process]:
    """Every process that ``/proc`` shows; one that ends meanwhile is left out."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            stat = _slurp(f"/proc/{name}/stat")
            if stat:
                found.append(Process(int(name), stat))
    return found


def own_memory(pid: int, proportional: bool) -> int:
    """Resident bytes of ``pid`` that are no file's (anonymous, shared); ``proportional`` divides shared pages."""
    names = (b"Pss_Anon:", b"Pss_Shmem:") if proportional else (b"RssAnon:", b"RssShmem:")
    text = _slurp(f"/proc/{pid}/smaps_rollup" if proportional else f"/proc/{pid}/status")
    total = sum(int(line.split()[1]) for line in text.splitlines() if line.startswith(names)) * 1024
    return total if total or not proportional else own_memory(pid, False)  # not dumpable: no smaps


def _slurp(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(descriptor, 1 << 16)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


class Crowd:
    """Whoever a box's commands may have started."""

    def members(self) -> list[Process]:
        """Everyone who is alive, but for the agent."""
        me = os.getpid()
        return [process for process in processes() if process.pid != me]

    def socket_memory(self) -> int:
        """The most that their sockets can hold: all of this network namespace are theirs."""
        words = _slurp("/proc/self/net/sockstat").split(None, 3)  # "sockets: used 12"
        return int(words[2]) * _SOCKET if len(words) > 2 else 0

    def end(self, main: int | None, status: int) -> int:
        """Kill and reap everyone; the wait status of ``main`` if it is reaped here, else ``status``.

        One ``kill(-1)`` of a namespace's PID 1 is atomic against fork: the kernel holds the task list meanwhile.
        """
        try:  # noqa: SIM105  (contextlib would double the start-up time)
            os.kill(-1, _signal.SIGKILL)
        except ProcessLookupError:
            pass
        while True:
            try:
                pid, ended = os.waitpid(-1, 0)
            except ChildProcessError:
                return status
            if pid == main:
                status = ended


class Gone(Exception):
    """The worker closed its end (or died)."""


class Agent:
    """Serves one box until the worker closes it."""

    def __init__(self, crowd: Crowd, arguments: Arguments) -> None:
        self.crowd = crowd
        self.limit_processes = arguments.processes
        self.limit_memory = arguments.memory
        self.environment = arguments.environment
        self.cpu = (arguments.cpu, arguments.cpu + 1)  # SIGXCPU, and a second later SIGKILL
        self.bound: set[int] = set()  # processes of the running command that have this limit
        self.control = _socket.socket(fileno=arguments.control)
        self.wake_read, self.wake_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        _signal.signal(_signal.SIGCHLD, lambda number, frame: None)
        _signal.set_wakeup_fd(self.wake_write, warn_on_full_buffer=False)
        self.poller = select.poll()
        self.poller.register(self.wake_read, select.POLLIN)
        self.poller.register(self.control.fileno(), select.POLLIN)
        self.output = -1

    def serve(self) -> None:
        """Answer requests until the other end closes; then nothing of the box is left but this process."""
        try:
            self.answer(b"H", 0, 0, 0.0)
            while True:
                message = self.control.recv(MESSAGE_BYTES)
                if not message:
                    return
                kind, wall = REQUEST.unpack_from(message.ljust(REQUEST.size, b"\0"))
                if kind == b"R":
                    self.run(message[REQUEST.size :], wall)
        except (Gone, BrokenPipeError, ConnectionResetError):
            return
        finally:
            self.crowd.end(None, 0)

    def answer(self, kind: bytes, status: int, flags: int, seconds: float) -> None:
        """Reply, with the read end of a fresh pipe for the next command."""
        read, self.output = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(read, False)  # the write end is another open file and stays blocking
        rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, Struct("i").pack(read))]
        self.control.sendmsg([REPLY.pack(kind, status, flags, seconds)], rights)
        os.close(read)

    def run(self, command: bytes, wall: float) -> None:
        """One command, from start to the last of its processes."""
        started = time.monotonic()
        try:
            main = os.posix_spawn(
                "/bin/bash",
                [b"bash", b"-c", command],
                self.environment,
                file_actions=[(os.POSIX_SPAWN_DUP2, self.output, 1), (os.POSIX_SPAWN_DUP2, self.output, 2)],
                setpgroup=0,
                setsigdef=_RESET,
            )
        except OSError as error:
            os.close(self.output)
            self.answer(b"D", error.errno or 1, NOT_STARTED, 0.0)
            return
        os.close(self.output)
        self.bound.clear()
        self.bind(main)
        flags, status = self.watch(main, started + wall)
        status = self.crowd.end(main, status)
        self.answer(b"D", status, flags, time.monotonic() - started)

    def bind(self, pid: int) -> None:
        """Limit the CPU time of a process (and of what it starts from now on).

        Not inherited from us, as the other limits are: this process, too, would die of it in a long episode. What a
        command starts before its own limit is set gets it at the next census.
        """
        self.bound.add(pid)
        try:  # noqa: SIM105
            resource.prlimit(pid, resource.RLIMIT_CPU, self.cpu)
        except (ProcessLookupError, PermissionError):
            pass  # ended meanwhile

    def watch(self, main: int, deadline: float) -> tuple[int, int]:
        """Wait for ``main``, the deadline, a broken limit or the worker's word: (flags, wait status if known)."""
        census = time.monotonic() + TICK
        while True:
            now = time.monotonic()
            if now >= deadline:
                return TIMED_OUT, _signal.SIGKILL
            if now >= census:
                broken = self.broken_limit()
                if broken:
                    return broken, _signal.SIGKILL
                census = time.monotonic() + TICK
            ready = self.poller.poll(max(1, int(1000 * (min(deadline, census) - now)) + 1))
            for descriptor, _ in ready:
                if descriptor != self.wake_read:
                    if not self.control.recv(MESSAGE_BYTES):
                        raise Gone
                    return STOPPED, _signal.SIGKILL
                os.read(self.wake_read, 4096)
            status = self.reap(main)
            if status is not None:
                return 0, status

    @staticmethod
    def reap(main: int) -> int | None:
        """Reap orphans as they end (a zombie counts as a process); the wait status of ``main`` if it ended."""
        found = None
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return found
            if pid == 0:
                return found
            if pid == main:
                found = status

    def broken_limit(self) -> int:
        """MEMORY or PROCESSES if the box is past that limit, else 0; cheap figures first."""
        alive = self.crowd.members()
        for process in alive:
            if process.pid not in self.bound:
                self.bind(process.pid)
        if sum(process.threads for process in alive) > self.limit_processes:
            return PROCESSES
        left = self.limit_memory - self.crowd.socket_memory()
        if sum(process.resident for process in alive) <= left:
            return 0
        for proportional in (False, True):
            if sum(own_memory(process.pid, proportional) for process in alive) <= left:
                return 0
        return MEMORY


def prctl(option: int, value: int) -> None:
    """prctl(2) without the start-up time of ``ctypes``, where this interpreter's ``_ctypes`` allows it."""
    try:
        import _ctypes

        address = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")  # type: ignore[arg-type]
        result = _ctypes.call_function(address, (option, value, 0, 0, 0))
    except (ImportError, AttributeError):
        import ctypes

        result = ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
    if result != 0:
        raise OSError(f"prctl({option}) failed")


class Arguments:
    """``FOLDER OWNER CONTROL PROCESSES CEILING MEMORY FILE_BYTES CPU ENVIRONMENT...``, started in the workspace.

    ``FOLDER`` and ``OWNER`` are of a ``process`` box (see :mod:`camg_sandboxes.process_agent`). ``CONTROL``: descriptor
    of the socket. ``CEILING``: RLIMIT_NPROC.
    """

    def __init__(self, arguments: list[str]) -> None:
        self.folder = arguments[0]
        numbers = [int(argument) for argument in arguments[1:8]]
        self.owner, self.control, self.processes, self.ceiling = numbers[:4]
        self.memory, self.file_bytes, self.cpu = numbers[4:]
        self.environment = dict(item.split("=", 1) for item in arguments[8:])


def prepare(arguments: Arguments) -> None:
    """What every agent does before it serves: descriptors, signals, and the limits that its children inherit."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:
            try:  # noqa: SIM105
                os.set_inheritable(int(name), False)
            except OSError:
                pass  # the descriptor of the listing itself
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)  # the default is ignored for PID 1
    try:
        with open("/proc/self/oom_score_adj", "w") as adjust:
            adjust.write("900")  # should the machine run out, a box goes before the learner
    except OSError:
        pass
    null = os.open("/dev/null", os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)
    for kind, limit in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, arguments.file_bytes),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
        (resource.RLIMIT_NPROC, arguments.ceiling),
    ):
        most = resource.getrlimit(kind)[1]
        limit = limit if most == resource.RLIM_INFINITY else min(limit, most)
        resource.setrlimit(kind, (limit, limit))


if __name__ == "__main__":
    given = Arguments(sys.argv[1:])
    prepare(given)
    prctl(_PR_SET_DUMPABLE, 0)
    Agent(Crowd(), given).serve()
    os._exit(0)
