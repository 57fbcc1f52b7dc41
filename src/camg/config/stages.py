"""The stages of a run: which options of the memory hold for which episodes."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

import attrs
from attrs import frozen

from camg.config.convert import convert, make, option_types
from camg.config.record import RunConfig
from camg.errors import CamgError, ConfigError, PluginError
from camg.plugins import Registry, did_you_mean
from camg.types import Stage

TOLERANCE = 1e-6  # of the sum of the shares: thirds need not be exact


@frozen
class StagePlan:
    """The stages of one run. A pure function of its settings: a resumed run continues in the stage that it was in."""

    names: tuple[str, ...]
    ends: tuple[int, ...]  # of each stage: the first update (from 0) that no longer belongs to it
    memories: tuple[Any, ...]  # of each stage: the memory's config object
    episodes: int  # of one update

    def stage(self, dispatch: int) -> int:
        """The stage of a training episode, by its dispatch id: that of update ``dispatch // episodes``.

        Ids past the last update (episodes that stand in for faulted ones) belong to the last stage.
        """
        return min(bisect_right(self.ends, dispatch // self.episodes), len(self.names) - 1)

    def updates(self) -> list[int]:
        """How many updates each stage has."""
        return [end - start for start, end in zip((0, *self.ends), self.ends, strict=False)]


def stage_plan(config: RunConfig, registry: Registry) -> StagePlan:
    """Divide the updates of a cell by its recipe.

    A stage ends after ``updates * (sum of the shares up to it)``, rounded half up. Its settings go before every layer
    of settings, the command line too, since they are what the recipe is. Raises :class:`PluginError` for a recipe that
    breaks its protocol, :class:`ConfigError` for a setting that the run's memory does not have or refuses.
    """
    label = f"recipe '{config.recipe}'"
    recipe = registry.build("recipe", config.recipe, config.component("recipe", config.recipe))
    try:
        stages = tuple(recipe.stages())
    except CamgError:
        raise
    except Exception as error:
        raise PluginError(f"The {label} failed: {type(error).__name__}: {error}") from error
    _check(label, stages)
    sums = accumulate(stage.share for stage in stages[:-1])
    ends = (*(math.floor(config.run.updates * share + 0.5) for share in sums), config.run.updates)
    memories = tuple(_memory(config, f"stage '{stage.name}' of the {label}", stage.settings) for stage in stages)
    return StagePlan(tuple(stage.name for stage in stages), ends, memories, config.run.episodes)


def _check(label: str, stages: Sequence[Any]) -> None:
    wrong = [stage for stage in stages if not isinstance(stage, Stage)]
    if not stages or wrong:
        got = f"a {type(wrong[0]).__name__}" if wrong else "none"
        raise PluginError(f"The {label}: Expected at least one stage, each a camg.types.Stage, got {got}.")
    names = [stage.name for stage in stages]
    if len(set(names)) < len(names) or not all(names):
        raise PluginError(f"The {label}: Expected stages with names of their own, got {names}.")
    shares = [stage.share for stage in stages]
    if not all(share > 0 for share in shares) or not math.isclose(sum(shares), 1.0, abs_tol=TOLERANCE):
        raise PluginError(f"The {label}: Expected shares above 0 that sum to 1, got {shares}.")


def _memory(config: RunConfig, source: str, settings: Mapping[str, Any]) -> Any:
    """The memory's config object with a stage's settings in place."""
    current = config.component("memory", config.memory)
    kinds = option_types(type(current))
    values = {name: getattr(current, name) for name in kinds}
    prefixes = (config.memory, f"memory:{config.memory}")
    for name, value in settings.items():
        prefix, _, option = name.rpartition(".")
        if prefix not in prefixes:
            raise ConfigError(
                f"The {source} sets {name}, but this run uses the memory '{config.memory}'.",
                hint=f"Choose --memory {prefix.removeprefix('memory:') or '...'}, or another --recipe.",
            )
        if option not in kinds:
            advice = did_you_mean(option, kinds) or f"'{config.memory}' has no options."
            raise ConfigError(f"The {source} sets {name}, which the memory does not have. {advice}")
        values[option] = convert(name, value, kinds[option], source)
    if not settings:
        return current
    return make(
        type(current), values, config.memory, {f"{config.memory}.{name}": source for name in attrs.asdict(current)}
    )
