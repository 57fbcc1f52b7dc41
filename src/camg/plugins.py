"""Plugins: find them, load each in isolation, report conflicts, and turn names into objects.

The stock loader of pluggy dies on the first broken plugin and skips a duplicate silently; this loop does neither.
``CAMG_STRICT_PLUGINS=1`` makes any problem fatal, ``CAMG_DISABLE_PLUGINS=name,name`` (or ``external``: everything
that the distribution ``camg`` does not bring) leaves plugins out, ``CAMG_PLUGINS=module,module`` adds modules that
no distribution registers, in every process of a run.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import util
from typing import Any

import pluggy
from attrs import define, field

from camg import PROJECT, hookspecs
from camg.discovery import Candidate, PluginInfo, Status, call_impl, find, no_plugin_remedy, register, specs_of
from camg.errors import CamgError, PluginError, UsageError
from camg.specs import (
    BaselineSpec,
    EnvironmentSpec,
    EstimatorSpec,
    MemorySpec,
    PolicySpec,
    RecipeSpec,
    ReporterSpec,
    RewardSpec,
    SandboxSpec,
    Spec,
    resolve,
)

AnySpec = Spec | BaselineSpec

KINDS: Mapping[str, tuple[str, type]] = {
    "environment": ("camg_environments", EnvironmentSpec),
    "memory": ("camg_memories", MemorySpec),
    "estimator": ("camg_estimators", EstimatorSpec),
    "reward": ("camg_rewards", RewardSpec),
    "recipe": ("camg_recipes", RecipeSpec),
    "policy": ("camg_policies", PolicySpec),
    "sandbox": ("camg_sandboxes", SandboxSpec),
    "reporter": ("camg_reporters", ReporterSpec),
    "baseline": ("camg_baselines", BaselineSpec),
}
"""Kind of component -> the hook that yields it, and the type of its spec."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``"Did you mean 'shop'?"``, or the known names if none is close; ``""`` if there are none."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f"Did you mean '{close[0]}'?"
    return f"Known: {', '.join(names)}." if names else ""


