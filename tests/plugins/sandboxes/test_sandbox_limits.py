"""Each limit, against something that wants to pass it; after each the episode goes on."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from camg.protocols import Box
from camg.types import CommandResult


def text(result: CommandResult) -> str:
    return result.output.decode("utf-8", "replace")


def alive(box: Box) -> None:
    """Nothing is left of what ran before, and the box still works."""
    assert text(box.run("set -- /proc/[0-9]*; echo $#")) == "2\n"  # the agent and bash
    assert text(box.run("echo on")) == "on\n"


def test_the_time_limit_ends_all_and_the_episode_goes_on(box: Box) -> None:
    started = time.monotonic()
    result = box.run(
        "echo before; trap '' TERM INT HUP; sleep 60 & setsid sleep 60 & while :; do sleep 1; done", wall_seconds=0.5
    )
    assert time.monotonic() - started < 5
    assert result.timed_out
    assert result.exit_status is None
    assert result.output == b"before\n"
    alive(box)


@pytest.mark.parametrize(
    "start",
    [
        "sleep 300 &",
        "nohup sleep 300 >/dev/null 2>&1 &",
        "setsid -f sleep 300",
        "(setsid bash -c '(sleep 300 &) &' &)",
        "(trap '' HUP TERM; exec sleep 300) & disown",
        "python3 - <<'EOF'\nimport os\nif os.fork() == 0:\n os.setsid()\n if os.fork() == 0:\n"
        "  os.execlp('sleep', 'sleep', '300')\nEOF",
    ],
)
def test_nothing_survives_its_command(box: Box, start: str) -> None:
    result = box.run(f"{start}\necho started")
    assert text(result).endswith("started\n")
    assert result.seconds < 5
    alive(box)


def test_a_survivor_cannot_write_after_its_command(box: Box) -> None:
    box.run("(while :; do date +%N > tick; done) & sleep 0.2")
    first = box.read("tick", 100)
    time.sleep(0.2)
    assert box.read("tick", 100) == first


def test_a_fork_bomb_is_bounded_and_ends(open_box: object) -> None:
    box = open_box(processes=30, wall_seconds=1.0)  # type: ignore[operator]
    result = box.run("bomb() { bomb | bomb & }; bomb; sleep 0.8; ls /proc | grep -c '^[0-9]'")
    assert b"Resource temporarily unavailable" in result.output
    alive(box)


def test_threads_count_as_processes(open_box: object) -> None:
    box = open_box(processes=20)  # type: ignore[operator]
    source = (
        "import threading, time\nn = 0\ntry:\n for n in range(200): threading.Thread(target=time.sleep, args=(.2,),"
        " daemon=True).start()\nexcept RuntimeError: pass\nprint(n < 25)"
    )
    assert text(box.run(f'python3 -c "{source}"')) == "True\n"
    alive(box)


def test_short_lived_orphans_do_not_use_up_the_processes(open_box: object) -> None:
    box = open_box(processes=12)  # type: ignore[operator]
    # the shell itself waits, without a fork, until those before are gone: on a crowded machine reaping takes its time
    gone = "until set -- /proc/[0-9]*; [ $# -le 8 ]; do :; done"
    result = box.run(f"for i in $(seq 300); do (true &); {gone}; done; echo done")
    assert text(result) == "done\n"


def test_boxes_do_not_share_their_process_limit(open_box: object) -> None:
    boxes = [open_box(str(number), processes=12) for number in range(4)]  # type: ignore[operator]
    results: list[CommandResult] = []
    threads = [
        threading.Thread(
            target=lambda box=box: results.append(
                box.run("for i in 1 2 3 4 5 6 7 8; do sleep 0.5 & done; wait; echo ok")
            )
        )
        for box in boxes
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [text(result) for result in results] == ["ok\n"] * 4


def test_cpu_time_is_limited_per_process(open_box: object) -> None:
    box = open_box(cpu_seconds=1, wall_seconds=20)  # type: ignore[operator]
    result = box.run("while :; do :; done")
    assert result.exit_status == 128 + 24  # SIGXCPU
    assert box.run("sleep 0.2; ulimit -t unlimited").exit_status != 0
    # what is started at once, perhaps before its parent's limit is set
    started = "for n in 1 2 3; do (setsid ./spin -c 'while :; do :; done' &) & done"
    box.run("cp /bin/bash spin")
    result = box.run(f"{started}; sleep 0.3; pgrep -c -x spin; while pgrep -x spin > /dev/null; do sleep 0.1; done")
    assert (result.exit_status, result.output) == (0, b"3\n")
    alive(box)


def test_a_memory_hog_is_killed(open_box: object) -> None:
    box = open_box(memory_bytes=120 << 20)  # type: ignore[operator]
    result = box.run("python3 -c 'x = bytearray(1 << 30); import time; time.sleep(9)'")
    assert result.exit_status == 137
    assert result.notices == ("memory limit reached: all processes were killed",)
    assert result.seconds < 5
    alive(box)


def test_many_small_hogs_are_watched_as_a_whole(open_box: object) -> None:
    box = open_box(memory_bytes=120 << 20)  # type: ignore[operator]
    one = "python3 -c 'x = bytearray(30 << 20); import time; time.sleep(9)' &"
    result = box.run(one * 8 + " wait")
    assert result.notices == ("memory limit reached: all processes were killed",)
    assert result.seconds < 8
    alive(box)


def test_what_sockets_hold_in_the_kernel_counts(open_box: object) -> None:
    box = open_box(memory_bytes=120 << 20, wall_seconds=20)  # type: ignore[operator]
    source = (
        "import socket, time\nkept = []\nfor _ in range({pairs}):\n"
        " a, b = socket.socketpair()\n a.setblocking(False)\n kept.append((a, b))\n"
        " try:\n  while True: a.send(bytes(1 << 16))\n except BlockingIOError: pass\n"
        "time.sleep(.2)\nprint('fine')"
    )
    assert text(box.run(f'python3 -c "{source.format(pairs=50)}"')) == "fine\n"
    result = box.run(f'python3 -c "{source.format(pairs=1000)}"')
    assert result.notices == ("memory limit reached: all processes were killed",)
    alive(box)


def test_shared_memory_counts_once_and_counts(open_box: object) -> None:
    box = open_box(memory_bytes=150 << 20)  # type: ignore[operator]
    source = (
        "import mmap, os, time\nm = mmap.mmap(-1, {size} << 20)\nfor i in range(0, len(m), 4096): m[i] = 1\n"
        "for _ in range(4):\n if os.fork() == 0:\n"
        "  sum(m[i] for i in range(0, len(m), 4096)); time.sleep(.3); os._exit(0)\n"
        "time.sleep(.3); print('fine')"
    )
    assert text(box.run(f'python3 -c "{source.format(size=60)}"')) == "fine\n"  # five times 60 MiB, once resident
    assert box.run(f'python3 -c "{source.format(size=300)}"').notices


def test_one_file_is_limited(open_box: object) -> None:
    box = open_box(file_bytes=1 << 20)  # type: ignore[operator]
    result = box.run("head -c 5000000 /dev/zero > big; echo $?; stat -c %s big")
    assert text(result).split()[-1] == str(1 << 20)
    assert (
        text(box.run("truncate -s 1G sparse; stat -c %s sparse 2>/dev/null | grep -c 1073741824")).strip().endswith("0")
    )


def test_written_bytes_are_limited_over_all_folders(open_box: object) -> None:
    box = open_box(written_bytes=4 << 20, file_bytes=4 << 20)  # type: ignore[operator]
    result = box.run(
        "for d in . /tmp /dev/shm; do head -c 3000000 /dev/zero > $d/fill; done; cat {.,/tmp,/dev/shm}/fill | wc -c"
    )
    assert b"No space left" in result.output
    assert int(text(result).split()[-1]) <= 4 << 20
    box.run("rm -f fill /tmp/fill /dev/shm/fill")
    assert box.run("echo small > file").exit_status == 0


def test_the_number_of_files_is_limited(open_box: object) -> None:
    box = open_box(files=50)  # type: ignore[operator]
    result = box.run("for i in $(seq 40); do : > a$i; mkdir d$i; ln -s x l$i; done; ls | wc -l")
    assert b"No space left" in result.output
    assert int(text(result).split()[-1]) <= 50
    box.run("rm -rf a* d* l*")
    assert box.run("echo small > file").exit_status == 0


def test_nothing_else_can_be_written(box: Box) -> None:
    found = text(
        box.run("for d in / /dev /run /var /etc /usr /opt; do find $d -xdev -writable -type d 2>/dev/null; done")
    )
    writable = [path for path in found.split() if box.run(f": > {path}/probe").exit_status == 0]
    assert set(writable) <= {"/dev/shm", "/tmp", "/workspace", "/dev/pts"}


def test_output_past_the_limit_is_dropped_and_counted(open_box: object) -> None:
    box = open_box(output_bytes=1000)  # type: ignore[operator]
    result = box.run("head -c 5000000 /dev/zero | tr '\\0' x; exit 4")
    assert result.output == b"x" * 1000
    assert result.dropped_bytes == 4_999_000
    assert result.exit_status == 4


def test_never_ending_output_ends(open_box: object) -> None:
    box = open_box(output_bytes=1000, wall_seconds=20)  # type: ignore[operator]
    result = box.run("yes")
    assert len(result.output) == 1000
    assert result.notices == ("output far past its limit: all processes were killed",)
    slow = box.run("while :; do echo tick; sleep 0.05; done", wall_seconds=0.4)
    assert slow.timed_out
    assert slow.output.startswith(b"tick\n")
    alive(box)


def test_binary_output_comes_back_byte_for_byte(box: Box) -> None:
    result = box.run("python3 -c 'import os; os.write(1, bytes(range(256)) * 300); os.write(2, b\"end\")'")
    assert result.output == bytes(range(256)) * 300 + b"end"


def test_a_box_that_filled_up_still_takes_no_host_file(open_box: object) -> None:
    box = open_box(written_bytes=1 << 20)  # type: ignore[operator]
    box.run("head -c 2000000 /dev/zero > fill")
    with pytest.raises(OSError, match="No space"):
        box.write("more", bytes(1 << 16))
    with pytest.raises(FileNotFoundError):
        box.read("more", 10)
    assert [name for name in text(box.run("ls -A")).split() if name != "fill"] == []


def test_a_workspace_of_one_with_a_base_counts_only_what_is_new(open_box: object, tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / str(number)).write_bytes(os.urandom(100_000))
    box = open_box(base=tmp_path, written_bytes=1 << 20, files=10)  # type: ignore[operator]
    assert text(box.run("cat * | wc -c")) == "2000000\n"
    assert box.run("echo 1 > new && echo 1 >> 3").exit_status == 0
