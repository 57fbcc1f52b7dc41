"""Loading: a broken or doubled plugin is named, and harms nobody else."""

from __future__ import annotations

import sys
import types
from importlib import metadata

import pytest
from attrs import frozen

from camg import hookimpl
from camg.errors import BackendUnavailable, PluginError, UsageError
from camg.plugins import KINDS, Status, load_registry
from camg.specs import BaselineSpec, EnvironmentSpec, MemorySpec, NoConfig, option


def plugin(name: str, **hooks):
    """A module with hooks: hook name -> the specs that it yields, or a function."""
    module = types.ModuleType(name)
    for hook, value in hooks.items():
        function = value if callable(value) else (lambda value=tuple(value): value)
        if not callable(value):
            function = eval("lambda: found", {"found": tuple(value)})  # a signature without arguments
        function.__name__ = hook
        setattr(module, hook, hookimpl(function))
    return module


def environment(name: str, factory=lambda config: config, **more) -> EnvironmentSpec:
    return EnvironmentSpec(name=name, summary="A maze.", factory=factory, budget=3, **more)


def only(*extra, **options):
    """A registry of these plugins and none that is installed."""
    return load_registry(extra=extra, disabled=[p.name for p in metadata.entry_points(group="camg")], **options)


def status(registry, name):
    return next(info for info in registry.plugins() if info.name == name).status


# ---------------------------------------------------------------- the good case
def test_a_plugin_offers_and_builds():
    @frozen
    class Config:
        size: int = option(3, "cells")

    spec = environment("maze", factory=lambda config: ("maze", config.size), config=Config)
    registry = only(plugin("mazes", camg_environments=[spec]))
    assert registry.names("environment") == ["maze"]
    assert registry.spec("environment", "maze") is spec
    assert registry.build("environment", "maze") == ("maze", 3)
    assert registry.build("environment", "maze", Config(size=5)) == ("maze", 5)
    assert registry.problems == []


def test_every_kind_has_a_hook_of_its_own():
    assert len({hook for hook, _ in KINDS.values()}) == len(KINDS) == 9


def test_a_factory_is_resolved_when_it_is_built(tmp_path, monkeypatch):
    (tmp_path / "late_part.py").write_text("class Maze:\n    def __init__(self, config): self.config = config\n")
    monkeypatch.syspath_prepend(tmp_path)
    registry = only(plugin("mazes", camg_environments=[environment("maze", factory="late_part:Maze")]))
    assert "late_part" not in sys.modules
    assert isinstance(registry.build("environment", "maze").config, NoConfig)
    assert "late_part" in sys.modules


# ---------------------------------------------------------------- broken, and not selected
def test_a_module_that_cannot_be_imported_is_one_line(capsys, tmp_path, monkeypatch):
    (tmp_path / "broken_plugin.py").write_text("raise RuntimeError('out of order\\nsecond line')\n")
    monkeypatch.syspath_prepend(tmp_path)
    registry = only("broken_plugin", plugin("mazes", camg_environments=[environment("maze")]))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert "'broken_plugin'" in lines[0]
    assert "RuntimeError: out of order" in lines[0]
    assert registry.names("environment") == ["maze"]
    assert status(registry, "broken_plugin") is Status.BROKEN