@define
class Registry:
    """The loaded plugins and everything that they offer. One per process; cheap to keep, not to be changed."""

    _manager: pluggy.PluginManager
    _plugins: dict[str, PluginInfo] = field(factory=dict)
    _specs: dict[str, dict[str, tuple[AnySpec, PluginInfo]]] = field(factory=lambda: {kind: {} for kind in KINDS})
    _conflicts: dict[tuple[str, str], list[PluginInfo]] = field(factory=dict)
    disabled: tuple[str, ...] = ()
    problems: list[str] = field(factory=list)

    # ------------------------------------------------------------ names
    def names(self, kind: str) -> list[str]:
        """The installed names of a kind (see :data:`KINDS`), sorted; names in conflict are left out."""
        return sorted(self._specs[_kind(kind)])

    def spec(self, kind: str, name: str) -> Any:
        """The spec behind a name.

        Raises :class:`UsageError` (exit 2) for a name that nobody offers, :class:`PluginError` (exit 3) for one that
        two plugins claim or that a broken plugin may have offered.
        """
        offers = self._specs[_kind(kind)]
        if name in offers:
            return offers[name][0]
        claimants = self._conflicts.get((kind, name))
        if claimants:
            raise PluginError(
                f"Two plugins offer the {kind} '{name}': {' and '.join(p.label for p in claimants)}; neither is used.",
                hint=no_plugin_remedy(claimants),
            )
        close = difflib.get_close_matches(name, offers, n=1, cutoff=0.6)
        broken = [p for p in self._plugins.values() if p.status is Status.BROKEN]
        related = [p for p in broken if name.lower() in f"{p.name} {p.value}".lower()] or ([] if close else broken)
        if related:
            causes = "; ".join(f"{p.label}: {p.error}" for p in related)
            raise PluginError(
                f"No working plugin offers the {kind} '{name}', and these could not be loaded: {causes}",
                hint="Repair or uninstall them; `camg plugins` lists every plugin and its state.",
            )
        raise UsageError(f"Unknown {kind} '{name}'. {did_you_mean(name, offers)}".rstrip())

    def provider(self, kind: str, name: str) -> PluginInfo:
        """The plugin that offers a name. Raises as :meth:`spec`."""
        self.spec(kind, name)
        return self._specs[kind][name][1]

    # ------------------------------------------------------------ objects
    def default_config(self, kind: str, name: str) -> Any:
        """The config object of a component with every option at its default."""
        return self.spec(kind, name).config()

    def check(self, kind: str, name: str) -> None:
        """Raise :class:`PluginError` if a component cannot be there, without importing it: for before a run begins."""
        spec = self.spec(kind, name)
        label = f"{kind} '{name}' of {self.provider(kind, name).label}"
        missing = [module for module in spec.requires if not _importable(module)]
        if missing:
            raise PluginError(
                f"The {label} needs {', '.join(missing)}, which is not installed.",
                hint=f"Install what is missing, e.g. `pip install {' '.join(m.partition('.')[0] for m in missing)}`.",
            )
        module = spec.factory.partition(":")[0] if isinstance(spec.factory, str) else ""
        if module and not _importable(module):
            raise PluginError(f"The {label} could not be imported: there is no module '{module}'.")

    def build(self, kind: str, name: str, config: Any = None) -> Any:
        """Make the component: resolve its factory and call it with its config object (default: all defaults).

        Raises :class:`PluginError` if something that it requires is not installed, or if its factory cannot be
        imported or fails; a :class:`CamgError` of the factory itself passes through.
        """
        self.check(kind, name)
        spec = self.spec(kind, name)
        label = f"{kind} '{name}' of {self.provider(kind, name).label}"
        config = self.default_config(kind, name) if config is None else config
        if not isinstance(config, spec.config):
            raise PluginError(f"The {label} expected a {spec.config.__name__} as config, got {type(config).__name__}.")
        try:
            factory = resolve(spec.factory)
        except CamgError:
            raise
        except Exception as cause:
            raise PluginError(f"The {label} could not be imported: {_describe(cause)}") from cause
        try:
            return factory(config)
        except CamgError:
            raise
        except Exception as cause:
            raise PluginError(f"The {label} could not be set up: {_describe(cause)}") from cause

    # ------------------------------------------------------------ plugins
    def plugins(self) -> list[PluginInfo]:
        """Every plugin that was found, whatever its state, sorted by name."""
        return sorted(self._plugins.values(), key=lambda p: (p.name, p.distribution))

    def fingerprint(self) -> str:
        """16 hex digits over the working plugins, their versions and offers: equal in all processes of a run."""
        working = [p for p in self.plugins() if p.status in (Status.LOADED, Status.DETACHED)]
        rows = [
            [p.name, p.distribution, p.version, p.value, {k: sorted(v) for k, v in p.offers.items()}] for p in working
        ]
        return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()[:16]

    # ------------------------------------------------------------ hooks
    @property
    def hook(self) -> Hooks:
        """Call hooks by name: ``registry.hook.camg_run_start(run=...)``; a plugin that raises is detached."""
        return Hooks(self)

    def call_each(self, name: str, arguments: Mapping[str, Any]) -> Iterator[tuple[PluginInfo, Any]]:
        """Call every implementation of a hook, and yield each plugin with its result as soon as it is there.

        A :class:`CamgError` passes through, since a plugin may stop a command with a message for the user; anything
        else that is raised detaches the plugin.
        """
        for impl in reversed(getattr(self._manager.hook, name).get_hookimpls()):
            info = self._plugins[impl.plugin_name]
            if info.status is not Status.LOADED:
                continue
            try:
                result = call_impl(impl, arguments)
            except CamgError:
                raise
            except Exception as cause:
                self.detach(info, cause, name)
            else:
                yield info, result

    def detach(self, info: PluginInfo, cause: BaseException, where: str) -> None:
        """Stop calling the hooks of a plugin that raised in one; say so in one line on stderr."""
        if info.status is not Status.LOADED:
            return
        info.status = Status.DETACHED
        info.error = f"{where}: {_describe(cause)}"
        print(f"camg: plugin {info.label} raised in {where} and is detached: {_describe(cause)}", file=sys.stderr)


@define
class Hooks:
    """The hooks of all working plugins, each call isolated from the others."""

    _registry: Registry

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("camg_") or not hasattr(hookspecs, name):
            raise AttributeError(f"no hook is called {name!r}")
        return lambda **arguments: [result for _, result in self._registry.call_each(name, arguments)]


