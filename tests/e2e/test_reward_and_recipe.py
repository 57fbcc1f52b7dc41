"""A reward and a recipe of a third party, through whole runs: in lock-step twice, resumed, and with processes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from camg.config import RunConfig
from camg.errors import PluginError
from camg.plugins import Registry, load_registry
from camg.rollout.queue import Queue
from camg.supervise import run_cell
from camg.supervise.trainer import LearnerTrainer
from camg.types import Episode

Configure = Callable[..., RunConfig]

PLUGIN = """
from attrs import frozen
from camg import hookimpl
from camg.protocols import Replace
from camg.specs import MemorySpec, RecipeSpec, RewardSpec, option
from camg.types import Stage

@frozen
class Config:
    word: str = option("none", "what the instructions say")

@frozen
class Saying:
    config: Config
    tools = ()
    def instructions(self, *, terse):
        return "word " + self.config.word
    def open(self, view):
        return Session()

class Session:
    def before_turn(self): return None
    def handle(self, action): raise KeyError(action)
    def at_boundary(self, boundary): return Replace()
    def review(self, action, before, after): raise KeyError(action)
    def accesses(self, action, before, after): return False
    def after_action(self, action, result): return result
    def close(self): pass

class Fixed:
    def __init__(self, config): pass
    def rewards(self, episode): return [0.25] * len(episode.turns)

class Short(Fixed):
    def rewards(self, episode): return [0.25]

class Halves:
    def __init__(self, config): pass
    def stages(self):
        return [Stage("early", 0.5, {"saying.word": "early"}), Stage("late", 0.5, {"saying.word": "late"})]

@hookimpl
def camg_memories():
    yield MemorySpec(name="saying", summary="Says a word.", factory=Saying, config=Config, pocket=True)

@hookimpl
def camg_rewards():
    yield RewardSpec(name="fixed", summary="A quarter a turn.", factory=Fixed)
    yield RewardSpec(name="short", summary="Too few.", factory=Short)

@hookimpl
def camg_recipes():
    yield RecipeSpec(name="halves", summary="Two halves.", factory=Halves)
"""


@pytest.fixture
def toy(tmp_path: Path, corridor: Registry, monkeypatch: pytest.MonkeyPatch) -> Registry:
    """The corridor and the plugin above, here and in every child process."""
    folder = tmp_path / "plugin"
    folder.mkdir()
    (folder / "toy_recipe.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(str(folder))
    support = Path(__file__).parent / "support"
    monkeypatch.setenv("PYTHONPATH", f"{support}:{folder}")
    monkeypatch.setenv("CAMG_PLUGINS", "corridor,toy_recipe")
    return load_registry()


SETTINGS = {"memory": "saying", "reward": "fixed", "recipe": "halves", "run.updates": 2, "run.episodes": 4}


def settings(toy: Registry, configure: Configure, **more: Any) -> RunConfig:
    from camg.config import resolve_config

    small = {key: value for key, value in configure().flat().items() if configure().sources[key] == "command line"}
    return resolve_config(toy, command_line={**small, **SETTINGS, **more}, environ={})


def episodes(folder: Path) -> dict[int, Episode]:
    queue = Queue(folder)
    try:
        return {number: queue.store.read(number) for number in queue.store.ids()}
    finally:
        queue.close()


def metrics(cell: Path) -> list[dict[str, float]]:
    return [json.loads(line)["metrics"] for line in (cell / "metrics.jsonl").read_text().splitlines()]


def check(cell: Path) -> None:
    found = episodes(cell)
    for number, episode in found.items():
        stage = "early" if number < 4 else "late"  # 2 updates of 4 episodes, halved
        assert episode.meta["stage"] == stage
        text = bytes(token for token in episode.segments[0].token_ids if token < 256).decode(errors="replace")
        assert f"word {stage}" in text
    for name in ("initial", "final"):
        evaluated = episodes(cell / "evaluation" / name)
        assert len(evaluated) == 5
        assert {episode.meta["stage"] for episode in evaluated.values()} == {"late"}
    reports = metrics(cell)
    assert len(reports) == 2
    for number, line in enumerate(reports):
        mine = [found[index] for index in range(4 * number, 4 * number + 4)]
        turns = sum(len(episode.turns) for episode in mine) / 4
        assert line["return/shaped"] == pytest.approx(0.25 * turns)
        assert line["return/mean"] == pytest.approx(sum(episode.reward for episode in mine) / 4)
        assert line["return/mean"] != line["return/shaped"]


def test_in_lockstep_stages_and_shaped_rewards_are_the_same_twice(
    tmp_path: Path, toy: Registry, configure: Configure
) -> None:
    for name in ("one", "two"):
        run_cell(tmp_path / name, settings(toy, configure), toy, sync=True)
        check(tmp_path / name)
    assert metrics(tmp_path / "one") == metrics(tmp_path / "two")


def test_a_resumed_run_goes_on_in_its_stage(
    tmp_path: Path, toy: Registry, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = settings(toy, configure)
    run_cell(tmp_path / "whole", config, toy, sync=True)

    class Killed(BaseException):
        pass

    original = LearnerTrainer.update

    def killed(self: LearnerTrainer, given: Any) -> Any:
        if self.updates == 1:
            raise Killed
        return original(self, given)

    with monkeypatch.context() as patch:
        patch.setattr(LearnerTrainer, "update", killed)
        with pytest.raises(Killed):
            run_cell(tmp_path / "cut", config, toy, sync=True)
    run_cell(tmp_path / "cut", config, toy, sync=True, resume=True)
    check(tmp_path / "cut")
    assert metrics(tmp_path / "cut") == metrics(tmp_path / "whole")


def test_one_stage_leaves_no_mark(tmp_path: Path, toy: Registry, configure: Configure) -> None:
    run_cell(tmp_path / "c", settings(toy, configure, recipe="whole", reward="task"), toy, sync=True)
    assert all("stage" not in episode.meta for episode in episodes(tmp_path / "c").values())
    assert all(line["return/shaped"] == line["return/mean"] for line in metrics(tmp_path / "c"))


def test_with_processes(tmp_path: Path, toy: Registry, configure: Configure) -> None:
    run_cell(tmp_path / "c", settings(toy, configure), toy)
    check(tmp_path / "c")


def test_a_reward_of_the_wrong_length_stops_the_run_and_is_named(
    tmp_path: Path, toy: Registry, configure: Configure
) -> None:
    with pytest.raises(PluginError, match="reward 'short': Expected one reward for each of the 2 turns"):
        run_cell(tmp_path / "c", settings(toy, configure, reward="short"), toy, sync=True)
