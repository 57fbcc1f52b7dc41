"""Layers of settings -> one :class:`RunConfig`, with the origin of every value."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs
from attrs import frozen

from camg.config.convert import convert, make, option_types
from camg.config.record import COMPONENT_KINDS, SECTIONS, RunConfig, component_key, selection
from camg.config.toml import read_toml
from camg.errors import ConfigError
from camg.plugins import Registry, did_you_mean

DEFAULTS: Mapping[str, str] = {
    "memory": "shell",
    "estimator": "response-gae",
    "policy": "pocket",
    "sandbox": "bwrap",
    "reward": "task",
    "recipe": "whole",
}
"""The components of a run that names none: the one place of the core that knows a plugin's name."""

TOP = ("env", *COMPONENT_KINDS, "baseline")
RESERVED_VARIABLES = frozenset({"CAMG_STRICT_PLUGINS", "CAMG_DISABLE_PLUGINS", "CAMG_PLUGINS", "CAMG_RUNS"})


@frozen
class Layer:
    """Settings of one origin by dotted name. ``own``: from the command line, where a name must concern this run."""

    source: str
    values: Mapping[str, Any]
    own: bool = False


def resolve_config(
    registry: Registry,
    *,
    command_line: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    file: Path | None = None,
    saved: RunConfig | None = None,
    allowed: Iterable[str] = (),
) -> RunConfig:
    """Resolve one cell.

    ``command_line``: dotted name -> text or value (``env`` is a list of names). ``environ``: where ``CAMG_*`` is
    looked up (default: ``os.environ``). ``file``: a TOML file. ``saved``: the settings of the run to resume; they
    take the place of everything below the file. ``allowed``: names of components that the command line may set
    options of although this cell does not use them (other cells of a sweep). Raises :class:`ConfigError` for a wrong
    name, type or value, :class:`UsageError` or :class:`PluginError` for a component.
    """
    layers = [
        Layer("command line", {k: v for k, v in (command_line or {}).items() if v is not None}, own=True),
        _environment_layer(registry, os.environ if environ is None else environ),
    ]
    if file is not None:
        layers.append(Layer(f"file {file}", _flatten(read_toml(file), file)))
    if saved is not None:
        layers.append(Layer("run to resume", saved.flat()))
    sources: dict[str, str] = {}
    baseline, sources["baseline"] = _pick(layers, "baseline", None)
    baseline = None if baseline in (None, "none") else convert("baseline", baseline, str, sources["baseline"])
    if baseline is not None:
        spec = registry.spec("baseline", baseline)
        layers.append(Layer(f"baseline {baseline}", {**spec.components, **spec.settings}))
    envs = _environments(registry, layers, sources)
    names: dict[str, str] = {}
    for kind in COMPONENT_KINDS:
        value, sources[kind] = _pick(layers, kind, DEFAULTS[kind])
        names[kind] = convert(kind, value, str, sources[kind])
    selected = selection(envs, names)
    specs = {component_key(selected, kind, name): registry.spec(kind, name) for kind, name in selected}
    policy, memory = registry.spec("policy", names["policy"]), registry.spec("memory", names["memory"])
    if policy.embedded:
        layers.append(Layer(f"memory {memory.name}", memory.pocket_profile))
    layers.append(Layer(f"profile of the policy {policy.name}", policy.profile))
    estimator = registry.spec("estimator", names["estimator"])
    layers.append(Layer(f"estimator {estimator.name}", {"learner.clip": estimator.clip, "learner.kl": estimator.kl}))

    classes = {**SECTIONS, **{key: spec.config for key, spec in specs.items()}}
    layers = [attrs.evolve(layer, values=_told_apart(layer.values, classes)) for layer in layers]
    for layer in layers:
        _check_names(registry, layer, classes, set(allowed))
    made = {prefix: _section(prefix, config, layers, sources) for prefix, config in classes.items()}
    return RunConfig(
        envs=envs,
        baseline=baseline,
        memory=names["memory"],
        estimator=names["estimator"],
        policy=names["policy"],
        sandbox=names["sandbox"],
        reward=names["reward"],
        recipe=names["recipe"],
        run=made["run"],
        rollout=made["rollout"],
        learner=made["learner"],
        evaluation=made["evaluation"],
        limits=made["limits"],
        components={key: made[key] for key in specs},
        sources={name: sources[name] for name in [*TOP, *(n for n in sources if n not in TOP)]},
    )


