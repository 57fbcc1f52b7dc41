"""Attempts upon a box's agent, its descriptors and the kernel, each a real attack with a check that it failed.

Runs as whoever runs the tests; ``test_sandbox_users.py`` runs it once more as an ordinary user.
"""

from __future__ import annotations

import textwrap

from camg.protocols import Box
from camg.types import CommandResult


def python(box: Box, source: str, wall_seconds: float | None = None) -> CommandResult:
    """Run a Python program inside ``box``."""
    return box.run(f"python3 - <<'EOF'\n{textwrap.dedent(source)}\nEOF", wall_seconds=wall_seconds)


def text(result: CommandResult) -> str:
    return result.output.decode("utf-8", "replace")


# ---------------------------------------------------------------- the agent
def test_the_agent_cannot_be_killed_or_stopped(box: Box) -> None:
    for number in (9, 19, 15, 1, 2, 3, 11, 17, 23):
        box.run(f"kill -{number} 1; kill -{number} -1; true")
    python(box, "import os, signal\nos.kill(1, signal.SIGKILL)\nfor _ in range(20000): os.kill(1, signal.SIGCHLD)")
    assert text(box.run("echo alive")) == "alive\n"


def test_the_agents_proc_entries_are_closed(box: Box) -> None:
    for name in ("mem", "environ", "maps", "fd/3", "fd/4", "root/etc/passwd", "cwd/x", "exe", "syscall", "stack"):
        assert box.run(f"cat /proc/1/{name}").exit_status != 0, name
    assert box.run("ls /proc/1/fd").exit_status != 0


def test_the_agent_cannot_be_traced_or_robbed_of_descriptors(box: Box) -> None:
    result = python(
        box,
        """
        import ctypes, os
        libc = ctypes.CDLL(None, use_errno=True)
        for request in (16, 0x4206):  # PTRACE_ATTACH, PTRACE_SEIZE
            print(libc.ptrace(request, 1, 0, 0), ctypes.get_errno())
        pidfd = os.pidfd_open(1)
        for number in range(10):
            print(libc.syscall(438, pidfd, number, 0), ctypes.get_errno())  # pidfd_getfd
        buffer = ctypes.create_string_buffer(8)
        vector = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 8)
        print(libc.process_vm_readv(1, vector, 1, vector, 1, 0), ctypes.get_errno())
        """,
    )
    lines = text(result).split("\n")[:-1]
    assert len(lines) == 13
    assert all(line.startswith("-1 ") for line in lines), lines


def test_a_result_cannot_be_forged_on_inherited_descriptors(box: Box) -> None:
    result = python(
        box,
        """
        import os, socket, struct
        forged = struct.pack("<ciId", b"D", 0, 0, 0.0)
        for number in range(3, 256):
            for write in (os.write, lambda n, d: socket.socket(fileno=n).sendall(d)):
                try:
                    write(number, forged)
                    print("wrote", number)
                except OSError:
                    pass
        raise SystemExit(7)
        """,
    )
    assert result.exit_status == 7
    assert b"wrote" not in result.output
    assert text(box.run("ls /proc/self/fd | tr '\\n' ' '")) in ("0 1 2 3 ", "0 1 2 3 \n")  # 3 is ls reading the folder


def test_output_that_looks_like_a_reply_is_output(box: Box) -> None:
    result = python(box, "import struct, sys\nsys.stdout.buffer.write(struct.pack('<ciId', b'D', 0, 0, 0.0))\nexit(3)")
    assert result.exit_status == 3
    assert result.output.startswith(b"D\0")


def test_the_pipe_of_one_command_says_nothing_to_the_next(box: Box) -> None:
    python(
        box,
        """
        import array, fcntl, os, socket
        fcntl.fcntl(1, fcntl.F_SETFL, os.O_NONBLOCK)
        a, b = socket.socketpair()
        for s in (a, b):  # descriptors in flight keep a pipe open after every process is dead
            s.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [1, a.fileno(), b.fileno()]))])
        os.write(1, b"first")
        """,
    )
    assert text(box.run("echo second")) == "second\n"


# ---------------------------------------------------------------- privileges
def test_nobody_becomes_more_than_the_agents_user(box: Box) -> None:
    status = text(box.run("grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status; id -u"))
    assert status.count("0000000000000000") >= 4  # inheritable, permitted, effective, ambient
    assert "NoNewPrivs:\t1" in status
    assert status.endswith("\n1000\n")
    for attempt in (
        "unshare -Ur id",
        "unshare -m true",
        "unshare -n true",
        "mount -t tmpfs none /tmp",
        "mount --bind /usr /tmp",
        "umount /proc",
        "mknod device b 8 0",
        "mknod device c 1 3",
        "chroot / true",
        "hostname other",
        "chown 0 .",
        "nsenter -t 1 -m true",
        "su -c id",
        "sudo -n id",
        "date -s 2000-01-01",
    ):
        assert box.run(attempt).exit_status != 0, attempt


def test_setuid_programs_give_nothing(box: Box) -> None:
    box.run("cp /usr/bin/id ./id; chmod u+s,g+s ./id")
    assert text(box.run("./id -u")) == "1000\n"
    assert text(
        box.run("find / -xdev -perm -4000 -type f 2>/dev/null -exec {} --version \\; >/dev/null 2>&1; id -u")
    ) == ("1000\n")


def test_kernel_settings_cannot_be_written(box: Box) -> None:
    for name in (
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/hostname",
        "/proc/sys/vm/overcommit_memory",
        "/proc/sys/user/max_user_namespaces",
        "/proc/sysrq-trigger",
        "/proc/1/oom_score_adj",
        "/proc/self/uid_map",
    ):
        assert box.run(f"echo 1 > {name}").exit_status != 0, name


def test_no_cgroup_can_be_left(box: Box) -> None:
    assert box.run("ls /sys/fs/cgroup").exit_status != 0
    assert box.run("mkdir -p /tmp/c && mount -t cgroup2 none /tmp/c").exit_status != 0
    assert box.run("mount -t cgroup -o memory none /tmp/c").exit_status != 0
    assert all(line.endswith(":/") for line in text(box.run("cat /proc/self/cgroup")).splitlines())


def test_memory_that_no_limit_sees_is_refused(box: Box) -> None:
    result = python(
        box,
        """
        import ctypes, os
        libc = ctypes.CDLL(None, use_errno=True)
        try:
            os.memfd_create("hidden")
            print("memfd")
        except OSError as error:
            print(error.errno)
        print(libc.shmget(0, 1 << 20, 0o1600), ctypes.get_errno())
        """,
    )
    assert text(result).split() == ["38", "-1", "38"]
    # POSIX shared memory lies in /dev/shm, whose bytes are counted
    assert box.run("head -c 1000 /dev/zero > /dev/shm/a && df /dev/shm | grep -q camg").exit_status == 0
