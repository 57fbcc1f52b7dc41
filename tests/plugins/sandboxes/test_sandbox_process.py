"""The sandbox without isolation: it asks first, and still enforces what it can."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from camg.errors import BackendUnavailable, InfrastructureFault
from camg.protocols import Box, Sandbox
from camg.types import Limits, Workspace
from camg_sandboxes import folders
from camg_sandboxes.process import ProcessConfig, ProcessSandbox, probe

MARK = "4321.0625"  # seconds that nothing else on this machine sleeps
StartWorker = Callable[..., subprocess.Popen[str]]
WaitFor = Callable[[Callable[[], object]], bool]


@pytest.fixture
def sandbox() -> ProcessSandbox:
    return ProcessSandbox(ProcessConfig(i_know_this_is_not_isolated=True))


@pytest.fixture
def box(sandbox: ProcessSandbox) -> Iterator[Box]:
    limits = Limits(wall_seconds=10, cpu_seconds=1, processes=24, memory_bytes=150 << 20, file_bytes=1 << 20)
    box = sandbox.open("process test", limits=limits)
    yield box
    box.close()


def sleepers() -> int:
    count = 0
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                count += MARK.encode() in Path("/proc", entry, "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
    return count


def test_it_refuses_without_the_users_word() -> None:
    with pytest.raises(BackendUnavailable) as refusal:
        ProcessSandbox(ProcessConfig()).open("x", limits=Limits())
    assert "--i-know-this-is-not-isolated" in str(refusal.value)
    assert "camg doctor" in str(refusal.value)
    assert refusal.value.exit_code == 4
    assert probe() is None


def test_commands_and_files(sandbox: ProcessSandbox, box: Box) -> None:
    assert isinstance(sandbox, Sandbox)
    assert isinstance(box, Box)
    assert box.run("echo $HOME; pwd").output.split()[0] == box.run("pwd").output.strip()
    box.write("a/b", b"from outside\n")
    assert box.run("cat a/b; mkdir .agent_memory; echo x > .agent_memory/n; exit 3").exit_status == 3
    assert set(box.manifest()) == {"n"}
    assert box.run("echo gone >> a/b; rm -r a").exit_status == 0
    assert b"SECRET" not in box.run("env").output


def test_no_descriptor_and_no_secret_comes_in(monkeypatch: pytest.MonkeyPatch, sandbox: ProcessSandbox) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-do-not-leak")
    box = sandbox.open("secrets", limits=Limits())
    assert b"sk-do-not-leak" not in box.run("env").output
    assert box.run("echo /proc/self/fd/*").output.split()[-1] == b"/proc/self/fd/3"
    box.close()


@pytest.mark.parametrize(
    "start", [f"sleep {MARK} &", f"setsid -f sleep {MARK}", f"(setsid bash -c '(trap \"\" TERM; sleep {MARK} &) &' &)"]
)
def test_nothing_survives_its_command(box: Box, start: str) -> None:
    result = box.run(f"{start}\nsleep 0.1; echo started")
    assert result.output == b"started\n"
    assert sleepers() == 0


def test_the_time_limit_ends_all_and_the_episode_goes_on(box: Box) -> None:
    result = box.run(f"setsid -f sleep {MARK}; sleep {MARK}", wall_seconds=0.4)
    assert result.timed_out
    assert sleepers() == 0
    assert box.run("echo on").output == b"on\n"


def test_limits_of_processes_memory_time_and_size(box: Box) -> None:
    crowd = box.run(f"for i in $(seq 60); do sleep {MARK} & done; sleep 5", wall_seconds=1)
    assert b"unavailable" in crowd.output or crowd.notices
    assert sleepers() == 0
    hog = box.run("tail /dev/zero")
    assert hog.notices == ("memory limit reached: all processes were killed",)
    assert box.run("while :; do :; done").exit_status == 128 + 24
    assert box.run("head -c 5000000 /dev/zero > big; stat -c %s big").output.split()[-1] == str(1 << 20).encode()
    assert box.run("yes").notices == ("output far past its limit: all processes were killed",)


def test_a_base_is_copied(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text("1\n")
    box = sandbox.open("base", limits=Limits(), workspace=Workspace(base=tmp_path))
    assert box.run("echo 2 >> code.py; cat code.py").output == b"1\n2\n"
    box.close()
    assert (tmp_path / "code.py").read_text() == "1\n"
    with pytest.raises(BackendUnavailable, match="/inputs"):
        sandbox.open("inputs", limits=Limits(), workspace=Workspace(inputs={"/inputs": tmp_path}))


def test_closing_leaves_nothing(sandbox: ProcessSandbox) -> None:
    before = set(folders.root().iterdir())
    descriptors = len(os.listdir("/proc/self/fd"))
    box = sandbox.open("close", limits=Limits())
    box.run("mkdir -p a/b; touch a/b/c; chmod 000 a/b")
    box.close()
    box.close()
    assert set(folders.root().iterdir()) <= before
    assert len(os.listdir("/proc/self/fd")) == descriptors
    with pytest.raises(InfrastructureFault, match="closed"):
        box.run("true")


def test_a_lost_agent_is_a_fault_and_reconciled(sandbox: ProcessSandbox, wait_for: WaitFor) -> None:
    living = sandbox.open("living", limits=Limits())
    box = sandbox.open("lost", limits=Limits())
    box.run("echo x > a")
    with pytest.raises(InfrastructureFault, match="lost is gone"):
        # $PPID is the agent: without isolation its own commands can kill it
        box.run(f"setsid -f sleep {MARK}; sleep 0.2; kill -9 $PPID; sleep 1")
    sandbox.reconcile()
    assert wait_for(lambda: not sleepers() or (sandbox.reconcile() and False))  # the lock goes just after the socket
    assert living.run("echo on").output == b"on\n"
    living.close()
    box.close()


def test_nothing_is_left_of_a_killed_worker(start_worker: StartWorker, wait_for: WaitFor) -> None:
    before = set(folders.root().glob("process-*"))
    names = {"module": "process", "sandbox": "ProcessSandbox", "config": "ProcessConfig", "arguments": "True"}
    worker = start_worker("killed", **names)
    made = set(folders.root().glob("process-*")) - before
    assert len(made) == 3
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    mark = [f"CAMG_BOX={folder.name}".encode() for folder in made]

    def left() -> int:
        count = 0
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    environment = Path("/proc", entry, "environ").read_bytes().split(b"\0")
                except OSError:
                    continue
                count += any(one in environment for one in mark)
        return count

    assert wait_for(lambda: left() == 0)
    ProcessSandbox(ProcessConfig()).reconcile()
    assert not set(folders.root().glob("process-*")) & made
