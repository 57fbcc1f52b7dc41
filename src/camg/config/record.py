"""One cell of a run, wholly resolved: its settings by dotted name, its hash, and its file ``config.toml``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
from attrs import field, frozen

from camg import __version__
from camg.config.convert import plain
from camg.config.toml import read_toml, write_toml
from camg.errors import ConfigError, PluginError
from camg.plugins import Registry, load_registry
from camg.settings import EvaluationSettings, LearnerSettings, RolloutSettings, RunSettings
from camg.types import Limits

SECTIONS: Mapping[str, type] = {
    "run": RunSettings,
    "rollout": RolloutSettings,
    "learner": LearnerSettings,
    "evaluation": EvaluationSettings,
    "limits": Limits,
}
"""Sections of the core's own settings. Every field of each is settable as ``section.field``."""

COMPONENT_KINDS = ("memory", "estimator", "policy", "sandbox", "reward", "recipe")
"""The kinds of which a cell has exactly one; environments may be several."""


@frozen(kw_only=True)
class RunConfig:
    """One cell, wholly resolved: components by name, sections, and the config object of each component.

    ``components`` maps :meth:`key` of each selected component to its validated config object (an instance of its
    spec's ``config``). ``sources`` maps every dotted name to the layer that set it; it does not count for equality.
    """

    envs: tuple[str, ...]
    memory: str
    estimator: str
    policy: str
    sandbox: str
    reward: str
    recipe: str
    baseline: str | None = None
    run: RunSettings = RunSettings()
    rollout: RolloutSettings = RolloutSettings()
    learner: LearnerSettings = LearnerSettings()
    evaluation: EvaluationSettings = EvaluationSettings()
    limits: Limits = Limits()
    components: Mapping[str, Any] = field(factory=dict)
    sources: Mapping[str, str] = field(factory=dict, eq=False)

    def selected(self) -> list[tuple[str, str]]:
        """``(kind, name)`` of every component: the environments in order, then one of each other kind."""
        return selection(self.envs, {kind: getattr(self, kind) for kind in COMPONENT_KINDS})

    def component(self, kind: str, name: str) -> Any:
        """The config object of a selected component: ``registry.build(kind, name, config.component(kind, name))``."""
        return self.components[component_key(self.selected(), kind, name)]

    def group_size(self, registry: Registry) -> int:
        """Episodes of one task that the estimator compares: its option, or what its spec says."""
        spec = registry.spec("estimator", self.estimator)
        config = self.component("estimator", self.estimator)
        return int(getattr(config, spec.group_option)) if spec.group_option else int(spec.group_size)

    def flat(self) -> dict[str, Any]:
        """Every setting by dotted name, as plain JSON-able values; this is what ``camg_validate_run`` sees."""
        values: dict[str, Any] = {"env": list(self.envs)}
        values |= {kind: getattr(self, kind) for kind in COMPONENT_KINDS}
        values["baseline"] = self.baseline
        for section in SECTIONS:
            values |= _fields(section, getattr(self, section))
        for key, config in self.components.items():
            values |= _fields(key, config)
        return values

    def digest(self) -> str:
        """8 hex digits over all values: the name of the cell on disk."""
        return hashlib.sha256(json.dumps(self.flat(), sort_keys=True).encode()).hexdigest()[:8]

    def differences(self, other: RunConfig) -> dict[str, tuple[Any, Any]]:
        """Dotted name -> (value here, value there), where they differ; ``None`` where one side has none."""
        mine, theirs = self.flat(), other.flat()
        names = [*mine, *(name for name in theirs if name not in mine)]
        return {n: (mine.get(n), theirs.get(n)) for n in names if mine.get(n) != theirs.get(n)}

    def save(self, path: Path, *, registry: Registry | None = None) -> None:
        """Write every value to a TOML file, each with its source as a comment (beside, then renamed).

        With a registry, its fingerprint and what it left out are kept, so that each process of the run can check that
        it has loaded the same plugins (:func:`load_cell`).
        """
        about: dict[str, Any] = {"version": __version__}
        if registry is not None:
            about |= {"plugins": registry.fingerprint(), "disabled_plugins": list(registry.disabled)}
        tables: dict[str, dict[str, Any]] = {"": {}, "camg": about}
        for name, value in self.flat().items():
            table, _, key = name.rpartition(".")
            tables.setdefault(table, {})[key] = value
        write_toml(path, tables, comments=self.sources)

    @classmethod
    def load(cls, path: Path, registry: Registry) -> RunConfig:
        """Read what :meth:`save` wrote. Raises :class:`ConfigError` naming file and setting."""
        from camg.config.resolve import resolve_config  # that module makes RunConfigs

        return resolve_config(registry, file=path, environ={})


def load_cell(cell: Path) -> tuple[RunConfig, Registry]:
    """What a process of a run starts with: the cell's settings, and the very plugins that the run began with.

    Raises :class:`PluginError` if this process has loaded other plugins, or other versions, than the one that made
    the cell.
    """
    path = cell / "config.toml"
    about = read_toml(path).get("camg", {})
    registry = load_registry(disabled=about.get("disabled_plugins", ()))
    expected = about.get("plugins")
    if expected is not None and registry.fingerprint() != expected:
        raise PluginError(
            f"This process loaded other plugins than the one that began the run: expected the set {expected}, "
            f"got {registry.fingerprint()}.",
            hint="Start every process from one environment (`camg plugins` shows it), or resume the run from here.",
        )
    return RunConfig.load(path, registry), registry


def train_split(config: RunConfig, registry: Registry, env: str) -> str:
    """The split that an environment trains on: ``run.split``, else the policy's kind of task.

    Raises :class:`ConfigError` where the embedded policy meets an environment without pocket tasks.
    """
    spec = registry.spec("environment", env)
    split = spec.pocket_split if registry.spec("policy", config.policy).embedded else spec.train_split
    return config.run.split or split or _no_pocket(env)


def eval_split(config: RunConfig, registry: Registry, env: str) -> str:
    """The held-out split of an environment: ``evaluation.split``, else the policy's kind of task."""
    spec = registry.spec("environment", env)
    split = spec.pocket_eval_split if registry.spec("policy", config.policy).embedded else spec.eval_split
    return config.evaluation.split or split or _no_pocket(env)


def _no_pocket(env: str) -> str:
    raise ConfigError(
        f"The environment '{env}' has no tasks of a size for the embedded policy.",
        hint="Choose another --policy, or name a split with --set run.split=... and --set evaluation.split=...",
    )


def selection(envs: tuple[str, ...], components: Mapping[str, str]) -> list[tuple[str, str]]:
    """``(kind, name)`` pairs in their fixed order."""
    return [("environment", env) for env in envs] + [(kind, components[kind]) for kind in COMPONENT_KINDS]


def component_key(selected: list[tuple[str, str]], kind: str, name: str) -> str:
    """The dotted prefix of a component's options: its name, or ``kind:name`` where another selected one shares it."""
    shared = sum(other == name for _, other in selected) > 1
    return f"{kind}:{name}" if shared else name


def _fields(prefix: str, config: Any) -> Iterator[tuple[str, Any]]:
    for attribute in attrs.fields(type(config)):
        if attribute.init:
            yield f"{prefix}.{attribute.name}", plain(getattr(config, attribute.name))