def test_a_module_that_exits_takes_nobody_along(capsys, tmp_path, monkeypatch):
    (tmp_path / "leaving_plugin.py").write_text("raise SystemExit(0)\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert status(only("leaving_plugin"), "leaving_plugin") is Status.BROKEN


@pytest.mark.parametrize(
    ("hooks", "reason"),
    [
        ({"camg_enviroments": [environment("maze")]}, "unknown hook 'camg_enviroments'"),
        ({"camg_environments": lambda extra: []}, "'camg_environments'; hookimpl definition: "),
        ({}, "no hook of camg"),
        ({"camg_environments": [MemorySpec(name="maze", summary="", factory=len)]}, "expected EnvironmentSpec"),
        ({"camg_environments": lambda: 3}, "expected an iterable of EnvironmentSpec, got int"),
        ({"camg_environments": lambda: 1 / 0}, "ZeroDivisionError"),
        ({"camg_environments": [environment("Maze!")]}, "'Maze!' cannot be a name"),
        ({"camg_environments": [environment("learner")]}, "'learner' cannot be a name"),
        ({"camg_environments": [environment("maze"), environment("maze")]}, "'maze' is given twice"),
    ],
)
def test_what_breaks_a_plugin_is_named(hooks, reason, capsys):
    good = plugin("good", camg_environments=[environment("good")])
    registry = only(plugin("bad", **hooks), good)
    assert reason in capsys.readouterr().err
    assert status(registry, "bad") is Status.BROKEN
    assert registry.names("environment") == ["good"]


def test_a_hook_that_raises_takes_all_specs_of_its_plugin_out(capsys):
    def fail():
        yield environment("half")
        raise ValueError("torn")

    registry = only(
        plugin("bad", camg_memories=[MemorySpec(name="m", summary="", factory=len)], camg_environments=fail)
    )
    assert registry.names("memory") == registry.names("environment") == []
    assert "ValueError: torn" in capsys.readouterr().err


# ---------------------------------------------------------------- broken, and selected
def test_a_selected_plugin_that_is_broken_exits_3_with_the_cause(capsys):
    registry = only(plugin("maze-plugin", camg_environments=lambda: 1 / 0))
    with pytest.raises(PluginError, match="ZeroDivisionError") as caught:
        registry.spec("environment", "maze")
    assert caught.value.exit_code == 3


def test_a_typing_error_stays_one_although_something_is_broken(capsys):
    registry = only(
        plugin("other", camg_memories=lambda: 1 / 0), plugin("mazes", camg_environments=[environment("maze")])
    )
    with pytest.raises(UsageError, match="Did you mean 'maze'") as caught:
        registry.spec("environment", "mase")
    assert caught.value.exit_code == 2


def test_a_factory_that_fails_is_a_plugin_error_and_keeps_a_handled_one():
    def unavailable(config):
        raise BackendUnavailable("no engine")

    specs = [
        environment("absent", factory="no_such_module_anywhere:X"),
        environment("failing", factory=lambda config: 1 / 0),
        environment("unavailable", factory=unavailable),
        environment("needy", requires=("no_such_module_anywhere",)),
    ]
    registry = only(plugin("mazes", camg_environments=specs))
    for name, error, words in (
        ("absent", PluginError, "could not be imported: there is no module 'no_such_module_anywhere'"),
        ("failing", PluginError, "could not be set up: ZeroDivisionError"),
        ("unavailable", BackendUnavailable, "no engine"),
        ("needy", PluginError, "pip install no_such_module_anywhere"),
    ):
        with pytest.raises(error, match=words):
            registry.build("environment", name)
    with pytest.raises(PluginError, match="expected a NoConfig as config, got int"):
        registry.build("environment", "failing", 3)


# ---------------------------------------------------------------- one name, two plugins
def test_two_plugins_of_one_name_and_neither_wins(capsys):
    one = plugin("one", camg_environments=[environment("maze"), environment("first")])
    two = plugin("two", camg_environments=[environment("maze"), environment("second")])
    registry = only(one, two)
    said = capsys.readouterr().err
    assert "'one'" in said
    assert "'two'" in said
    assert "--no-plugin one or --no-plugin two" in said
    assert registry.names("environment") == ["first", "second"]
    with pytest.raises(PluginError, match="Two plugins offer the environment 'maze'"):
        registry.spec("environment", "maze")


def test_order_does_not_decide_and_no_plugin_does(capsys):
    one = plugin("one", camg_environments=[environment("maze", factory=lambda c: 1)])
    two = plugin("two", camg_environments=[environment("maze", factory=lambda c: 2)])
    registry = load_registry(extra=[one, two], disabled=["one"])
    assert registry.build("environment", "maze") == 2
    assert status(registry, "one") is Status.DISABLED


class Point:
    """An entry point of a distribution that is not installed."""

    def __init__(self, name, value, distribution, module):
        self.name, self.value, self._module = name, value, module
        self.dist = types.SimpleNamespace(name=distribution, version="1.0")

    def load(self):
        return self._module


def test_two_distributions_register_one_plugin_name(capsys, monkeypatch):
    module = plugin("maze", camg_environments=[environment("maze")])
    points = [Point("maze", "a", "maze-one", module), Point("maze", "b", "maze-two", module)]
    monkeypatch.setattr(metadata, "entry_points", lambda group: points)
    registry = load_registry()
    said = capsys.readouterr().err
    assert "maze-one 1.0 and maze-two 1.0; neither is loaded" in said
    assert "--no-plugin maze-one or --no-plugin maze-two" in said
    assert registry.names("environment") == []
    assert load_registry(disabled=["Maze_One"]).names("environment") == ["maze"]
    assert load_registry(disabled=["external"]).names("environment") == []


def test_one_distribution_found_twice_on_the_path_is_one(monkeypatch):
    module = plugin("maze", camg_environments=[environment("maze")])
    points = [Point("maze", "a", "maze-one", module), Point("maze", "a", "maze_one", module)]
    monkeypatch.setattr(metadata, "entry_points", lambda group: points)
    assert load_registry().names("environment") == ["maze"]


# ---------------------------------------------------------------- variables
def test_strict_makes_any_problem_fatal(monkeypatch):
    bad = plugin("bad", camg_environments=lambda: 1 / 0)
    with pytest.raises(PluginError, match="strict mode"):
        only(bad, strict=True)
    monkeypatch.setenv("CAMG_STRICT_PLUGINS", "1")
    with pytest.raises(PluginError, match="ZeroDivisionError"):
        only(bad)
    only(plugin("good", camg_environments=[environment("maze")]))


def test_plugins_named_by_variables(monkeypatch, tmp_path):
    (tmp_path / "named_plugin.py").write_text(
        "from camg import hookimpl\nfrom camg.specs import BaselineSpec\n"
        "@hookimpl\ndef camg_baselines():\n    yield BaselineSpec(name='named', summary='')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("CAMG_PLUGINS", "named_plugin")
    assert "named" in load_registry(quiet=True).names("baseline")
    monkeypatch.setenv("CAMG_DISABLE_PLUGINS", "named_plugin, shop")
    registry = load_registry(quiet=True)
    assert "named" not in registry.names("baseline")
    assert "shop" not in registry.names("environment")


# ---------------------------------------------------------------- hooks and fingerprint
def test_an_observer_that_raises_is_named_and_detached(capsys):
    seen = []
    registry = only(
        plugin("bad", camg_run_start=lambda run: 1 / 0),
        plugin("good", camg_run_start=lambda run: seen.append(run["directory"])),
    )
    for _ in range(2):
        registry.hook.camg_run_start(run={"directory": "d"})
    assert seen == ["d", "d"]
    said = capsys.readouterr().err
    assert said.count("is detached") == 1
    assert "'bad'" in said
    assert status(registry, "bad") is Status.DETACHED


def test_results_of_generators_are_lists():
    def reasons(config):
        yield "one"
        yield "two"

    registry = only(plugin("strict", camg_validate_run=reasons), plugin("mild", camg_validate_run=lambda config: None))
    assert sorted(registry.hook.camg_validate_run(config={}), key=str) == [None, ["one", "two"]]
    with pytest.raises(AttributeError, match="no hook"):
        _ = registry.hook.camg_nothing


def test_the_fingerprint_tells_sets_of_plugins_apart():
    maze = plugin("mazes", camg_environments=[environment("maze")])
    other = plugin("mazes", camg_environments=[environment("labyrinth")])
    assert only(maze).fingerprint() == only(maze).fingerprint()
    assert only(maze).fingerprint() != only(other).fingerprint() != only().fingerprint()
    registry = only(maze, plugin("bad", camg_run_start=lambda run: 1 / 0))
    before = registry.fingerprint()
    registry.hook.camg_run_start(run={})
    assert registry.fingerprint() == before


def test_baselines_are_specs_without_a_factory():
    registry = only(plugin("b", camg_baselines=[BaselineSpec(name="mine", summary="", settings={"run.updates": 0})]))
    assert registry.spec("baseline", "mine").settings == {"run.updates": 0}
    with pytest.raises(UsageError, match=r"Unknown kind of component 'enviroment'. Did you mean 'environment'"):
        registry.names("enviroment")
