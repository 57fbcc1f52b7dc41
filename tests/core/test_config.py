"""Settings: precedence and provenance, typed conversion, round trips, grids, what cannot run."""

from __future__ import annotations

import enum
import math
import string
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Literal

import attrs
import pytest
from attrs import frozen
from attrs.validators import ge, in_
from hypothesis import given
from hypothesis import strategies as st

from camg import hookimpl
from camg.config import (
    SECTIONS,
    RunConfig,
    check_run,
    eval_split,
    expand,
    load_cell,
    parse_axis,
    reasons_against,
    resolve_config,
    train_split,
)
from camg.config.convert import convert
from camg.config.toml import format_value, write_toml
from camg.errors import BackendUnavailable, ConfigError, DataError, PluginError, UsageError
from camg.plugins import load_registry
from camg.specs import (
    BaselineSpec,
    EnvironmentSpec,
    EstimatorSpec,
    MemorySpec,
    PolicySpec,
    RecipeSpec,
    RewardSpec,
    SandboxSpec,
    option,
)


class Mode(enum.StrEnum):
    FAST = "fast"
    SLOW = "slow"


@frozen
class MazeConfig:
    sessions: int = option(6, "purchases", validator=ge(1))
    mode: Mode = option(Mode.FAST, "how")
    rate: float = option(0.5, "how often")
    folder: Path | None = option(None, "where")
    sizes: tuple[int, ...] = option((1, 2), "how large")
    strict: bool = option(False, "whether")
    kind: Literal["a", "b"] = option("a", "which")


@frozen
class ProcessConfig:
    i_know_this_is_not_isolated: bool = option(False, "")


@frozen
class ModelConfig:
    model: str
    depth: int = option(2, "layers")


def build(config):
    return config


def spec(cls, name, **more):
    return cls(name=name, summary=f"The {name}.", factory=build, **more)


class Parts:
    """One of each kind, and the odd ones."""

    __name__ = "parts"

    @hookimpl
    def camg_environments(self):
        yield spec(
            EnvironmentSpec, "maze", budget=3, config=MazeConfig, pocket_split="small", pocket_eval_split="small-eval"
        )
        yield spec(EnvironmentSpec, "ocean", budget=3)
        yield spec(EnvironmentSpec, "extra", budget=3, suite=False, pocket_split="s", pocket_eval_split="e")

    @hookimpl
    def camg_memories(self):
        yield spec(MemorySpec, "shell", pocket=True)
        yield spec(MemorySpec, "mem0", pocket_reason="its prompt has 8,000 tokens")
        yield spec(MemorySpec, "twin", pocket=True, config=MazeConfig)

    @hookimpl
    def camg_estimators(self):
        yield spec(EstimatorSpec, "response-gae")
        yield spec(EstimatorSpec, "grpo", group_size=8, clip=0.28)
        yield spec(EstimatorSpec, "twin", config=MazeConfig)

    @hookimpl
    def camg_policies(self):
        profile = {
            "run.updates": 130,
            "learner.actor_lr": 3e-4,
            "rollout.prompt_tokens": 512,
            "rollout.response_tokens": 32,
            "rollout.reserve_tokens": 32,
        }
        yield spec(PolicySpec, "pocket", embedded=True, profile=profile)
        yield spec(PolicySpec, "scripted", trainable=False)
        yield spec(PolicySpec, "model", config=ModelConfig)

    @hookimpl
    def camg_sandboxes(self):
        yield spec(SandboxSpec, "bwrap")
        yield spec(SandboxSpec, "process", isolated=False, config=ProcessConfig)
        yield spec(SandboxSpec, "absent", probe=lambda: "no kernel for it")

    @hookimpl
    def camg_rewards(self):
        yield spec(RewardSpec, "task")

    @hookimpl
    def camg_recipes(self):
        yield RecipeSpec(name="whole", summary="", factory="camg_training.whole:Whole")

    @hookimpl
    def camg_baselines(self):
        yield BaselineSpec(
            name="mine",
            summary="",
            components={"estimator": "grpo"},
            settings={"learner.entropy": 0.1, "run.updates": 7},
        )
        yield BaselineSpec(name="wrong", summary="", settings={"lerner.entropy": 0.1})

    @hookimpl
    def camg_validate_run(self, config):
        if config["env"] == ["extra"] and config["memory"] != "shell":
            yield "extra needs the shell"


