"""Real processes, killed at random moments: no completed episode is lost, none is used twice, the schedule is whole."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from camg.config import RunConfig
from camg.errors import BackendUnavailable, CamgError, PluginError
from camg.plugins import Registry
from camg.rollout.owner import start_time
from camg.rollout.queue import Queue, State
from camg.supervise import run_cell

Configure = Callable[..., RunConfig]
RUNNER = Path(__file__).parent / "support" / "run_corridor.py"


# ---------------------------------------------------------------- looking at a run from outside
def prepare(cell: Path, config: RunConfig, registry: Registry) -> None:
    cell.mkdir()
    config.save(cell / "config.toml", registry=registry)


@contextmanager
def running(cell: Path, *, resume: bool) -> Iterator[subprocess.Popen[bytes]]:
    """The supervisor in a process of its own; killed with its children at the end, if it still runs."""
    with (cell / "supervisor.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, str(RUNNER), str(cell), "resume" if resume else "fresh"], stdout=log, stderr=log
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        wait_for(lambda: not children(cell), "the children to end with their supervisor")


def children(cell: Path) -> dict[str, int]:
    """Label -> pid of the processes of a cell that are alive."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if str(cell).encode() in words and b"-m" in words and start_time(int(entry.name)):
                found[words[words.index(str(cell).encode()) + 1].decode()] = int(entry.name)
    return found


def wait_for(condition: Callable[[], Any], what: str, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}"
        time.sleep(0.02)


def updates(cell: Path) -> int:
    path = cell / "metrics.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def claimed(cell: Path) -> int:
    return Queue(cell).counts()[State.CLAIMED] if children(cell) else 0


def completed(cell: Path) -> dict[int, bytes]:
    """The episode files as they lie there."""
    return {int(path.name[:8]): path.read_bytes() for path in (cell / "episodes").glob("*.json.gz")}


def check_whole(cell: Path, config: RunConfig) -> None:
    """What must hold of a finished run, however often it was killed."""
    records = [json.loads(line) for line in (cell / "metrics.jsonl").read_text().splitlines()]
    assert [record["update"] for record in records] == list(range(1, config.run.updates + 1))
    used = [episode for record in records for episode in record["episodes"]]
    assert len(used) == len(set(used))  # none twice
    assert sorted(used) == list(range(config.run.updates * config.run.episodes))  # the schedule, whole
    queue = Queue(cell)
    assert queue.states() == dict.fromkeys(used, State.USED)
    assert queue.damaged() == 0
    for record in records:
        for episode in record["episodes"]:
            assert queue.store.read(episode).id == episode
    summary = json.loads((cell / "summary.json").read_text())
    assert summary["status"] == "finished"
    assert summary["final"]["environments"]["corridor"]["episodes"] == config.evaluation.tasks


def kill_and_resume(cell: Path, config: RunConfig, kills: int, seed: int) -> list[str]:
    """kill -9 at random moments of a random process; a killed supervisor is resumed. Returns the victims."""
    chance = random.Random(seed)
    victims: list[str] = []
    kept: dict[int, bytes] = {}
    resume = False
    while True:
        with running(cell, resume=resume) as process:
            resume = True
            while process.poll() is None and len(victims) < kills:
                time.sleep(chance.uniform(0.1, 2.5))
                alive = children(cell)
                victim = chance.choice(["supervisor", "learner", "worker-0", "worker-1"])
                pid = process.pid if victim == "supervisor" else alive.get(victim)
                if pid is None or process.poll() is not None:
                    continue
                os.kill(pid, signal.SIGKILL)
                victims.append(victim)
                if victim == "supervisor":
                    break
            if (victims and victims[-1] != "supervisor") or len(victims) >= kills:
                wait_for(lambda: process.poll() is not None, "the run to end", 240)
            code = process.wait()
        there = completed(cell)
        lost = {episode for episode, data in kept.items() if there.get(episode) != data}
        assert not lost, f"completed episodes changed or vanished: {sorted(lost)}"
        kept = there
        if code == 0:
            return victims
        assert code == -signal.SIGKILL, (cell / "supervisor.log").read_text()[-2000:]


SLOWED = {"corridor.sleep": 0.25, "corridor.skew": 1.5, "rollout.workers": 2, "evaluation.tasks": 4}


