"""How plugins are found and registered, one by one: the mechanics under :mod:`camg.plugins`."""

from __future__ import annotations

import enum
import importlib
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from typing import Any

import pluggy
from attrs import define, field, frozen

from camg import PROJECT

GROUP = PROJECT
"""The entry-point group of plugins."""

RESERVED = frozenset({"run", "rollout", "learner", "evaluation", "limits", "camg"})
"""Sections of the settings: a component of such a name could not be told from them in ``--set``."""

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")


class Status(enum.StrEnum):
    """The state of a plugin."""

    LOADED = "loaded"
    BROKEN = "broken"  # import, registration or a hook that yields specs failed
    DISABLED = "disabled"  # by --no-plugin or CAMG_DISABLE_PLUGINS
    CONFLICT = "conflict"  # another distribution registers a plugin of the same name
    DETACHED = "detached"  # an observing hook raised later on; its components still work


@define(eq=False)
class PluginInfo:
    """One plugin as ``camg plugins`` shows it. ``offers``: kind -> name -> spec."""

    name: str
    distribution: str
    version: str
    value: str  # the entry point's "module:attribute", or the module of an extra plugin
    status: Status = Status.LOADED
    error: str = ""
    offers: dict[str, dict[str, Any]] = field(factory=dict)

    @property
    def label(self) -> str:
        """``'shop' (camg 0.1.0)``."""
        return f"'{self.name}' ({self.distribution} {self.version})".replace(" )", ")")

    def to_json(self) -> dict[str, Any]:
        """Everything that ``camg plugins --json`` prints of it."""
        offers = {kind: sorted(specs) for kind, specs in self.offers.items() if specs}
        return {
            "name": self.name,
            "distribution": self.distribution,
            "version": self.version,
            "module": self.value,
            "status": str(self.status),
            "error": self.error,
            "offers": offers,
        }


@frozen
class Candidate:
    """A plugin that was found, before its code is imported."""

    info: PluginInfo
    load: Callable[[], Any]


def find(extra: Sequence[Any], disabled: Sequence[str]) -> list[Candidate]:
    """All candidates: the entry points of the group ``camg``, then ``extra`` (objects or import names).

    Two entry points of one name are both marked as a conflict, unless one of them is disabled.
    """
    candidates = [*_installed(), *(_extra(item) for item in extra)]
    for candidate in candidates:
        info = candidate.info
        external = "external" in disabled and info.distribution not in (PROJECT, "-")
        if external or info.name in disabled or _canonical(info.distribution) in map(_canonical, disabled):
            info.status = Status.DISABLED
    active: dict[str, list[PluginInfo]] = {}
    for candidate in candidates:
        if candidate.info.status is Status.LOADED:
            active.setdefault(candidate.info.name, []).append(candidate.info)
    for name, infos in active.items():
        if len(infos) > 1:
            labels = " and ".join(f"{i.distribution} {i.version}".strip() for i in infos)
            for info in infos:
                info.status = Status.CONFLICT
                info.error = f"two distributions register a plugin '{name}': {labels}; neither is loaded. "
                info.error += no_plugin_remedy(infos)
    return candidates


def _installed() -> Iterator[Candidate]:
    seen = set()  # an editable install can put one distribution on the path twice
    for point in sorted(metadata.entry_points(group=GROUP), key=lambda p: (p.name, p.value)):
        distribution, version = (point.dist.name, point.dist.version) if point.dist else ("-", "")
        key = (point.name, point.value, _canonical(distribution))
        if key not in seen:
            seen.add(key)
            yield Candidate(PluginInfo(point.name, distribution, version, point.value), point.load)


def _extra(item: Any) -> Candidate:
    if isinstance(item, str):
        return Candidate(PluginInfo(item, "-", "", item), lambda: importlib.import_module(item))
    name = getattr(item, "__name__", None) or type(item).__name__
    return Candidate(PluginInfo(str(name), "-", "", str(name)), lambda: item)


def register(manager: pluggy.PluginManager, plugin: Any, name: str) -> None:
    """Register one plugin, or leave no trace of it. Raises pluggy's ``PluginValidationError`` with the reason."""
    try:
        if manager.register(plugin, name=name) is None:
            raise ImportError("the plugin is blocked")
        manager.check_pending()
        callers = manager.get_hookcallers(plugin) or []
        if not callers:
            raise ImportError("it implements no hook of camg: mark its functions with camg.hookimpl")
        for caller in callers:
            for impl in caller.get_hookimpls():
                if impl.plugin is plugin and (impl.wrapper or impl.hookwrapper):
                    raise TypeError(f"{caller.name}: wrappers are not supported")
    except BaseException:
        if manager.has_plugin(name):
            manager.unregister(name=name)
        raise


def call_impl(impl: pluggy.HookImpl, arguments: Mapping[str, Any]) -> Any:
    """Call one implementation with the arguments that it asks for; a generator is run to its end, here."""
    result = impl.function(*(arguments[name] for name in impl.argnames))
    return list(result) if inspect.isgenerator(result) else result


def specs_of(impl: pluggy.HookImpl, expected: type) -> list[Any]:
    """The specs that one implementation yields, each checked. Raises ``TypeError`` or ``ValueError``."""
    found = call_impl(impl, {})
    if found is None or not isinstance(found, Iterable):
        raise TypeError(f"expected an iterable of {expected.__name__}, got {type(found).__name__}")
    names: set[str] = set()
    specs = list(found)
    for spec in specs:
        if not isinstance(spec, expected):
            raise TypeError(f"expected {expected.__name__}, got {type(spec).__name__}")
        name = getattr(spec, "name", "")
        if not _NAME.fullmatch(name) or name in RESERVED:
            raise ValueError(f"{name!r} cannot be a name: expected lower-case letters, digits, '-' and '_'")
        if name in names:
            raise ValueError(f"the name '{name}' is given twice")
        names.add(name)
    return specs


def no_plugin_remedy(claimants: Sequence[PluginInfo]) -> str:
    """What to do about a conflict: leave one side out, by plugin if the names differ, else by distribution."""
    names = [info.name for info in claimants]
    choices = names if len(set(names)) == len(names) else [info.distribution for info in claimants]
    return "Leave one out: " + " or ".join(f"--no-plugin {choice}" for choice in choices) + "."


def _canonical(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()