@pytest.fixture(scope="module")
def registry():
    installed = [p.name for p in metadata.entry_points(group="camg")]
    return load_registry(extra=[Parts()], disabled=installed)


def resolve(registry, environ=None, **arguments):
    settings = arguments.pop("set", {})
    settings = {"env": ["maze"], **settings}
    return resolve_config(registry, command_line=settings, environ=environ or {}, **arguments)


# ---------------------------------------------------------------- layers
def test_each_layer_gives_way_to_the_one_above(registry, tmp_path):
    file = tmp_path / "f.toml"
    file.write_text("[run]\nupdates = 9\n")
    layers = [
        ({"set": {"run.updates": "3"}}, 3, "command line"),
        ({"environ": {"CAMG_RUN_UPDATES": "5"}}, 5, "environment"),
        ({"file": file}, 9, f"file {file}"),
        ({"set": {"baseline": "mine"}}, 7, "baseline mine"),
        ({}, 130, "profile of the policy pocket"),
        ({"set": {"policy": "model", "model.model": "x"}}, 200, "default"),
    ]
    for start in range(len(layers) - 1):
        together: dict = {}
        for arguments, _, _ in reversed(layers[start:-1]):
            together = {**together, **arguments, "set": {**together.get("set", {}), **arguments.get("set", {})}}
        config = resolve(registry, **together)
        assert (config.run.updates, config.sources["run.updates"]) == layers[start][1:]
    config = resolve(registry, **layers[-1][0])
    assert (config.run.updates, config.sources["run.updates"]) == layers[-1][1:]


def test_defaults_and_the_suite(registry):
    config = resolve_config(registry, environ={})
    assert config.envs == ("maze", "ocean")  # extra is no part of the suite
    assert (config.memory, config.estimator, config.policy, config.sandbox) == (
        "shell",
        "response-gae",
        "pocket",
        "bwrap",
    )
    assert config.baseline is None
    assert set(config.flat()) == set(config.sources)


def test_the_estimators_clip_is_a_default(registry):
    assert resolve(registry, set={"estimator": "grpo"}).learner.clip == 0.28
    config = resolve(registry, set={"estimator": "grpo", "learner.clip": "0.1"})
    assert (config.learner.clip, config.sources["learner.clip"]) == (0.1, "command line")


def test_components_that_share_a_name_are_told_apart_by_their_options():
    registry = load_registry(quiet=True)
    both = {"env": ["shop"], "memory": "compaction", "estimator": "compaction", "policy": "torch"}
    config = resolve(registry, set={**both, "compaction.credit": "original", "compaction.gamma": "0.5"})
    assert config.component("memory", "compaction").credit == "original"
    assert config.component("estimator", "compaction").gamma == 0.5
    with pytest.raises(ConfigError, match=r"compaction\.nothing"):
        resolve(registry, set={**both, "compaction.nothing": "1"})


def test_a_baseline_brings_components_and_the_command_line_wins(registry):
    assert resolve(registry, set={"baseline": "mine"}).estimator == "grpo"
    config = resolve(registry, set={"baseline": "mine", "estimator": "response-gae"})
    assert (config.estimator, config.baseline, config.learner.entropy) == ("response-gae", "mine", 0.1)


def test_environment_variables_name_components_too(registry):
    config = resolve_config(registry, environ={"CAMG_ENV": "maze,extra", "CAMG_MAZE_SESSIONS": "2", "CAMG_SEED_X": "1"})
    assert config.envs == ("maze", "extra")
    assert config.component("environment", "maze").sessions == 2