def test_a_few_kills(tmp_path: Path, corridor: Registry, configure: Configure) -> None:
    """One of each role, at a moment when it matters."""
    config = configure({**SLOWED, "run.updates": 6, "evaluation.first": False})
    cell = tmp_path / "cell"
    prepare(cell, config, corridor)
    with running(cell, resume=False) as process:
        wait_for(lambda: updates(cell) >= 1, "the first update")
        before = children(cell)
        os.kill(before["worker-0"], signal.SIGKILL)
        os.kill(before["learner"], signal.SIGKILL)
        wait_for(lambda: children(cell).get("learner", 0) not in (0, before["learner"]), "a new learner")
        wait_for(lambda: children(cell).get("worker-0", 0) not in (0, before["worker-0"]), "a new worker")
        wait_for(lambda: updates(cell) >= 3, "the third update")
        process.kill()
        process.wait()
        wait_for(lambda: not children(cell), "the children to end with their supervisor", 10)
    kept = completed(cell)
    with running(cell, resume=True) as process:
        assert process.wait(timeout=120) == 0
    there = completed(cell)
    assert all(there[episode] == data for episode, data in kept.items())
    check_whole(cell, config)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("checkpoint_every", [1, 4])
def test_twenty_kills(tmp_path: Path, corridor: Registry, configure: Configure, checkpoint_every: int) -> None:
    """kill -9 of worker, learner or supervisor at twenty random moments, then --resume."""
    settings = {**SLOWED, "run.updates": 60, "corridor.sleep": 0.6, "learner.checkpoint_every": checkpoint_every}
    config = configure(settings)
    cell = tmp_path / "cell"
    prepare(cell, config, corridor)
    victims = kill_and_resume(cell, config, kills=20, seed=checkpoint_every)
    assert len(victims) == 20
    check_whole(cell, config)


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_ctrl_c_drains_checkpoints_and_resumes(
    tmp_path: Path, corridor: Registry, configure: Configure, number: signal.Signals
) -> None:
    config = configure({**SLOWED, "learner.checkpoint_every": 100, "evaluation.first": False})
    cell = tmp_path / "cell"
    prepare(cell, config, corridor)
    with running(cell, resume=False) as process:
        wait_for(lambda: updates(cell) >= 1, "the first update")
        process.send_signal(number)
        assert process.wait(timeout=60) == 130
        assert not children(cell)
    reached = updates(cell)
    assert json.loads((cell / "summary.json").read_text())["status"] == "interrupted"
    assert "--resume" in (cell / "supervisor.log").read_text()
    assert State.CLAIMED not in Queue(cell).states().values()  # all was handed in or given back
    with running(cell, resume=True) as process:
        wait_for(lambda: children(cell), "the children")
        assert updates(cell) >= reached  # nothing of what was learned is learned again
        most = 0
        while process.poll() is None:
            most = max(most, Queue(cell).outstanding())
            time.sleep(0.02)
        assert process.wait(timeout=120) == 0
    # the restored counters do not open the window any wider (lesson 24): a batch in the learner, a batch, the window
    assert most <= 2 * config.run.episodes + config.rollout.warmup
    check_whole(cell, config)


@pytest.mark.slow
def test_a_second_ctrl_c_quits_at_once(tmp_path: Path, corridor: Registry, configure: Configure) -> None:
    config = configure({"corridor.sleep": 60.0, "evaluation.first": False})
    cell = tmp_path / "cell"
    prepare(cell, config, corridor)
    with running(cell, resume=False) as process:
        wait_for(lambda: claimed(cell), "a claim")
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        assert process.poll() is None  # it drains
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) != 0
        assert time.monotonic() - began < 3
        assert not children(cell)


def test_a_second_process_is_kept_out(tmp_path: Path, corridor: Registry, configure: Configure) -> None:
    cell = tmp_path / "cell"
    prepare(cell, configure({"corridor.sleep": 60.0}), corridor)
    with running(cell, resume=False):
        wait_for(lambda: (cell / "queue.db").exists(), "the queue")
        other = subprocess.run([sys.executable, str(RUNNER), str(cell), "resume"], capture_output=True, text=True)
        assert other.returncode == 2
        assert "Another process is running" in other.stderr


