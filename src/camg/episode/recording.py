"""Episodes on disk: records <-> JSON-able dicts, exactly (floats round-trip; what is unknown is an error).

The types of the fields decide; converters are built once per class, since the learner reads thousands of turns.
"""

from __future__ import annotations

import enum
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, get_args, get_origin

import attrs

from camg.errors import CorruptState
from camg.types import Episode

FORMAT = 1
_structurers: dict[Any, Callable[[Any], Any]] = {}


def to_json(episode: Episode) -> dict[str, Any]:
    """The record as plain dicts, lists, strings and numbers."""
    return {"format": FORMAT, **_plain(episode)}


def _plain(value: Any) -> Any:
    if attrs.has(type(value)):
        # fields at their default are left out: most of a turn is
        return {a.name: _plain(v) for a in attrs.fields(type(value)) if (v := getattr(value, a.name)) != _default(a)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        if value and isinstance(value[0], int | float | str):
            return list(value)
        return [_plain(item) for item in value]
    return value


def _default(attribute: attrs.Attribute[Any]) -> Any:
    default: Any = attribute.default
    return default.factory() if hasattr(default, "factory") else default


def from_json(data: Mapping[str, Any]) -> Episode:
    """The inverse. Raises :class:`CorruptState` when ``data`` is no episode of this format."""
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        found = data.get("format") if isinstance(data, Mapping) else type(data).__name__
        raise CorruptState(f"Expected an episode record of format {FORMAT}, got {found!r}.")
    try:
        episode: Episode = _structurer(Episode)({key: value for key, value in data.items() if key != "format"})
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise CorruptState(f"Expected an episode record, got one that does not fit: {error}") from error
    return episode


def _structurer(hint: Any) -> Callable[[Any], Any]:
    if hint not in _structurers:
        _structurers[hint] = _build(hint)
    return _structurers[hint]


def _build(hint: Any) -> Callable[[Any], Any]:
    origin, arguments = get_origin(hint), get_args(hint)
    if isinstance(hint, type) and attrs.has(hint):
        return _build_class(hint)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return hint
    if origin in (typing.Union, types.UnionType):
        inner = _structurer(next(a for a in arguments if a is not type(None)))
        return lambda value: None if value is None else inner(value)
    if origin is tuple:
        if arguments[0] in (int, float, str, bool):
            return tuple
        item = _structurer(arguments[0])
        return lambda value: tuple(item(v) for v in value)
    if origin is not None and issubclass(origin, Mapping):
        if attrs.has(arguments[1]):
            item = _structurer(arguments[1])
            return lambda value: {key: item(v) for key, v in value.items()}
        return dict
    if hint is float:
        return float
    return lambda value: value


def _build_class(cls: type) -> Callable[[Any], Any]:
    hints = typing.get_type_hints(cls)
    converters = {attribute.name: _structurer(hints[attribute.name]) for attribute in attrs.fields(cls)}

    def structure(value: Any) -> Any:
        return cls(**{key: converters[key](item) for key, item in value.items()})

    return structure
