"""The hooks are a promise: their signatures are a snapshot, and each is documented with a plugin that registers."""

from __future__ import annotations

import inspect
import textwrap
import types
from collections.abc import Callable
from importlib import metadata

import pytest

from camg import hookspecs
from camg.config import resolve_config
from camg.plugins import KINDS, Status, load_registry

HOOKS: dict[str, Callable[..., object]] = {
    name: function for name, function in vars(hookspecs).items() if name.startswith("camg_") and callable(function)
}

SNAPSHOT = {
    "camg_environments": "() -> 'Iterable[EnvironmentSpec]'",
    "camg_memories": "() -> 'Iterable[MemorySpec]'",
    "camg_estimators": "() -> 'Iterable[EstimatorSpec]'",
    "camg_rewards": "() -> 'Iterable[RewardSpec]'",
    "camg_recipes": "() -> 'Iterable[RecipeSpec]'",
    "camg_baselines": "() -> 'Iterable[BaselineSpec]'",
    "camg_policies": "() -> 'Iterable[PolicySpec]'",
    "camg_sandboxes": "() -> 'Iterable[SandboxSpec]'",
    "camg_reporters": "() -> 'Iterable[ReporterSpec]'",
    "camg_validate_run": "(config: 'Mapping[str, Any]') -> 'Iterable[str]'",
    "camg_commands": "(cli: 'click.Group') -> 'None'",
    "camg_health_checks": "() -> 'Iterable[HealthCheck]'",
    "camg_run_start": "(run: 'Mapping[str, Any]') -> 'None'",
    "camg_episode_end": "(run: 'Mapping[str, Any]', episode: 'Episode') -> 'None'",
    "camg_update_end": "(run: 'Mapping[str, Any]', report: 'UpdateReport') -> 'None'",
    "camg_run_end": "(run: 'Mapping[str, Any]', outcome: 'Mapping[str, Any]') -> 'None'",
}
"""Changing a line here changes what third parties rely on: new hooks and arguments are additive, and announced."""


def example(hook: str) -> str:
    """The plugin in a hook's docstring: the indented block behind ``::``."""
    text = inspect.getdoc(HOOKS[hook]) or ""
    _, found, block = text.partition("::\n")
    return textwrap.dedent(block) if found else ""


def test_signatures_are_those_that_were_promised():
    assert {name: str(inspect.signature(function)) for name, function in HOOKS.items()} == SNAPSHOT


def test_every_kind_is_yielded_by_a_hook_that_exists():
    assert {hook for hook, _ in KINDS.values()} <= set(HOOKS)


@pytest.mark.parametrize("hook", HOOKS)
def test_a_hook_says_when_it_is_called(hook):
    assert (inspect.getdoc(HOOKS[hook]) or "").startswith("Called ")


@pytest.mark.parametrize("hook", HOOKS)
def test_the_documented_plugin_registers_and_works(hook, capsys):
    module = types.ModuleType("documented")
    exec(compile(example(hook), f"<docstring of {hook}>", "exec"), module.__dict__)
    installed = [point.name for point in metadata.entry_points(group="camg")]
    registry = load_registry(extra=[module], disabled=installed, strict=True)
    (info,) = [info for info in registry.plugins() if info.name == "documented"]
    assert info.status is Status.LOADED
    implementations = getattr(registry._manager.hook, hook).get_hookimpls()
    assert [implementation.plugin for implementation in implementations] == [module]
    for kind, (name, _) in KINDS.items():
        if name == hook:
            assert len(registry.names(kind)) == 1


def test_the_documented_observers_run(capsys):
    settings = resolve_config(load_registry(quiet=True), environ={}).flat()
    arguments = {
        "camg_run_start": {"run": {"directory": "runs/x"}},
        "camg_run_end": {"run": {}, "outcome": {"status": "finished"}},
        "camg_validate_run": {"config": {**settings, "env": ["maze"], "memory": "mem0"}},
        "camg_health_checks": {},
    }
    for hook, given in arguments.items():
        module = types.ModuleType("documented")
        exec(compile(example(hook), f"<docstring of {hook}>", "exec"), module.__dict__)
        results = getattr(load_registry(extra=[module], quiet=True).hook, hook)(**given)
        assert results
    out, err = capsys.readouterr()
    assert out.splitlines() == ["runs/x", "finished"]
    assert "detached" not in err
