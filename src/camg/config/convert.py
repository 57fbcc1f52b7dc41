"""From text and TOML values to the types of a config class, with "Expected ... got ..." where they do not fit."""

from __future__ import annotations

import enum
import math
import re
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Union

import attrs

from camg.config.toml import NOTHING
from camg.errors import ConfigError

_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})


def plain(value: Any) -> Any:
    """A config value as JSON and TOML know it: enums by value, paths as text, tuples as lists."""
    if isinstance(value, enum.Enum):
        return plain(value.value)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return value


def option_types(config: type) -> dict[str, Any]:
    """Settable option -> its type, with annotations resolved, in the order of the class."""
    config = attrs.resolve_types(config)
    return {a.name: a.type for a in attrs.fields(config) if a.init}


def convert(name: str, value: Any, kind: Any, source: str) -> Any:
    """``value`` as the type ``kind``; text is parsed. Raises :class:`ConfigError` naming setting and source.

    Supported: ``bool``, ``int``, ``float`` (finite), ``str``, ``Path``, enums, ``Literal``, ``X | None`` (``none``),
    ``tuple[X, ...]`` and ``list[X]`` (text: parts between commas).
    """
    try:
        return _convert(value, kind)
    except ValueError:
        expected = type_name(kind)
    raise ConfigError(f"{name}: Expected {expected}, got {_shown(value)} (from the {source}).")


def _convert(value: Any, kind: Any) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (Union, types.UnionType):
        return _convert_optional(value, arguments)
    if origin is Literal:
        matches = [choice for choice in arguments if str(choice) == str(value)]
        return matches[0] if matches else _refuse(value)
    if origin in (tuple, list, Sequence):
        parts = [p.strip() for p in value.split(",") if p.strip()] if isinstance(value, str) else value
        if not isinstance(parts, list | tuple):
            _refuse(value)
        return (list if origin is list else tuple)(_convert(part, arguments[0]) for part in parts)
    if kind is bool:
        return _boolean(value)
    if kind is int:
        return _whole(value)
    if kind is float:
        return _number(value)
    if kind is str or kind is Path:
        return kind(value) if isinstance(value, str | Path) else _refuse(value)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return kind(value)
    return value if kind is Any or (isinstance(kind, type) and isinstance(value, kind)) else _refuse(value)


def _convert_optional(value: Any, kinds: tuple[Any, ...]) -> Any:
    if type(None) in kinds and (value is None or value == NOTHING):
        return None
    for kind in kinds:
        if kind is not type(None):
            try:
                return _convert(value, kind)
            except ValueError:
                continue
    return _refuse(value)


def _refuse(value: Any) -> Any:
    raise ValueError(value)


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    text = value.strip().lower() if isinstance(value, str) else ""
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise ValueError(value)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError(value)
    return int(value)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(value)
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(value)
    return number


def _shown(value: Any) -> str:
    return f"the {type(value).__name__} {value!r}" if not isinstance(value, str) else repr(value)


def type_name(kind: Any) -> str:
    """A type in the words of an error message and of ``camg show``."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (Union, types.UnionType):
        return " or ".join(type_name(a) if a is not type(None) else NOTHING for a in arguments)
    if origin is Literal:
        return "one of " + ", ".join(map(str, arguments))
    if origin in (tuple, list, Sequence):
        return f"a list of {type_name(arguments[0]).removeprefix('a ')} (parts between commas)"
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return "one of " + ", ".join(str(member.value) for member in kind)
    words = {bool: "true or false", int: "a whole number", float: "a finite number", str: "text", Path: "a path"}
    return words.get(kind, getattr(kind, "__name__", str(kind)))


def make(config: type, values: Mapping[str, Any], prefix: str, sources: Mapping[str, str]) -> Any:
    """Instantiate a config class; what its validators object to becomes one :class:`ConfigError`.

    ``values``: option -> converted value. ``sources``: dotted name -> layer, for the message.
    """
    attributes = {a.name: a for a in attrs.fields(config) if a.init}
    missing = [n for n, a in attributes.items() if a.default is attrs.NOTHING and n not in values]
    if missing:
        raise ConfigError(
            f"{prefix}.{missing[0]} must be set, since it has no default.", hint=f"--set {prefix}.{missing[0]}=VALUE"
        )
    arguments = {attributes[name].alias: value for name, value in values.items()}
    try:
        return config(**arguments)
    except (ValueError, TypeError) as cause:
        problem: Exception = cause
    required = {a.alias: values[n] for n, a in attributes.items() if a.default is attrs.NOTHING}
    for name, value in values.items():  # which option is it? Try each alone
        try:
            config(**required | {attributes[name].alias: value})
        except (ValueError, TypeError) as cause:
            source = sources.get(f"{prefix}.{name}", "default")
            text = f"{prefix}.{name}: Expected {expectation(cause)}, got {_shown(value)} (from the {source})."
            raise ConfigError(text) from cause
    raise ConfigError(f"{prefix}: {problem}") from problem


def expectation(problem: Exception) -> str:
    """The wording of a validator's complaint after "Expected": attrs' own are shortened, others are kept."""
    text = str(problem.args[0]) if problem.args else str(problem)
    found = re.match(r"'\w+' must be in [(\[{]+(.*?),?[)\]}]+ \(got", text)
    if found:
        return "one of " + found[1].replace("'", "")
    found = re.match(r"'\w+' must be (>=|<=|>|<) ([^:]+):", text)
    if found:
        return f"a value {found[1]} {found[2]}"
    found = re.match(r"[Ee]xpected (.+?)(?:,? got .*)?[.]?$", text, re.DOTALL)
    return found[1] if found else f"a valid value ({text})"