# ---------------------------------------------------------------- what goes wrong inside
def test_a_hanging_environment_is_evicted_and_refilled(
    tmp_path: Path, corridor: Registry, configure: Configure
) -> None:
    """Two tasks hang for ever in a worker of two slots: deadline, evict, refill, diagnostic (lesson 28)."""
    config = configure(
        {
            "corridor.hang": "train-0,train-1,train-2,train-3",
            "corridor.tasks": 8,
            "rollout.slots": 2,
            "rollout.episode_seconds": 1.0,
            "rollout.reruns": 0,
            "evaluation.tasks": 0,
            "run.updates": 2,
            "run.episodes": 4,
        }
    )
    summary = run_cell(tmp_path / "cell", config, corridor)
    assert summary["status"] == "finished"
    assert summary["faults"] > 0
    records = [json.loads(line) for line in (tmp_path / "cell" / "errors.jsonl").read_text().splitlines()]
    hung = [r["message"] for r in records if r.get("task") in {f"train-{n}" for n in range(4)}]
    assert hung
    assert all("deadline" in message and "_misbehave" in message for message in hung)
    used = {e for line in (tmp_path / "cell" / "metrics.jsonl").open() for e in json.loads(line)["episodes"]}
    tasks = {Queue(tmp_path / "cell").store.read(e).task for e in used}
    assert tasks <= {f"train-{n}" for n in range(4, 8)}


def test_an_exception_in_the_last_rollout_is_a_clean_end(
    tmp_path: Path, corridor: Registry, configure: Configure
) -> None:
    """The last episode of the schedule raises in every run: it is replaced, and the run ends well (lesson 29)."""
    from camg.rollout.rig import training_schedule

    config = configure({"run.updates": 1, "run.episodes": 4, "evaluation.tasks": 0})
    last = training_schedule(config, corridor).entry(3)
    config = configure({"run.updates": 1, "run.episodes": 4, "evaluation.tasks": 0, "corridor.crash": last.task})
    summary = run_cell(tmp_path / "cell", config, corridor)
    assert (summary["status"], summary["faults"], summary["episodes"]) == ("finished", 1, 4)
    assert Queue(tmp_path / "cell").states()[3] is State.FAULTED
    assert not children(tmp_path / "cell")


def test_a_process_with_other_plugins_is_refused(
    tmp_path: Path, corridor: Registry, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every process compares the set of plugins (lesson 36)."""
    config = configure()
    monkeypatch.setenv("CAMG_DISABLE_PLUGINS", "shop,policies,sandboxes,reporters,baselines,shell")  # one less now
    with pytest.raises(PluginError, match="other plugins"):
        run_cell(tmp_path / "cell", config, corridor)
    assert not children(tmp_path / "cell")


@pytest.mark.slow
def test_a_failing_sandbox_stops_the_run(tmp_path: Path, corridor: Registry, configure: Configure) -> None:
    config = configure({"sandbox": "broken", "rollout.reruns": 0})
    with pytest.raises(BackendUnavailable, match=r"(?s)user namespaces are switched off.*camg doctor"):
        run_cell(tmp_path / "cell", config, corridor)
    assert not children(tmp_path / "cell")
    assert json.loads((tmp_path / "cell" / "summary.json").read_text())["status"] == "failed"


def test_what_cannot_work_at_all_is_not_tried_again(tmp_path: Path, corridor: Registry, configure: Configure) -> None:
    with pytest.raises(BackendUnavailable, match=r"(?s)no kernel support.*camg doctor"):
        run_cell(tmp_path / "cell", configure({"sandbox": "refusing"}), corridor)
    fatal = [r for line in (tmp_path / "cell" / "errors.jsonl").open() if (r := json.loads(line)).get("fatal")]
    assert len(fatal) == 1
    assert State.CLAIMED not in Queue(tmp_path / "cell").states().values()


@pytest.mark.slow
def test_a_worker_that_cannot_start_stops_the_run_with_its_last_error(
    tmp_path: Path, corridor: Registry, configure: Configure
) -> None:
    every = ",".join(f"{split}-{n}" for split in ("train", "eval") for n in range(40))
    config = configure({"corridor.kill": every, "rollout.slots": 1})
    with pytest.raises(CamgError, match=r"(?s)worker-0 died 5 times without getting any further.*--resume"):
        run_cell(tmp_path / "cell", config, corridor)
    assert not children(tmp_path / "cell")
