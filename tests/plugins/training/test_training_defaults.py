"""The default reward and recipe: chosen without being named, and changing nothing."""

from __future__ import annotations

import json

import pytest

from camg.cli import run_cli
from camg.config import resolve_config, stage_plan
from camg.plugins import load_registry
from camg.protocols import Recipe, Reward
from camg.types import Stage


def test_they_are_the_defaults():
    registry = load_registry(quiet=True)
    config = resolve_config(registry, command_line={"env": ["shop"]}, environ={})
    assert (config.reward, config.sources["reward"]) == ("task", "default")
    assert (config.recipe, config.sources["recipe"]) == ("whole", "default")
    assert stage_plan(config, registry).memories == (config.component("memory", config.memory),)


def test_they_keep_their_protocols():
    registry = load_registry(quiet=True)
    assert isinstance(registry.build("reward", "task"), Reward)
    recipe = registry.build("recipe", "whole")
    assert isinstance(recipe, Recipe)
    assert recipe.stages() == (Stage("whole", 1.0),)


def test_the_command_line_takes_them(capsys):
    assert run_cli(["run", "--env", "shop", "--reward", "task", "--recipe", "whole", "--dry-run", "--json"]) == 0
    (cell,) = [json.loads(capsys.readouterr().out)]
    assert '"task"' in json.dumps(cell)


@pytest.mark.parametrize("kind", ["reward", "recipe"])
def test_the_command_line_refuses_unknown_names(kind, capsys):
    assert run_cli(["run", "--env", "shop", f"--{kind}", "nothing", "--dry-run"]) == 2
    assert f"Unknown {kind} 'nothing'" in capsys.readouterr().err