def _told_apart(values: Mapping[str, Any], classes: Mapping[str, type]) -> dict[str, Any]:
    """``name.option`` where two selected components share the name: of the one that has such an option."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        prefix, _, option = name.rpartition(".")
        owners = [key for key in classes if key.partition(":")[2] == prefix and option in option_types(classes[key])]
        found[f"{owners[0]}.{option}" if len(owners) == 1 else name] = value
    return found


def _section(prefix: str, config: type, layers: list[Layer], sources: dict[str, str]) -> Any:
    """The config object of one section or component; notes the source of each of its options."""
    values: dict[str, Any] = {}
    for option, kind in option_types(config).items():
        name = f"{prefix}.{option}"
        sources[name] = "default"
        for layer in layers:
            if name in layer.values:
                values[option] = convert(name, layer.values[name], kind, layer.source)
                sources[name] = layer.source
                break
    return make(config, values, prefix, sources)


def _pick(layers: list[Layer], name: str, default: Any) -> tuple[Any, str]:
    for layer in layers:
        if name in layer.values:
            return layer.values[name], layer.source
    return default, "default"


def _environments(registry: Registry, layers: list[Layer], sources: dict[str, str]) -> tuple[str, ...]:
    value, sources["env"] = _pick(layers, "env", None)
    if value is None:
        installed = registry.names("environment")
        value = [name for name in installed if registry.spec("environment", name).suite]
        if not value:
            raise ConfigError("No environment is installed, so that there is nothing to run.", hint="See camg plugins.")
    envs: tuple[str, ...] = convert("env", value, tuple[str, ...], sources["env"])
    if not envs:
        raise ConfigError(f"env: Expected at least one name, got none (from the {sources['env']}).")
    doubled = sorted({env for env in envs if envs.count(env) > 1})
    if doubled:
        raise ConfigError(f"env: Expected each environment once, got '{doubled[0]}' twice.")
    return envs


def _check_names(registry: Registry, layer: Layer, classes: Mapping[str, type], allowed: set[str]) -> None:
    """Refuse unknown names. Options of components that this cell does not use are fine in shared layers."""
    for name in layer.values:
        if name in TOP:
            continue
        prefix, _, option = name.rpartition(".")
        config = classes.get(prefix)
        if config is None:
            config = _unselected(registry, prefix, name, layer, classes)
            if layer.own and prefix not in allowed:
                raise ConfigError(
                    f"{name} was set, but this run does not use '{prefix}'.",
                    hint=f"It uses {', '.join(p for p in classes if p not in SECTIONS)}.",
                )
        options = [a.name for a in attrs.fields(config) if a.init]
        if option not in options:
            hint = did_you_mean(option, options) or f"'{prefix}' has no options."
            raise ConfigError(f"Unknown setting '{name}' (from the {layer.source}). {_dotted(hint, prefix)}")


def _unselected(registry: Registry, prefix: str, name: str, layer: Layer, classes: Mapping[str, type]) -> type:
    """The config class of an installed component that is not selected. Raises where there is no such component."""
    for kind in ("environment", *COMPONENT_KINDS):
        bare = prefix.removeprefix(f"{kind}:")
        if bare in registry.names(kind):
            config: type = registry.spec(kind, bare).config
            return config
    if prefix:
        advice = did_you_mean(prefix, [*classes, *_components(registry)])
    else:  # a bare name: perhaps its section was forgotten
        dotted_of = {
            a.name: f"{section}.{a.name}" for section, config in SECTIONS.items() for a in attrs.fields(config)
        }
        advice = did_you_mean(name, [*TOP, *dotted_of])
        for option, dotted in dotted_of.items():
            advice = advice.replace(f"'{option}'", f"'{dotted}'")
    raise ConfigError(f"Unknown setting '{name}' (from the {layer.source}). {advice}")


def _components(registry: Registry) -> list[str]:
    return [name for kind in ("environment", *COMPONENT_KINDS) for name in registry.names(kind)]


def _dotted(hint: str, prefix: str) -> str:
    return hint.replace("Did you mean '", f"Did you mean '{prefix}.") if hint.startswith("Did") else hint


def _flatten(document: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """One level of tables -> dotted names; the table ``camg`` of a saved file is about the file itself."""
    flat: dict[str, Any] = {}
    for key, value in document.items():
        if key == "camg" and isinstance(value, Mapping):
            continue
        if not isinstance(value, Mapping):
            flat[key] = value
            continue
        for option, inner in value.items():
            if isinstance(inner, Mapping):
                raise ConfigError(f"{path}: Expected one level of tables, got [{key}.{option}].")
            flat[f"{key}.{option}"] = inner
    return flat


def _environment_layer(registry: Registry, environ: Mapping[str, str]) -> Layer:
    """``CAMG_LEARNER_ACTOR_LR=1e-4`` -> ``learner.actor_lr``; an unknown option of a known section is refused."""
    known = {_variable(name): name for name in (*TOP, *_all_options(registry))}
    values: dict[str, Any] = {}
    for variable, text in environ.items():
        if not variable.startswith("CAMG_") or variable in RESERVED_VARIABLES:
            continue
        if variable in known:
            values[known[variable]] = text
        elif any(variable.startswith(f"CAMG_{section.upper()}_") for section in SECTIONS):
            raise ConfigError(f"Unknown environment variable {variable}. {did_you_mean(variable, known)}")
    return Layer("environment", values)


def _all_options(registry: Registry) -> Iterable[str]:
    classes = dict(SECTIONS)
    for kind in ("environment", *COMPONENT_KINDS):
        classes |= {name: registry.spec(kind, name).config for name in registry.names(kind)}
    return (f"{prefix}.{a.name}" for prefix, config in classes.items() for a in attrs.fields(config) if a.init)


def _variable(name: str) -> str:
    return "CAMG_" + name.upper().replace(".", "_").replace("-", "_")
