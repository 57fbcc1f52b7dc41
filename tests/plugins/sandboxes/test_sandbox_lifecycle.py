"""What boxes leave behind: nothing, however they and their worker end; and many boxes at once."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from camg.errors import BackendUnavailable, InfrastructureFault
from camg.protocols import Box, Sandbox
from camg.types import Change, Limits, Workspace
from camg_sandboxes import folders
from camg_sandboxes.box import AgentBox
from camg_sandboxes.bwrap import BwrapConfig, BwrapSandbox

MARK = "camg-life-"
StartWorker = Callable[..., subprocess.Popen[str]]
WaitFor = Callable[[Callable[[], object]], bool]


def marked(label: str) -> list[str]:
    """Command lines of living processes of boxes with this label."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                line = Path("/proc", entry, "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                if label in line and int(entry) != os.getpid():
                    found.append(line)
            except OSError:
                continue
    return found


def descriptors() -> int:
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


def test_a_box_conforms_to_the_protocols(sandbox: BwrapSandbox, box: Box) -> None:
    assert isinstance(sandbox, Sandbox)
    assert isinstance(box, Box)


def test_useful_tools_work(box: Box) -> None:
    result = box.run(
        "cat > notes.txt <<'EOF'\none\ntwo $HOME `x`\nEOF\n"
        "sed -i 's/one/1/' notes.txt && grep -n 1 notes.txt && git init -q"
        " && git add -A && git commit -qm start && git log --format=%s"
        " && python3 -c 'print(6 * 7)' && pwd && echo $HOME"
        " && mkdir -p .agent_memory && printf x > .agent_memory/CONTINUATION.md"
        " && echo err > /dev/stderr && cat | wc -c"
    )
    assert result.output.decode() == "1:1\nstart\n42\n/workspace\n/workspace\nerr\n0\n"
    assert result.exit_status == 0
    assert set(box.manifest()) == {"CONTINUATION.md"}


def test_files_go_in_and_out(box: Box) -> None:
    box.write("folder/deep/data.bin", bytes(range(256)))
    assert box.read("folder/deep/data.bin", 1000) == bytes(range(256))
    assert box.read("folder/deep/data.bin", 3) == b"\0\1\2"
    assert box.run("echo more >> folder/deep/data.bin && rm -r folder").exit_status == 0  # they are the policy's
    with pytest.raises(FileNotFoundError):
        box.read("folder/deep/data.bin", 1)


def test_odd_commands_are_answered(box: Box) -> None:
    assert box.run("").exit_status == 0
    assert box.run("echo 'unclosed").exit_status == 2
    assert box.run("kill -9 $$").exit_status == 137
    assert box.run("exit 300").exit_status == 44
    assert b"NUL" in box.run("echo a\0b").output
    assert box.run("echo " + "x" * 200_000).exit_status == 126
    assert len(box.run("echo " + "x" * 131_000).output) == 131_001
    assert box.run("printf '\udcff'").output == b"\xff"
    assert box.run("printf \ud800").exit_status == 0
    assert box.run("echo é").output == "é\n".encode()
    assert box.run("cd /; rm -rf /workspace/* . 2>/dev/null; true").exit_status == 0
    assert box.run("pwd").output == b"/workspace\n"


def test_a_closed_box_is_gone_and_says_so(sandbox: BwrapSandbox) -> None:
    before = descriptors()
    box = sandbox.open(MARK + "closed", limits=Limits())
    box.run("mkdir .agent_memory; sleep 100 & echo x > .agent_memory/a")
    assert marked(MARK + "closed")
    box.close()
    box.close()
    assert not marked(MARK + "closed")
    assert descriptors() == before
    for use in (lambda: box.run("true"), box.manifest, lambda: box.read("a", 1), lambda: box.write("a", b"")):
        with pytest.raises(InfrastructureFault, match="closed"):
            use()


