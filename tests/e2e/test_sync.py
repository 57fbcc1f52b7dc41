"""``--sync``: the same code in lock-step. Same seed, same metrics to the last bit; a kill between any two steps of an
update, then a resume, changes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from camg.config import RunConfig
from camg.errors import BackendUnavailable, CorruptState, Interrupted, RunDirectoryError, UsageError
from camg.plugins import Registry
from camg.rollout.queue import Queue, State
from camg.supervise import evaluation as evaluation_module
from camg.supervise import loop as loop_module
from camg.supervise import run_cell
from camg.supervise.loop import TrainingLoop
from camg.supervise.trainer import LearnerTrainer

Configure = Callable[..., RunConfig]


def lines(cell: Path) -> list[dict[str, Any]]:
    """Everything in metrics.jsonl that a clock does not decide."""
    records = [json.loads(line) for line in (cell / "metrics.jsonl").read_text().splitlines()]
    return [{key: value for key, value in record.items() if key != "time"} for record in records]


def outcomes(summary: dict[str, Any]) -> Any:
    return {key: summary[key] for key in ("initial", "final", "updates", "episodes", "faults", "status")}


@pytest.fixture
def uninterrupted(tmp_path: Path, corridor: Registry, configure: Configure) -> tuple[Path, dict[str, Any]]:
    cell = tmp_path / "uninterrupted"
    return cell, run_cell(cell, configure(), corridor, sync=True)


def test_two_runs_are_identical_and_another_seed_is_not(
    tmp_path: Path, corridor: Registry, configure: Configure, uninterrupted: tuple[Path, dict[str, Any]]
) -> None:
    first, summary = uninterrupted
    again = run_cell(tmp_path / "again", configure(), corridor, sync=True)
    assert lines(first) == lines(tmp_path / "again")
    assert outcomes(summary) == outcomes(again)
    run_cell(tmp_path / "other", configure({"run.seed": 1}), corridor, sync=True)
    assert lines(first) != lines(tmp_path / "other")


def test_the_summary_holds_what_is_promised(uninterrupted: tuple[Path, dict[str, Any]]) -> None:
    cell, summary = uninterrupted
    assert summary == json.loads((cell / "summary.json").read_text())
    assert summary["status"] == "finished"
    assert (summary["updates"], summary["episodes"], summary["faults"]) == (4, 24, 0)
    assert set(summary["final"]["success"]) == set(summary["initial"]["complete"]) == {"corridor"}
    assert [point["update"] for point in summary["curve"]] == [1, 2, 3, 4]
    assert summary["curve"][-1]["episodes"] == 24
    assert set(summary["curve"][0]) == {"update", "success", "complete", "episodes", "seconds"}
    assert summary["policy_warm_start"] is False
    assert [e["name"] for e in summary["evaluations"]] == ["initial", "final"]
    assert len(list((cell / "evaluation" / "final" / "episodes").glob("*.gz"))) == 5
    assert all(line["metrics"]["lag/max"] == 0 for line in lines(cell))


def test_it_learns(tmp_path: Path, corridor: Registry, configure: Configure) -> None:
    settings = {"run.updates": 20, "run.episodes": 16, "rollout.slots": 16, "learner.actor_lr": 0.3}
    summary = run_cell(tmp_path / "c", configure(settings), corridor, sync=True)
    assert summary["initial"]["success"]["corridor"] < 0.1
    assert summary["final"]["success"]["corridor"] > 0.4


STEPS = {
    "before the update": (LearnerTrainer, "update"),
    "before the checkpoint": (LearnerTrainer, "save"),
    "before the mark": (Queue, "mark_used"),
    "before the weights": (LearnerTrainer, "publish"),
    "before the line": (loop_module, "append_report"),
    "before the next dispatch": (TrainingLoop, "_collect"),
}


class Killed(BaseException):
    """Stands for kill -9: nothing may catch it to tidy up."""


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("checkpoint_every", [1, 3])
def test_a_kill_between_any_two_steps_changes_nothing(
    tmp_path: Path,
    corridor: Registry,
    configure: Configure,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    checkpoint_every: int,
) -> None:
    config = configure({"learner.checkpoint_every": checkpoint_every})
    whole = run_cell(tmp_path / "whole", config, corridor, sync=True)
    target, name = STEPS[step]
    original = getattr(target, name)
    calls = {"left": 2 if name == "save" and checkpoint_every > 1 else 3}

    def killed(*arguments: Any, **keywords: Any) -> Any:
        calls["left"] -= 1
        if calls["left"] == 0:
            raise Killed
        return original(*arguments, **keywords)

    monkeypatch.setattr(target, name, killed)
    cell = tmp_path / "killed"
    with pytest.raises(Killed):
        run_cell(cell, config, corridor, sync=True)
    monkeypatch.setattr(target, name, original)
    resumed = run_cell(cell, config, corridor, sync=True, resume=True)
    assert lines(cell) == lines(tmp_path / "whole")
    assert outcomes(resumed) == outcomes(whole)
    queue = Queue(cell)
    assert set(queue.states().values()) == {State.USED}


@pytest.mark.parametrize("call", [2, 3, 4])
def test_a_kill_within_an_evaluation_is_caught_up_on(
    tmp_path: Path, corridor: Registry, configure: Configure, monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    """Evaluations at 0, 1, 2, 3 and the end; killed in one of them, or right before it."""
    config = configure({"evaluation.every": 1})
    whole = run_cell(tmp_path / "whole", config, corridor, sync=True)
    assert [(e["name"], e["update"]) for e in whole["evaluations"]] == [
        ("initial", 0),
        ("update-00001", 1),
        ("update-00002", 2),
        ("update-00003", 3),
        ("final", 4),
    ]
    cell = tmp_path / "killed"
    with monkeypatch.context() as patch:
        _kill_at(patch, evaluation_module, "completed", call)
        with pytest.raises(Killed):
            run_cell(cell, config, corridor, sync=True)
    resumed = run_cell(cell, config, corridor, sync=True, resume=True)
    without_seconds = [[{**e, "seconds": 0} for e in summary["evaluations"]] for summary in (whole, resumed)]
    assert without_seconds[0] == without_seconds[1]
    assert lines(cell) == lines(tmp_path / "whole")
    assert not list(cell.glob("evaluation/*/open"))


def test_resuming_a_finished_cell_returns_its_summary(
    corridor: Registry, configure: Configure, uninterrupted: tuple[Path, dict[str, Any]]
) -> None:
    cell, summary = uninterrupted
    before = (cell / "metrics.jsonl").read_bytes()
    assert run_cell(cell, configure(), corridor, sync=True, resume=True) == summary
    assert (cell / "metrics.jsonl").read_bytes() == before


def test_an_existing_cell_is_refused_without_resume(
    corridor: Registry, configure: Configure, uninterrupted: tuple[Path, dict[str, Any]]
) -> None:
    with pytest.raises(RunDirectoryError, match="--resume"):
        run_cell(uninterrupted[0], configure(), corridor, sync=True)


@pytest.mark.parametrize("damage", [b"", b"\x00" * 5000])
def test_a_damaged_queue_is_rebuilt_on_resume(
    tmp_path: Path,
    corridor: Registry,
    configure: Configure,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    uninterrupted: tuple[Path, dict[str, Any]],
    damage: bytes,
) -> None:
    cell = tmp_path / "damaged"
    with monkeypatch.context() as patch:
        _kill_at(patch, LearnerTrainer, "update", 3)
        with pytest.raises(Killed):
            run_cell(cell, configure(), corridor, sync=True)
    for path in cell.glob("queue.db*"):
        path.write_bytes(damage)
    run_cell(cell, configure(), corridor, sync=True, resume=True)
    assert "rebuilt the queue index (the old one is queue.db.damaged-1): 12 episodes used" in capsys.readouterr().err
    assert lines(cell) == lines(uninterrupted[0])


def test_a_damaged_checkpoint_is_named(
    tmp_path: Path, corridor: Registry, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = tmp_path / "c"
    with monkeypatch.context() as patch:
        _kill_at(patch, LearnerTrainer, "update", 3)
        with pytest.raises(Killed):
            run_cell(cell, configure(), corridor, sync=True)
    path = sorted((cell / "checkpoints").iterdir())[-1]
    data = bytearray(path.read_bytes())
    data[-20] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorruptState, match=path.name):
        run_cell(cell, configure(), corridor, sync=True, resume=True)
    assert json.loads((cell / "summary.json").read_text())["status"] == "failed"


def test_faults_are_replaced_and_left_out(tmp_path: Path, corridor: Registry, configure: Configure) -> None:
    config = configure({"corridor.fault": "train-3,train-11", "corridor.crash": "train-20,eval-2"})
    summary = run_cell(tmp_path / "c", config, corridor, sync=True)
    assert summary["status"] == "finished"
    used = [episode for line in lines(tmp_path / "c") for episode in line["episodes"]]
    assert len(used) == len(set(used)) == 24
    queue = Queue(tmp_path / "c")
    errors = set(queue.faults().values())
    assert errors <= {"the corridor is flooded", "environment failed: ValueError: a stone fell"}
    assert summary["faults"] == len(queue.faults())
    assert summary["final"]["success"] == {"corridor": None}  # N/A: eval-2 never completed
    assert summary["final"]["environments"]["corridor"]["faults"] == 1
    records = [json.loads(line) for line in (tmp_path / "c" / "errors.jsonl").read_text().splitlines()]
    assert {record["class"] for record in records} == {"InfrastructureFault"}
    assert sum(record["rerun"] for record in records if record["task"] == "eval-2") == 4  # two in each evaluation


def test_a_sandbox_that_never_opens_stops_the_run_with_its_cause(
    tmp_path: Path, corridor: Registry, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop_module, "PATIENCE_SECONDS", 0.2)
    monkeypatch.setattr("camg.supervise.lockstep.OUTAGE_PAUSE", 0.01)
    with pytest.raises(BackendUnavailable, match=r"(?s)not one complete.*user namespaces.*camg doctor"):
        run_cell(tmp_path / "c", configure({"sandbox": "broken"}), corridor, sync=True)


def test_a_hanging_episode_does_not_stop_the_wave(tmp_path: Path, corridor: Registry, configure: Configure) -> None:
    config = configure(
        {"corridor.hang": "eval-1", "rollout.episode_seconds": 0.5, "run.updates": 1, "rollout.reruns": 0}
    )
    summary = run_cell(tmp_path / "c", config, corridor, sync=True)
    assert summary["final"]["environments"]["corridor"]["faults"] == 1
    records = [json.loads(line) for line in (tmp_path / "c" / "errors.jsonl").read_text().splitlines()]
    assert "_misbehave" in records[0]["message"]  # the diagnostic has the stack where it hangs


def test_a_stop_is_resumable(
    tmp_path: Path, corridor: Registry, configure: Configure, uninterrupted: tuple[Path, dict[str, Any]]
) -> None:
    import os
    import signal

    class Stopper:
        def update(self, report: Any) -> None:
            if report.update == 2:
                os.kill(os.getpid(), signal.SIGINT)

    cell = tmp_path / "stopped"
    with pytest.raises(Interrupted, match="--resume"):
        run_cell(cell, configure(), corridor, sync=True, reporters=[Stopper()])  # type: ignore[list-item]
    assert json.loads((cell / "summary.json").read_text())["status"] == "interrupted"
    run_cell(cell, configure(), corridor, sync=True, resume=True)
    assert lines(cell) == lines(uninterrupted[0])


def test_reporters_hear_everything_once_and_a_broken_one_is_detached(
    tmp_path: Path, corridor: Registry, configure: Configure, capsys: pytest.CaptureFixture[str]
) -> None:
    class Listener:
        def __init__(self) -> None:
            self.heard: list[tuple[str, Any]] = []

        def start(self, run: Any) -> None:
            self.heard.append(("start", run["settings"]["run.updates"]))

        def episode(self, episode: Any) -> None:
            self.heard.append(("episode", episode.id))

        def update(self, report: Any) -> None:
            self.heard.append(("update", report.update))

        def progress(self, progress: Any) -> None:
            self.heard.append(("progress", progress.phase))

        def finish(self, summary: Any) -> None:
            self.heard.append(("finish", summary["status"]))

    class Broken(Listener):
        def update(self, report: Any) -> None:
            raise RuntimeError("no network")

    class Frugal(Listener):
        needs_episodes = False

    listener, broken, frugal = Listener(), Broken(), Frugal()
    run_cell(tmp_path / "c", configure(), corridor, sync=True, reporters=[broken, listener, frugal])
    assert {kind for kind, _ in frugal.heard} == {"start", "update", "progress", "finish"}
    of = {kind: [what for k, what in listener.heard if k == kind] for kind in ("start", "episode", "update", "finish")}
    assert of == {"start": [4], "episode": list(range(24)), "update": [1, 2, 3, 4], "finish": ["finished"]}
    assert ("finish", "finished") not in broken.heard
    assert "reporter Broken failed in update and is detached: RuntimeError: no network" in capsys.readouterr().err


def test_only_evaluation_when_there_is_nothing_to_learn(
    tmp_path: Path, corridor: Registry, configure: Configure
) -> None:
    summary = run_cell(tmp_path / "c", configure({"run.updates": 0}), corridor, sync=True)
    assert summary["final"] == summary["initial"]
    assert summary["final"]["success"]["corridor"] is not None
    assert not (tmp_path / "c" / "checkpoints").exists()


def test_groups_must_divide_the_batch(
    tmp_path: Path, corridor: Registry, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    import attrs

    spec = attrs.evolve(corridor.spec("estimator", "response-gae"), group_size=4)
    original = Registry.spec
    monkeypatch.setattr(
        Registry, "spec", lambda self, kind, name: spec if kind == "estimator" else original(self, kind, name)
    )
    with pytest.raises(UsageError, match="multiple of 4"):
        run_cell(tmp_path / "c", configure(), corridor, sync=True)
    summary = run_cell(tmp_path / "d", configure({"run.episodes": 8, "corridor.fault": "train-3"}), corridor, sync=True)
    assert summary["episodes"] == 32
    queue = Queue(tmp_path / "d")
    groups: dict[int, set[State]] = {}
    for episode, state in queue.states().items():
        groups.setdefault(episode // 4, set()).add(state)
    assert all(
        states in ({State.USED}, {State.FAULTED, State.DROPPED}) or len(states) == 1 for states in groups.values()
    )


def _kill_at(monkeypatch: pytest.MonkeyPatch, target: Any, name: str, call: int) -> None:
    original = getattr(target, name)
    left = [call]

    def killed(*arguments: Any, **keywords: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise Killed
        return original(*arguments, **keywords)

    monkeypatch.setattr(target, name, killed)
