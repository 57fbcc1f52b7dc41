"""What runs inside the box: a parent that holds the nonce, and a child in which the project's code may do anything.

This file runs by itself (``python -s -S harness.py FOLDER``), before any package can be imported. ``FOLDER`` holds
``job`` (a literal, see :mod:`camg_coding.grading.suite`) and ``nonce``; both are gone before the child may start. The
parent imports nothing of the project, cannot be traced or read by the child (it is not dumpable), and alone can write
where the worker reads.

The child writes one line for each event, which the parent passes on unread::

    t OUTCOME ID     a test (or a file that could not be collected); ID with unicode_escape
    x REASON         something that it relies on was tampered with
    e STATUS         the end, with pytest's exit status

At the end the parent writes the tail of the child's output and one line: ``NONCE WAIT-STATUS NOTE ENCODING DATA``.
"""

from __future__ import annotations

import _signal
import os
import select
import sys

TYPE_CHECKING = False  # as typing has it, which takes milliseconds to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

CHUNK = 1 << 16
TAIL = 32 << 10  # bytes of the child's output that are passed on
FLOOD = 64 << 20  # bytes after which the child is killed
PLAIN = 1 << 16  # bytes of events that are passed on without compression
_PR_SET_DUMPABLE = 4


def dumpable(value: int) -> None:
    """prctl(2): may others of this user read and trace this process?"""
    try:  # without the start-up time of ctypes where the interpreter allows it
        import _ctypes

        address = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")  # type: ignore[arg-type]
        _ctypes.call_function(address, (_PR_SET_DUMPABLE, value, 0, 0, 0))
    except (ImportError, AttributeError):
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, value, 0, 0, 0)


def slurp(path: str) -> str:
    """The text of a file."""
    with open(path, encoding="utf-8") as file:
        return file.read()


def child(job: dict[str, Any], events: int, output: int, gate: int) -> None:
    """Run the job. ``gate`` opens when the parent has taken the nonce away."""
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    os.close(output)
    os.close(null)
    os.read(gate, 1)
    os.close(gate)
    dumpable(1)
    status = load(job)(job, events)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            continue
    os._exit(status)  # no atexit function has a say


def load(job: dict[str, Any]) -> Callable[[dict[str, Any], int], int]:
    """Set up ``sys.path`` without the project, execute the worker's modules; returns ``main`` of the last one."""
    if job["site"]:  # the interpreter's own packages, but neither .pth files nor sitecustomize
        import site

        sys.path += [path for path in site.getsitepackages() if os.path.isdir(path)]
    sys.path[:0] = job["packages"]
    for name, source in job["modules"]:
        module = sys.modules[name] = type(sys)(name)
        exec(compile(source, f"<{name}>", "exec"), vars(module))
    main: Callable[[dict[str, Any], int], int] = module.main
    return main


class Pipe:
    """What came through one descriptor: all of it, or its tail."""

    def __init__(self, descriptor: int, keep: int) -> None:
        self.descriptor, self.keep = descriptor, keep
        self.data, self.total, self.open = bytearray(), 0, True
        os.set_blocking(descriptor, False)

    def drain(self) -> None:
        """Read what is there; stop at a flood."""
        while self.open and self.total < FLOOD:
            try:
                chunk = os.read(self.descriptor, CHUNK)
            except BlockingIOError:
                return
            self.open = bool(chunk)
            self.total += len(chunk)
            self.data += chunk
            if self.keep:
                del self.data[: -self.keep]


def follow(pid: int, pipes: tuple[Pipe, Pipe], wake: int) -> tuple[int, str]:
    """Until the child ends: (wait status, note). Its descendants may hold the pipes open longer."""
    poller = select.poll()
    poller.register(wake, select.POLLIN)
    for pipe in pipes:
        poller.register(pipe.descriptor, select.POLLIN)
    note = "-"
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        for pipe in pipes:
            was_open = pipe.open
            pipe.drain()
            if was_open and not pipe.open:
                poller.unregister(pipe.descriptor)
        if ended:
            return status, note
        if note == "-" and any(pipe.total >= FLOOD for pipe in pipes):
            note = "flood"
            os.kill(pid, _signal.SIGKILL)
            ended, status = os.waitpid(pid, 0)
            return status, note
        for descriptor, _ in poller.poll(1000):
            if descriptor == wake:
                os.read(wake, 4096)


def main(folder: str) -> int:
    """Returns the child's exit status (128 + n when signal n ended it)."""
    job = eval(slurp(folder + "/job"), {})  # written by the worker
    job["root"] = os.getcwd()
    job["roots"] = [os.path.normpath(os.path.join(os.getcwd(), root)) for root in job["roots"]]
    dumpable(0)
    events, output, gate, wake = (os.pipe() for _ in range(4))
    for descriptor in wake:
        os.set_blocking(descriptor, False)
    _signal.signal(_signal.SIGCHLD, lambda number, frame: None)
    pid = os.fork()
    if pid == 0:
        _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
        for descriptor in (events[0], output[0], gate[1], *wake):
            os.close(descriptor)
        try:
            child(job, events[1], output[1], gate[0])
        finally:
            os._exit(70)
    _signal.set_wakeup_fd(wake[1], warn_on_full_buffer=False)
    nonce = slurp(folder + "/nonce")
    for name in os.listdir(folder):
        os.unlink(folder + "/" + name)
    os.rmdir(folder)
    for descriptor in (events[1], output[1], gate[0]):
        os.close(descriptor)
    os.write(gate[1], b"1")
    pipes = Pipe(events[0], 0), Pipe(output[0], TAIL)
    status, note = follow(pid, pipes, wake[0])
    deliver(nonce, status, note, bytes(pipes[0].data), bytes(pipes[1].data))
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code


def deliver(nonce: str, status: int, note: str, events: bytes, tail: bytes) -> None:
    """Write the tail and the record."""
    import binascii

    encoding = "base64"
    if len(events) > PLAIN:
        import zlib

        encoding, events = "zlib", zlib.compress(events)
    data = binascii.b2a_base64(events, newline=False)
    record = memoryview(tail + b"\n" + f"{nonce} {status} {note} {encoding} ".encode() + data + b"\n")
    while record:
        record = record[os.write(1, record) :]


if __name__ == "__main__":
    sys.path.pop(0)
    code = main(sys.argv[1])
    os._exit(code)