def test_the_host_sees_no_mount_and_only_the_keepers_folder(bwrap_works: None, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[Path, int]] = []  # other test processes have folders beside ours, which come and go
    make = folders.make
    monkeypatch.setattr(folders, "make", lambda kind: made.append(make(kind)) or made[-1])
    sandbox = BwrapSandbox(BwrapConfig())
    sandbox.open("first", limits=Limits()).close()
    folder = made[0][0]
    mounts, files = Path("/proc/self/mounts").read_text(), set(folder.rglob("*"))
    box = sandbox.open("mounts", limits=Limits())
    box.write("a", b"1")
    assert Path("/proc/self/mounts").read_text() == mounts
    assert set(folder.rglob("*")) == files
    box.close()
    sandbox.close()
    assert len(made) == 1


def test_boxes_share_no_descriptor(open_box: Callable[..., Box]) -> None:
    boxes = [open_box(f"share{number}") for number in range(3)]
    for box in boxes:
        assert box.run("echo /proc/self/fd/*").output in (
            b"/proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2 /proc/self/fd/3\n",
        )
    started = time.monotonic()
    for box in boxes:
        box.close()
    assert time.monotonic() - started < 3  # no box holds another's open


def test_a_box_outlives_the_thread_that_opened_it(sandbox: BwrapSandbox) -> None:
    with ThreadPoolExecutor(1) as pool:
        box = pool.submit(sandbox.open, "thread", limits=Limits()).result()
    time.sleep(0.1)
    assert box.run("echo still here").output == b"still here\n"
    box.close()


def test_many_boxes_from_many_threads(sandbox: BwrapSandbox) -> None:
    before = descriptors()
    barrier = threading.Barrier(64)

    def episode(number: int) -> bool:
        box = sandbox.open(f"many{number}", limits=Limits())
        try:
            barrier.wait(60)
            box.run(f"echo {number} > mine; sleep 300 &")
            return (
                box.read("mine", 10) == f"{number}\n".encode()
                and box.run("cat mine; ls").output == f"{number}\nmine\n".encode()
            )
        finally:
            box.close()

    with ThreadPoolExecutor(64) as pool:
        assert all(pool.map(episode, range(64)))
    assert descriptors() == before


BWRAP = {"module": "bwrap", "sandbox": "BwrapSandbox", "config": "BwrapConfig", "arguments": ""}


def test_nothing_is_left_of_a_killed_worker(bwrap_works: None, start_worker: StartWorker, wait_for: WaitFor) -> None:
    label = f"{MARK}worker{os.getpid()}-"
    before = set(folders.root().iterdir())
    worker = start_worker(label, **BWRAP)
    assert marked(label)
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    assert wait_for(lambda: not marked(label))
    assert wait_for(lambda: set(folders.root().iterdir()) <= before)


def test_a_killed_keepers_boxes_end_and_its_folder_is_reconciled(
    bwrap_works: None, start_worker: StartWorker, wait_for: WaitFor
) -> None:
    label = f"{MARK}keeper{os.getpid()}-"
    worker = start_worker(label, **BWRAP)
    children = Path(f"/proc/{worker.pid}/task/{worker.pid}/children").read_text().split()
    left = set(folders.root().glob("bwrap-*"))
    for pid in (worker.pid, *map(int, children)):  # the worker first: it must not start a keeper anew
        os.kill(pid, signal.SIGKILL)
    worker.wait()
    assert wait_for(lambda: not marked(label))
    assert BwrapSandbox(BwrapConfig()).reconcile() >= 1
    assert set(folders.root().glob("bwrap-*")) < left


def test_reconciling_leaves_the_living_alone(sandbox: BwrapSandbox, box: Box) -> None:
    box.run("echo kept > file")
    BwrapSandbox(BwrapConfig()).reconcile()
    assert box.run("cat file").output == b"kept\n"
    again = sandbox.open("again", limits=Limits())
    assert again.run("echo ok").output == b"ok\n"
    again.close()


def test_a_keeper_that_died_is_replaced_and_its_boxes_are_faults(bwrap_works: None, wait_for: WaitFor) -> None:
    sandbox = BwrapSandbox(BwrapConfig())
    box = sandbox.open("orphan", limits=Limits())
    assert sandbox._keeper is not None
    sandbox._keeper.process.kill()
    assert wait_for(lambda: not marked("orphan"))
    with pytest.raises(InfrastructureFault, match="orphan is gone"):
        box.run("true")
    box.close()
    fresh = sandbox.open("fresh", limits=Limits())
    assert fresh.run("echo ok").output == b"ok\n"
    fresh.close()
    sandbox.close()
    sandbox.reconcile()


