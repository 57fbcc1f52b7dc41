"""The keeper: one small process beside each worker that starts its boxes and outlives it just long enough to clean up.

Why a process of its own: a worker has many threads and gigabytes of memory, so it must not fork; and bwrap's
die-with-parent follows the *thread* that started it. The keeper has one thread and a few megabytes. When the worker
dies, however it dies, the keeper ends every box and removes its folder; when the keeper dies, the kernel ends the
boxes. It sees no site packages and no environment (:func:`camg_sandboxes.system.command`).

Wire: one SOCK_SEQPACKET socket. The worker sends a JSON request and the box's end of a new socket pair;
whatever there is to say about that box goes over that pair. The keeper holds its copy of that end until the box's
last process was reaped, so end of file there means that nothing is left.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass

from camg_sandboxes.launch import ERROR, Request, launch
from camg_sandboxes.system import System, receive

READY = b"ready"
REQUEST_BYTES = 160 << 10
SLOTS = 256  # boxes of one keeper
_FIRST_UID = 1 << 30  # + pid * SLOTS + slot < 2**31: no two living boxes share a host uid
_ERROR_BYTES = 4096


@dataclass
class Running:
    """A box as the keeper sees it."""

    request: Request
    slot: int
    pid: int
    handle: int  # pidfd
    errors: int  # read end of bwrap's stderr
    control: socket.socket


class Keeper:
    """Serves one worker until that worker is gone."""

    def __init__(self, system: System, control: socket.socket, worker: int) -> None:
        self.system = system
        self.control = control
        self.worker = os.pidfd_open(worker)
        self.boxes: dict[int, Running] = {}  # by pidfd
        self.poller = select.poll()
        for descriptor in (control.fileno(), self.worker):
            self.poller.register(descriptor, select.POLLIN)

    def serve(self) -> None:
        """Start and reap boxes; returns when the worker closed its end or died."""
        while True:
            for descriptor, _ in self.poller.poll():
                if descriptor in self.boxes:
                    self.reap(self.boxes[descriptor])
                elif descriptor == self.worker or not self.receive():
                    return

    def receive(self) -> bool:
        """One request: open a box, or end one. False at end of file."""
        try:
            data, descriptors = receive(self.control, REQUEST_BYTES)
        except ConnectionResetError:
            return False
        if not data:
            return False
        message = json.loads(data)
        if "end" in message:
            for box in self.boxes.values():
                if box.request.id == message["end"]:
                    os.kill(box.pid, signal.SIGKILL)
            return True
        control = socket.socket(fileno=descriptors[0])
        try:
            self.open(Request(**message), control)
        except OSError as error:
            control.send(ERROR + str(error).encode())
            control.close()
        return True

    def open(self, request: Request, control: socket.socket) -> None:
        """Fork the child that becomes the box."""
        taken = {box.slot for box in self.boxes.values()}
        slot = next((slot for slot in range(SLOTS) if slot not in taken), None)
        if slot is None:
            raise OSError(f"one worker can hold {SLOTS} boxes, and all are open")
        owner = box_uid(slot) if os.getuid() == 0 else None
        errors_read, errors_write = os.pipe2(os.O_CLOEXEC)
        pid = os.fork()
        if pid == 0:
            launch(request, self.system, control, errors_write, owner)
        os.close(errors_write)
        os.set_blocking(errors_read, False)
        handle = os.pidfd_open(pid)
        self.boxes[handle] = Running(request, slot, pid, handle, errors_read, control)
        self.poller.register(handle, select.POLLIN)

    def reap(self, box: Running) -> None:
        """The box's last process has ended: say so, and forget it."""
        self.poller.unregister(box.handle)
        del self.boxes[box.handle]
        os.waitpid(box.pid, 0)
        with suppress(OSError):
            said = os.read(box.errors, _ERROR_BYTES)
            box.control.setblocking(False)
            if said:
                box.control.send(ERROR + said)
        os.close(box.errors)
        os.close(box.handle)
        box.control.close()

    def end_all(self) -> None:
        """Kill every box and wait for it."""
        for box in self.boxes.values():
            os.kill(box.pid, signal.SIGKILL)
        for box in list(self.boxes.values()):
            self.reap(box)


def box_uid(slot: int) -> int:
    """A host uid that no other living box has; inside a container with few uids, the best that its map allows."""
    wanted = _FIRST_UID + os.getpid() * SLOTS + slot
    with open("/proc/self/uid_map", encoding="ascii") as table:
        extents = [tuple(map(int, line.split())) for line in table]
    if any(first <= wanted < first + count for first, _, count in extents):
        return wanted
    first, _, count = max(extents, key=lambda extent: extent[2])
    if count < 4 * SLOTS:
        raise OSError("this container maps too few user ids for boxes of their own")
    return first + count // 2 + wanted % (count // 4)


def main(arguments: list[str]) -> None:
    """``keeper FOLDER LOCK CONTROL BWRAP WORKER``: a path, two descriptors, a path, a pid.

    ``FOLDER`` is removed at the end; until then we hold its ``LOCK``.
    """
    folder, bwrap = arguments[0], arguments[3]
    lock, descriptor, worker = int(arguments[1]), int(arguments[2]), int(arguments[4])
    for inherited in (lock, descriptor):
        os.set_inheritable(inherited, False)
    control = socket.socket(fileno=descriptor)
    keeper = None
    try:
        system = System(folder, bwrap)
        system.write()
        keeper = Keeper(system, control, worker)
        control.send(READY)
        keeper.serve()
    except Exception as error:
        with suppress(OSError):
            control.send(ERROR + f"{type(error).__name__}: {error}".encode())
    finally:
        if keeper is not None:
            keeper.end_all()
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(0)


__all__ = ["READY", "SLOTS", "Keeper", "box_uid", "main"]
