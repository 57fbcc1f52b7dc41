"""Evaluation in this process: pinned weights, paired seeds, faults that read N/A, a folder that can be taken up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from camg.config import RunConfig
from camg.errors import CorruptState
from camg.evaluate.plan import evaluation_plan, expected
from camg.evaluate.runner import evaluate
from camg.evaluate.scores import score, to_json
from camg.plugins import Registry
from camg.supervise import run_cell
from camg.types import Sampling

Configure = Callable[..., RunConfig]


@pytest.fixture
def trained(tmp_path: Path, corridor: Registry, configure: Configure) -> Path:
    settings = {"run.updates": 20, "run.episodes": 16, "rollout.slots": 16, "learner.actor_lr": 0.3}
    cell = tmp_path / "trained"
    run_cell(cell, configure(settings | {"evaluation.tasks": 0}), corridor, sync=True)
    return cell


def test_published_weights_are_evaluated_greedily(corridor: Registry, configure: Configure, trained: Path) -> None:
    config = configure()
    episodes = evaluate(config, corridor, weights=trained / "weights", tasks=12)
    assert [episode.id for episode in episodes] == list(range(12))
    assert {episode.split for episode in episodes} == {"eval"}
    assert {turn.policy_version for episode in episodes for turn in episode.turns} == {20}
    scores = score(episodes, expected(evaluation_plan(config, corridor, tasks=12)))
    assert scores["corridor"].success is not None
    assert scores["corridor"].success.estimate >= 0.5
    untrained = score(evaluate(config, corridor, weights=None, tasks=12), {"corridor": 12})["corridor"].success
    assert untrained is not None
    assert untrained.estimate < 0.3
    again = evaluate(config, corridor, weights=trained / "weights", tasks=12, slots=3)
    assert [e.turns[0].token_ids for e in again] == [e.turns[0].token_ids for e in episodes]


def test_a_version_can_be_named(corridor: Registry, configure: Configure, trained: Path) -> None:
    episodes = evaluate(configure(), corridor, weights=trained / "weights", version=19, tasks=2)
    assert {turn.policy_version for episode in episodes for turn in episode.turns} == {19}
    with pytest.raises(CorruptState, match="weights-00000003"):
        evaluate(configure(), corridor, weights=trained / "weights", version=3, tasks=2)
    with pytest.raises(CorruptState, match="no published weights"):
        evaluate(configure(), corridor, weights=trained / "nowhere", tasks=2)


def test_two_evaluations_are_paired(corridor: Registry, configure: Configure) -> None:
    config = configure()
    first, second = evaluation_plan(config, corridor, tasks=10), evaluation_plan(config, corridor, tasks=5)
    assert first[:5] == second
    assert len({dispatch.seed for dispatch in first}) == 10
    assert len(evaluation_plan(config, corridor, tasks=1000)) == 40  # the split has no more
    assert evaluation_plan(config, corridor, tasks=0) == []


def test_a_fault_through_all_reruns_reads_not_available(corridor: Registry, configure: Configure) -> None:
    config = configure({"corridor.fault": "eval-3"})
    episodes = evaluate(config, corridor, weights=None, tasks=6, sampling=Sampling())
    assert [episode.task for episode in episodes] == [f"eval-{n}" for n in (0, 1, 2, 4, 5)]
    found = to_json(score(episodes, {"corridor": 6}))
    assert found["success"] == {"corridor": None}
    assert found["complete"] == {"corridor": None}
    assert found["environments"]["corridor"]["faults"] == 1
    assert to_json(score(episodes, {"corridor": 5}))["success"]["corridor"] is not None


def test_what_is_there_is_not_run_again(tmp_path: Path, corridor: Registry, configure: Configure) -> None:
    folder = tmp_path / "evaluation"
    first = evaluate(configure(), corridor, weights=None, tasks=4, directory=folder)
    before = {path.name: path.stat().st_mtime_ns for path in (folder / "episodes").glob("*.gz")}
    second = evaluate(configure(), corridor, weights=None, tasks=6, directory=folder)
    assert second[:4] == first
    assert len(second) == 6
    assert all((folder / "episodes" / name).stat().st_mtime_ns == when for name, when in before.items())
