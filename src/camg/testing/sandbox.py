"""Does a sandbox keep its promises? The basic ones; the escape suite of CAMG's own tests goes further."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

import attrs

from camg.protocols import Box, Sandbox
from camg.testing.expect import expect, expect_members
from camg.types import Limits


def check_sandbox(sandbox: Sandbox, *, isolated: bool = True) -> None:
    """Open boxes and try what every episode relies on. ``isolated``: also that there is no network.

    Raises ``AssertionError`` with a sentence.
    """
    expect_members(sandbox, Sandbox, "The sandbox")
    limits = attrs.evolve(Limits(), output_bytes=10_000)
    _in_box(sandbox, limits, _check_commands)
    _in_box(sandbox, limits, _check_files)
    _in_box(sandbox, limits, _check_removal)
    _in_box(sandbox, limits, _check_survivors)
    if isolated:
        _in_box(sandbox, limits, _check_network)
    one, other = sandbox.open("camg-check-1", limits=limits), sandbox.open("camg-check-2", limits=limits)
    try:
        one.write("here", b"1")
        expect(b"yes" not in other.run("test -e here && echo yes").output, "Expected a workspace for each box.")
    finally:
        one.close()
        other.close()
    expect(sandbox.reconcile() >= 0, "Expected reconcile() to say how many leftovers it removed.")


def _in_box(sandbox: Sandbox, limits: Limits, check: Callable[[Box], None]) -> None:
    box: Any = sandbox.open("camg-check", limits=limits)
    try:
        expect_members(box, Box, "The box")
        check(box)
    finally:
        box.close()
        box.close()


def _check_commands(box: Box) -> None:
    result = box.run("echo out; echo err >&2; exit 3")
    expect(result.exit_status == 3, f"Expected exit status 3, got {result.exit_status}.")
    expect(result.output == b"out\nerr\n", f"Expected both streams in the order written, got {result.output!r}.")
    box.run("cd /; X=1")
    expect(box.run('echo "[$X]"').output == b"[]\n", "Expected a fresh shell for each command.")
    box.write("kept", b"text")
    expect(box.run("cat kept").output == b"text", "Expected commands to start at the workspace root.")
    expect(box.run("cat; echo end").output == b"end\n", "Expected empty standard input.")
    flood = box.run("head -c 100000 /dev/zero")
    expect(
        len(flood.output) <= 10_000 and flood.dropped_bytes == 100_000 - len(flood.output),
        f"Expected output within its limit and the rest counted, got {len(flood.output)} + {flood.dropped_bytes}.",
    )
    started = time.monotonic()
    slow = box.run("sleep 30", wall_seconds=0.5)
    expect(slow.timed_out and slow.exit_status is None, "Expected a command past its time to be timed out.")
    expect(time.monotonic() - started < 10, "Expected the time limit to be kept.")
    expect(box.run("echo on").output == b"on\n", "Expected the box to go on after a time-out.")


def _check_files(box: Box) -> None:
    expect(dict(box.manifest()) == {}, "Expected an empty manifest of a fresh box.")
    box.write(".agent_memory/deep/note.md", b"remember")
    manifest = box.manifest()
    state = manifest.get("deep/note.md")
    expect(state is not None and state.kind == "file" and state.size == 8, f"Expected the note in {dict(manifest)!r}.")
    expect(box.read(".agent_memory/deep/note.md", 4) == b"reme", "Expected read() to stop at its limit.")
    box.run("ln -s /etc/hostname .agent_memory/link")
    link = box.manifest().get("link")
    expect(link is not None and link.kind == "symlink", "Expected a symlink to be seen as one, not followed.")
    try:
        box.read(".agent_memory/link", 10)
    except OSError:
        pass
    else:
        raise AssertionError("Expected OSError for reading a path that is a symlink, got none.")
    box.run("echo kept > target; ln -s ../target .agent_memory/other")
    with contextlib.suppress(OSError):  # to refuse is as good as to put a file in the link's place
        box.write(".agent_memory/other", b"x")
    expect(box.run("cat target").output == b"kept\n", "Expected write() not to follow a symlink.")


def _check_removal(box: Box) -> None:
    box.run("mkdir -p stay tree/deep; echo 1 > stay/one; echo 2 > tree/deep/two")
    box.run("ln -s ../stay tree/link; ln -s stay top")
    for path in ("tree", "top"):
        box.remove(path)
    left = box.run("cat stay/one; ls -d stay tree top 2>&1 | grep -v cannot").output
    expect(left == b"1\nstay\n", f"Expected remove() to take a tree and a link, not what they point to; got {left!r}.")
    box.run("ln -s stay top")
    for path in ("absent", "top/one", "../stay", "/stay"):
        try:
            box.remove(path)
        except OSError:
            continue
        raise AssertionError(f"Expected OSError on removing {path}, got none.")
    expect(box.run("cat stay/one").output == b"1\n", "Expected remove() to go through no link.")


def _check_survivors(box: Box) -> None:
    box.run("(sleep 1; echo late > survived) & disown")
    time.sleep(1.3)
    expect(b"yes" not in box.run("test -e survived && echo yes").output, "Expected no process to outlive its command.")


def _check_network(box: Box) -> None:
    reached = box.run("exec 3<>/dev/tcp/1.1.1.1/53 && echo reached", wall_seconds=5)
    expect(b"reached" not in reached.output, "Expected no way to the network.")
