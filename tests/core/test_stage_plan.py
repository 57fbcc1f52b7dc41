"""A recipe divides a run's updates into stages: boundaries, the options of the memory in each, and every refusal."""

from __future__ import annotations

import pytest
from attrs import frozen
from attrs.validators import ge
from hypothesis import given, settings
from hypothesis import strategies as st

from camg import hookimpl
from camg.config import check_run, resolve_config, stage_plan
from camg.config.stages import StagePlan
from camg.errors import ConfigError, PluginError
from camg.plugins import load_registry
from camg.protocols import Recipe
from camg.specs import MemorySpec, RecipeSpec, option
from camg.types import Stage


@frozen
class NotesConfig:
    inject: bool = option(False, "help at every turn")
    top: int = option(3, "notes shown", validator=ge(1))


@frozen
class Given:
    """A recipe of whatever stages a test gives it."""

    found: object

    def stages(self):
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


class Parts:
    __name__ = "stages"

    def __init__(self, found):
        self.found = found

    @hookimpl
    def camg_memories(self):
        yield MemorySpec(name="notes", summary="", factory=lambda config: config, config=NotesConfig, pocket=True)

    @hookimpl
    def camg_recipes(self):
        yield RecipeSpec(name="given", summary="", factory=lambda config: Given(self.found))


def plan(found, recipe="given", **more):
    values = {"env": ["shop"], "memory": "notes", "recipe": recipe, "run.updates": 10, "run.episodes": 4, **more}
    registry = load_registry(quiet=True, extra=[Parts(found)])
    config = resolve_config(registry, command_line=values, environ={})
    return stage_plan(config, registry), config, registry


THIRDS = (
    Stage("one", 1 / 3, {"notes.inject": True}),
    Stage("two", 1 / 3, {"notes.top": 5}),
    Stage("three", 1 / 3),
)


def test_the_default_is_one_stage_with_the_memory_as_it_is():
    found, config, _ = plan((), recipe="whole", **{"notes.top": 7})
    assert (found.names, found.ends, found.updates()) == (("whole",), (10,), [10])
    assert found.memories == (config.component("memory", "notes"),) == (NotesConfig(top=7),)


def test_each_stage_has_its_options_and_the_others_as_they_are_set():
    found, _, _ = plan(THIRDS, **{"notes.top": 7})
    assert found.memories == (NotesConfig(inject=True, top=7), NotesConfig(top=5), NotesConfig(top=7))


def test_a_stage_goes_before_the_command_line():
    found, _, _ = plan(THIRDS, **{"notes.inject": "false"})
    assert found.memories[0].inject


def test_boundaries_by_hand():
    """10 updates in thirds end after 3.33, 6.67, 10 -> 3, 7, 10; of 4 episodes each: ids 12 and 28 are the first."""
    found, _, _ = plan(THIRDS)
    assert (found.ends, found.updates()) == ((3, 7, 10), [3, 4, 3])
    assert [found.stage(number) for number in (0, 11, 12, 27, 28, 39)] == [0, 0, 1, 1, 2, 2]
    assert found.stage(40) == found.stage(10_000) == 2  # in the place of faulted episodes


def test_the_option_of_the_kind_may_be_written_out():
    found, _, _ = plan((Stage("one", 1.0, {"memory:notes.inject": "yes"}),))
    assert found.memories == (NotesConfig(inject=True),)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(0, 200), st.integers(1, 9))
def test_stages_follow_one_another_and_fill_the_run(weights, updates, episodes):
    shares = [weight / sum(weights) for weight in weights]
    sums = [sum(shares[: index + 1]) for index in range(len(shares) - 1)]
    ends = (*(int(updates * share + 0.5) for share in sums), updates)
    found = StagePlan(tuple(map(str, range(len(shares)))), ends, (None,) * len(shares), episodes)
    assert sum(found.updates()) == updates
    seen = [found.stage(number) for number in range(updates * episodes)]
    assert seen == sorted(seen)
    counts = [seen.count(stage) for stage in range(len(shares))]
    assert counts == [count * episodes for count in found.updates()]
    for share, count in zip(shares, found.updates(), strict=True):
        assert abs(count - updates * share) <= 1


@pytest.mark.parametrize(
    ("found", "error", "words"),
    [
        ((), PluginError, "at least one stage.*got none"),
        (("one",), PluginError, "got a str"),
        ((Stage("one", 0.5),), PluginError, r"sum to 1, got \[0.5\]"),
        ((Stage("one", 1.5), Stage("two", -0.5)), PluginError, "above 0"),
        ((Stage("one", float("nan")),), PluginError, "above 0"),
        ((Stage("one", 0.5), Stage("one", 0.5)), PluginError, "names of their own"),
        ((Stage("", 1.0),), PluginError, "names of their own"),
        (ValueError("no plan"), PluginError, "recipe 'given' failed: ValueError: no plan"),
        ((Stage("one", 1.0, {"notes.injct": True}),), ConfigError, r"stage 'one'.*notes.injct.*Did you mean 'inject'"),
        ((Stage("one", 1.0, {"shell.inject": True}),), ConfigError, "uses the memory 'notes'(.|\n)*--memory shell"),
        ((Stage("one", 1.0, {"inject": True}),), ConfigError, "uses the memory 'notes'"),
        ((Stage("one", 1.0, {"notes.top": "many"}),), ConfigError, "a whole number, got 'many'.*stage 'one'"),
        ((Stage("one", 1.0, {"notes.top": 0}),), ConfigError, "a value >= 1, got.*0.*stage 'one'"),
    ],
)
def test_what_is_wrong_is_named(found, error, words):
    with pytest.raises(error, match=words):
        plan(found)


def test_a_stage_without_an_update_is_refused_before_the_run():
    _, config, registry = plan(THIRDS, **{"run.updates": 1})
    with pytest.raises(
        ConfigError, match=r"one update for each stage.*\(one, two, three\), got 1.*none for one, three"
    ):
        check_run(config, registry)
    _, config, registry = plan(THIRDS, **{"run.updates": 0})  # evaluation only: there is nothing to divide
    check_run(config, registry)


def test_the_protocol_is_kept():
    assert isinstance(load_registry(quiet=True).build("recipe", "whole"), Recipe)
