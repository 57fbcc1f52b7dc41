"""A system-call filter for boxes: what no namespace or limit covers.

Refused: memory that no process has resident and no limit counts (memfd, System V shared memory), keyrings (they
outlive a box), sockets of families that ignore network namespaces (vsock reaches a virtual machine's host), and kernel
interfaces that a shell has no use for and that have a long record of faults (bpf, io_uring, userfaultfd, perf).
Classic BPF over ``struct seccomp_data`` (seccomp(2)).
"""

from __future__ import annotations

import errno
import platform
from struct import pack

_ALLOW, _ERRNO = 0x7FFF_0000, 0x0005_0000
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCH, _FIRST_ARGUMENT = 0, 4, 16
_X32 = 0x4000_0000
_FAMILIES = (1, 2, 10, 16)  # unix, inet, inet6, netlink: all bound to the network namespace

# name: (x86_64, aarch64); the newer calls have one number everywhere
_REFUSED = {
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "kexec_load": (246, 104),
    "open_by_handle_at": (304, 265),
}
_MACHINES = {"x86_64": (0, 0xC000_003E, 41), "aarch64": (1, 0xC000_00B7, 198)}  # column, audit arch, socket(2)


def program(machine: str | None = None) -> bytes | None:
    """The compiled filter for ``machine`` (default: this one), or None where the numbers are not known."""
    known = _MACHINES.get(machine or platform.machine())
    if known is None:
        return None
    column, arch, socket_number = known
    numbers = [pair[column] for pair in _REFUSED.values()]
    refuse = _ERRNO | errno.ENOSYS
    code = [
        _op(_LOAD, _ARCH),
        _op(_EQUAL, arch, 1, 0),
        _op(_RETURN, refuse),  # 32-bit calls on a 64-bit machine have other numbers
        _op(_LOAD, _NUMBER),
        _op(_AT_LEAST, _X32, 0, 1),
        _op(_RETURN, refuse),
    ]
    for number in numbers:
        code += [_op(_EQUAL, number, 0, 1), _op(_RETURN, refuse)]
    code += [_op(_EQUAL, socket_number, 1, 0), _op(_RETURN, _ALLOW), _op(_LOAD, _FIRST_ARGUMENT)]
    for family in _FAMILIES:
        code += [_op(_EQUAL, family, 0, 1), _op(_RETURN, _ALLOW)]
    code.append(_op(_RETURN, _ERRNO | errno.EAFNOSUPPORT))
    return b"".join(code)


def _op(code: int, operand: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return pack("HBBI", code, if_true, if_false, operand)