def test_a_file_may_hold_options_of_components_that_are_not_used(registry, tmp_path):
    file = tmp_path / "f.toml"
    file.write_text('memory = "mem0"\n[twin]\nsessions = 3\n[maze]\nsessions = 4\nmode = "slow"\n')
    config = resolve(registry, file=file)
    assert config.memory == "mem0"
    assert config.component("environment", "maze") == MazeConfig(sessions=4, mode=Mode.SLOW)


def test_two_components_of_one_name_are_told_apart(registry):
    settings = {"memory": "twin", "estimator": "twin", "memory:twin.sessions": "2", "estimator:twin.sessions": "3"}
    config = resolve(registry, set=settings)
    assert config.component("memory", "twin").sessions == 2
    assert config.component("estimator", "twin").sessions == 3


# ---------------------------------------------------------------- what is refused
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"lerner.actor_lr": "1"}, "Unknown setting 'lerner.actor_lr' .*Did you mean 'learner'"),
        ({"learner.actor_rl": "1"}, "Did you mean 'learner.actor_lr'"),
        ({"maze.sesions": "1"}, "Did you mean 'maze.sessions'"),
        ({"sed": "1"}, "Did you mean 'run.seed'"),
        ({"maze.sessions": "many"}, "maze.sessions: Expected a whole number, got 'many' .from the command line"),
        ({"maze.sessions": "1.5"}, "Expected a whole number"),
        ({"maze.sessions": True}, "Expected a whole number, got the bool True"),
        ({"maze.sessions": "0"}, "maze.sessions: Expected a value >= 1, got the int 0"),
        ({"maze.mode": "medium"}, "Expected one of fast, slow, got 'medium'"),
        ({"maze.kind": "c"}, "Expected one of a, b, got 'c'"),
        ({"maze.rate": "nan"}, "Expected a finite number"),
        ({"maze.strict": "maybe"}, "Expected true or false"),
        ({"maze.sizes": "1,x"}, "Expected a list of whole number"),
        ({"learner.precision": "fp8"}, "Expected one of fp32, bf16, got 'fp8'"),
        ({"mem0.x": "1"}, "this run does not use 'mem0'"),
        ({"env": []}, "at least one name"),
        ({"env": ["maze", "maze"]}, "'maze' twice"),
        ({"baseline": "wrong"}, "'lerner.entropy' .from the baseline wrong"),
        ({"policy": "model"}, "model.model must be set"),
    ],
)
def test_wrong_settings_are_named(registry, settings, words):
    with pytest.raises(ConfigError, match=words) as caught:
        resolve(registry, set=settings)
    assert caught.value.exit_code == 2


def test_wrong_components_are_named(registry):
    with pytest.raises(UsageError, match=r"Unknown memory 'shel'. Did you mean 'shell'"):
        resolve(registry, set={"memory": "shel"})
    with pytest.raises(ConfigError, match=r"CAMG_LEARNER_ACTOR_RL.*CAMG_LEARNER_ACTOR_LR"):
        resolve(registry, environ={"CAMG_LEARNER_ACTOR_RL": "1"})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[run\n", "not valid TOML: .*line 1"),
        ('[run]\nseed = "3"x', "not valid TOML"),
        ("[run.deep]\nx = 1\n", "one level of tables"),
        ("[maze]\nsessions = 2.5\n", "Expected a whole number, got the float 2.5"),
        ("[nothing]\nx = 1\n", "Unknown setting 'nothing.x'"),
    ],
)
def test_wrong_files_are_named(registry, tmp_path, text, words):
    file = tmp_path / "f.toml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=words):
        resolve(registry, file=file)
    with pytest.raises(ConfigError, match="does not exist"):
        resolve(registry, file=tmp_path / "absent.toml")