def test_an_interrupted_command_cannot_answer_the_next(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(AgentBox, "_reply", interrupt)
        with pytest.raises(KeyboardInterrupt):
            box.run("echo first")
    with pytest.raises(InfrastructureFault, match="interrupted"):
        box.run("echo second")


def test_closing_the_sandbox_ends_its_boxes(bwrap_works: None) -> None:
    sandbox = BwrapSandbox(BwrapConfig())
    box = sandbox.open(MARK + "left-open", limits=Limits())
    sandbox.close()
    assert not marked(MARK + "left-open")
    with pytest.raises(InfrastructureFault):
        box.run("true")
    box.close()


def test_what_cannot_open_is_a_clear_fault(sandbox: BwrapSandbox, tmp_path: Path) -> None:
    before = descriptors()
    with pytest.raises(InfrastructureFault, match="not a folder"):
        sandbox.open("x", limits=Limits(), workspace=Workspace(base=tmp_path / "absent"))
    for inside in ("relative", "/usr/x", "/a/../b", "/"):
        with pytest.raises(InfrastructureFault):
            sandbox.open("x", limits=Limits(), workspace=Workspace(inputs={inside: tmp_path}))
    with pytest.raises(InfrastructureFault, match="does not exist"):
        sandbox.open("x", limits=Limits(), workspace=Workspace(inputs={"/inputs": tmp_path / "absent"}))
    assert descriptors() == before


def test_a_bwrap_that_fails_is_a_fault_with_its_words(bwrap_works: None, tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'no namespaces today' >&2\nexit 1\n")
    broken.chmod(0o755)
    for folder in broken.parents:  # the keeper runs it as another user
        if folder.stat().st_uid == os.getuid() and folder.stat().st_mode & 0o005 != 0o005:
            folder.chmod(0o755)
    sandbox = BwrapSandbox(BwrapConfig(program=str(broken)))
    with pytest.raises(InfrastructureFault, match="no namespaces today"):
        sandbox.open("broken", limits=Limits())
    sandbox.close()
    with pytest.raises(BackendUnavailable, match="not found at /nowhere"):
        BwrapSandbox(BwrapConfig(program="/nowhere")).open("x", limits=Limits())


def test_variables_of_a_workspace_reach_every_command(open_box: Callable[..., Box]) -> None:
    box = open_box(variables={"PYTHONPATH": "/workspace/src", "GREETING": "two words"})
    assert box.run('echo "$GREETING"; python3 -c "import sys; print(sys.path[1])"').output == (
        b"two words\n/workspace/src\n"
    )


def test_hidden_paths_are_empty_and_absent_ones_do_no_harm(open_box: Callable[..., Box]) -> None:
    folder = open_box().run("python3 -c 'import json; print(json.__path__[0])'").output.decode().strip()
    box = open_box(hidden=(folder, "/usr/share/no-such-folder"))
    assert box.run(f"ls -A {folder}").output == b""
    assert box.run("python3 -c 'from json import loads'").exit_status == 1
    with pytest.raises(InfrastructureFault, match="hidden"):
        open_box(hidden=("/workspace",))


def test_changes_compare_contents_without_following_links(open_box: Callable[..., Box], tmp_path: Path) -> None:
    for name, text in {"same": "a", "edited": "b", "gone": "c", "sub/moved": "d", "link": "e"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    box = open_box(base=tmp_path)
    box.run(
        "printf B > edited; touch -d @0 edited; rm gone; mv sub/moved sub/here; rm link; ln -s /etc/passwd link; "
        "mkfifo pipe; echo '#!/bin/sh' > run; chmod +x run; head -c 5000 /dev/zero > zeros; mkdir d; echo x > d/skipped"
    )
    found = box.changes(tmp_path, 1000, lambda path: path == "d")
    assert found == {
        "edited": Change("file", b"B"),
        "gone": Change("removed"),
        "link": Change("symlink"),
        "pipe": Change("other"),
        "run": Change("file", b"#!/bin/sh\n", executable=True),
        "sub/here": Change("file", b"d"),
        "sub/moved": Change("removed"),
        "zeros": Change("large"),
    }