def load_registry(
    *, disabled: Iterable[str] = (), strict: bool | None = None, extra: Sequence[Any] = (), quiet: bool = False
) -> Registry:
    """Load every installed plugin.

    ``disabled``: names of plugins or of distributions to leave out, besides ``CAMG_DISABLE_PLUGINS``. ``strict``:
    any problem raises :class:`PluginError` (default: ``CAMG_STRICT_PLUGINS``). ``extra``: objects, or import names,
    that are plugins although no distribution registers them, besides ``CAMG_PLUGINS``. Without ``strict`` each
    problem is one line on stderr (not if ``quiet``) and stays in :attr:`Registry.problems`.
    """
    off = tuple(dict.fromkeys([*disabled, *_listed("CAMG_DISABLE_PLUGINS")]))
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(hookspecs)
    registry = Registry(manager, disabled=off)
    for candidate in find([*_listed("CAMG_PLUGINS"), *extra], off):
        _load(registry, candidate)
    for kind, (hook, expected) in KINDS.items():
        _collect(registry, kind, hook, expected)
    _settle(registry)
    if strict if strict is not None else os.environ.get("CAMG_STRICT_PLUGINS", "") not in ("", "0"):
        if registry.problems:
            raise PluginError("Plugins have problems, and the strict mode is on: " + "; ".join(registry.problems))
    elif not quiet:
        for problem in registry.problems:
            print(f"camg: {problem}", file=sys.stderr)
    return registry


def _load(registry: Registry, candidate: Candidate) -> None:
    """Import and register one candidate; whatever it raises stays with it."""
    info = candidate.info
    key = info.name if info.name not in registry._plugins else f"{info.name} ({info.distribution})"
    registry._plugins[key] = info
    if info.status is not Status.LOADED:
        if info.status is Status.CONFLICT:
            registry.problems.append(info.error)
        return
    try:
        register(registry._manager, candidate.load(), key)
    except (Exception, SystemExit) as cause:
        info.status, info.error = Status.BROKEN, _describe(cause)
        registry.problems.append(f"plugin {info.label} could not be loaded and is left out: {info.error}")


def _collect(registry: Registry, kind: str, hook: str, expected: type) -> None:
    """Ask every working plugin for its specs of one kind; a hook that raises takes its plugin out."""
    for impl in getattr(registry._manager.hook, hook).get_hookimpls():
        info = registry._plugins[impl.plugin_name]
        if info.status is not Status.LOADED:
            continue
        try:
            info.offers[kind] = {spec.name: spec for spec in specs_of(impl, expected)}
        except (Exception, SystemExit) as cause:
            info.status, info.error, info.offers = Status.BROKEN, f"{hook}: {_describe(cause)}", {}
            registry.problems.append(f"plugin {info.label} could not be loaded and is left out: {info.error}")


def _settle(registry: Registry) -> None:
    """Give every name to its one claimant; where there are two, neither wins: install order must not decide."""
    for kind in KINDS:
        claims: dict[str, list[PluginInfo]] = {}
        for info in registry.plugins():
            for name in info.offers.get(kind, ()):
                claims.setdefault(name, []).append(info)
        for name, claimants in claims.items():
            if len(claimants) == 1:
                registry._specs[kind][name] = (claimants[0].offers[kind][name], claimants[0])
                continue
            registry._conflicts[kind, name] = claimants
            registry.problems.append(
                f"two plugins offer the {kind} '{name}': {' and '.join(p.label for p in claimants)}; neither is used. "
                + no_plugin_remedy(claimants)
            )


def _kind(kind: str) -> str:
    if kind not in KINDS:
        raise UsageError(f"Unknown kind of component '{kind}'. {did_you_mean(kind, KINDS)}")
    return kind


def _listed(variable: str) -> list[str]:
    return [name.strip() for name in os.environ.get(variable, "").split(",") if name.strip()]


def _importable(module: str) -> bool:
    try:
        return util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _describe(cause: BaseException) -> str:
    """One line: the type and the first line of the message; of pluggy's objections every line, since all count."""
    lines = str(cause).strip().splitlines()
    if isinstance(cause, pluggy.PluginValidationError):
        lines = ["; ".join(line.strip() for line in lines if line.strip())]
    return f"{type(cause).__name__}: {lines[0]}" if lines else type(cause).__name__


__all__ = ["KINDS", "Hooks", "PluginInfo", "Registry", "Status", "did_you_mean", "load_registry"]