def test_a_validator_of_ones_own_is_reworded(registry):
    def even(instance, attribute, value):
        if value % 2:
            raise ValueError(f"expected an even number, got {value}")

    @frozen
    class Odd:
        width: int = option(2, "", validator=even)
        shape: str = option("a", "", validator=in_(("a",)))

    class Plugin:
        __name__ = "odd"

        @hookimpl
        def camg_environments(self):
            yield spec(EnvironmentSpec, "odd", budget=1, config=Odd)

    installed = [p.name for p in metadata.entry_points(group="camg")]
    odd = load_registry(extra=[Parts(), Plugin()], disabled=installed)
    with pytest.raises(ConfigError, match=r"odd.width: Expected an even number, got the int 3"):
        resolve_config(odd, command_line={"env": ["odd"], "odd.width": "3"}, environ={})
    with pytest.raises(ConfigError, match=r"odd.shape: Expected one of a, got 'b'"):
        resolve_config(odd, command_line={"env": ["odd"], "odd.shape": "b"}, environ={})


# ---------------------------------------------------------------- on disk
text = st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=20)


@given(st.dictionaries(text.filter(bool), st.one_of(st.booleans(), st.integers(-(2**60), 2**60), text, st.lists(text))))
def test_the_writer_is_read_back(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("toml") / "x.toml"
    write_toml(path, {"": values, "a b": values}, comments={})
    assert tomllib.loads(path.read_text()) == {**values, "a b": values} if "a b" not in values else True


@given(st.floats(allow_nan=False))
def test_floats_are_exact(value):
    again = tomllib.loads(f"x = {format_value(value)}")["x"]
    assert again == value
    assert math.copysign(1, again) == math.copysign(1, value)


@given(
    st.fixed_dictionaries(
        {
            "learner.actor_lr": st.floats(0, 1),
            "run.seed": st.integers(0, 2**40),
            "maze.mode": st.sampled_from(Mode),
            "maze.folder": st.none() | st.text(string.printable, min_size=1).filter(lambda t: t != "none").map(Path),
            "maze.sizes": st.lists(st.integers(), max_size=4).map(tuple),
            "maze.strict": st.booleans(),
        }
    )
)
def test_a_config_round_trips_exactly(registry, tmp_path_factory, settings):
    path = tmp_path_factory.mktemp("config") / "config.toml"
    config = resolve(registry, set={k: v for k, v in settings.items() if v is not None})
    config.save(path, registry=registry)
    again = RunConfig.load(path, registry)
    assert again == config
    assert again.digest() == config.digest()
    written = tomllib.loads(path.read_text())
    for section, cls in SECTIONS.items():
        assert set(written[section]) == {field.name for field in attrs.fields(cls)}  # all values are explicit


def test_a_saved_file_speaks_of_sources_and_serves_as_config(registry, tmp_path):
    path = tmp_path / "config.toml"
    config = resolve(registry, set={"learner.actor_lr": "1e-5", "baseline": "mine"})
    config.save(path, registry=registry)
    assert "actor_lr = 1e-05  # command line" in path.read_text()
    assert resolve_config(registry, file=path, environ={}) == config


def test_the_hash_follows_the_values_alone(registry):
    base = resolve(registry)
    assert len(base.digest()) == 8
    assert base.digest() == resolve(registry, set={"run.updates": "130"}).digest()
    assert base.digest() != resolve(registry, set={"run.updates": "131"}).digest()
    assert base.differences(resolve(registry, set={"run.seed": "4"})) == {"run.seed": (0, 4)}


def test_a_process_with_other_plugins_is_refused(tmp_path, monkeypatch):
    (tmp_path / "cell_parts.py").write_text(
        "from camg import hookimpl\nfrom camg.specs import BaselineSpec\n"
        "@hookimpl\ndef camg_baselines():\n    yield BaselineSpec(name='cell-parts', summary='')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("CAMG_PLUGINS", "cell_parts")
    registry = load_registry(disabled=["baselines"], quiet=True)
    config = resolve_config(registry, command_line={"env": ["shop"]}, environ={})
    config.save(tmp_path / "config.toml", registry=registry)
    loaded, found = load_cell(tmp_path)
    assert loaded == config
    assert "camg-rl" not in found.names("baseline")
    monkeypatch.delenv("CAMG_PLUGINS")
    with pytest.raises(PluginError, match="other plugins"):
        load_cell(tmp_path)


# ---------------------------------------------------------------- conversion
@pytest.mark.parametrize(
    ("value", "kind", "result"),
    [
        ("1e-6", float, 1e-6),
        (3, float, 3.0),
        ("30_720", int, 30_720),
        ("YES", bool, True),
        ("0", bool, False),
        ("none", int | None, None),
        ("4", int | None, 4),
        ("a,b", tuple[str, ...], ("a", "b")),
        (["a"], list[str], ["a"]),
        ("x", Path, Path("x")),
        ("b", Literal["a", "b"], "b"),
        ("slow", Mode, Mode.SLOW),
    ],
)
def test_conversion(value, kind, result):
    found = convert("x", value, kind, "test")
    assert found == result
    assert type(found) is type(result)


# ---------------------------------------------------------------- grids
def test_the_grid_multiplies_and_the_last_axis_varies_fastest():
    name, values = parse_axis("run.seed=0, 1,2")
    assert (name, values) == ("run.seed", ["0", "1", "2"])
    grid = list(expand({"memory": ["a", "b"], "env": ["x", "x+y"]}))
    assert grid == [
        {"memory": "a", "env": ["x"]},
        {"memory": "a", "env": ["x", "y"]},
        {"memory": "b", "env": ["x"]},
        {"memory": "b", "env": ["x", "y"]},
    ]
    assert list(expand({})) == [{}]


@pytest.mark.parametrize("text", ["run.seed", "=1", "run.seed=", "run.seed=,"])
def test_wrong_axes_are_named(text):
    with pytest.raises(ConfigError, match="--sweep"):
        parse_axis(text)


# ---------------------------------------------------------------- what cannot run
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"memory": "mem0"}, "memory 'mem0' does not go with the policy 'pocket': its prompt has 8,000 tokens"),
        ({"env": ["maze", "ocean"]}, "environment 'ocean' does not go with the policy 'pocket'"),
        ({"policy": "scripted"}, "cannot be trained"),
        ({"rollout.prompt_tokens": "64"}, r"more than rollout.response_tokens \+ rollout.reserve_tokens = 64, got 64"),
        ({"estimator": "grpo", "run.episodes": "12"}, "multiple of 8"),
        ({"sandbox": "process"}, "--i-know-this-is-not-isolated"),
        ({"env": ["extra"], "memory": "twin"}, "extra needs the shell"),
        ({"memory": "mem0", "sandbox": "process"}, "2 reasons"),
    ],
)
def test_reasons_against_a_run(registry, settings, words):
    with pytest.raises(ConfigError, match=words):
        check_run(resolve(registry, set=settings), registry)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"policy": "scripted", "run.updates": "0"},
        {"policy": "model", "model.model": "x", "memory": "mem0", "env": ["ocean"]},
        {"env": ["ocean"], "run.split": "s", "evaluation.split": "e"},
        {"sandbox": "process", "process.i_know_this_is_not_isolated": "yes"},
    ],
)
def test_nothing_against_these(registry, settings):
    config = resolve(registry, set=settings)
    assert reasons_against(config, registry) == []
    check_run(config, registry)


def test_a_sandbox_that_cannot_run_is_exit_4(registry):
    with pytest.raises(BackendUnavailable, match="no kernel for it") as caught:
        check_run(resolve(registry, set={"sandbox": "absent"}), registry)
    assert caught.value.exit_code == 4


def test_the_embedded_policy_implies_its_splits(registry):
    pocket = resolve(registry)
    assert (train_split(pocket, registry, "maze"), eval_split(pocket, registry, "maze")) == ("small", "small-eval")
    model = resolve(registry, set={"policy": "model", "model.model": "x"})
    assert (train_split(model, registry, "maze"), eval_split(model, registry, "maze")) == ("train", "eval")
    named = resolve(registry, set={"run.split": "mine", "evaluation.split": "theirs"})
    assert (train_split(named, registry, "maze"), eval_split(named, registry, "maze")) == ("mine", "theirs")
    with pytest.raises(ConfigError, match="no tasks of a size"):
        train_split(pocket, registry, "ocean")
    assert issubclass(ConfigError, UsageError)
    assert issubclass(DataError, UsageError)
