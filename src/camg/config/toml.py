"""A small TOML writer for flat tables, beside the standard library's reader."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from camg.errors import BackendUnavailable, ConfigError

NOTHING = "none"
"""How ``None`` is written, since TOML has no null."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file. Raises :class:`ConfigError` naming the file and the place."""
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"The file {path} does not exist.") from None
    except OSError as cause:
        raise ConfigError(f"The file {path} cannot be read: {cause.strerror}.") from cause
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as cause:
        raise ConfigError(f"The file {path} is not valid TOML: {cause}.") from cause


def write_toml(path: Path, tables: Mapping[str, Mapping[str, Any]], *, comments: Mapping[str, str]) -> None:
    """Write tables of plain values, one line each; the table ``""`` comes first, without a header.

    ``comments``: dotted name -> remark at the end of its line. Written beside, then renamed.
    """
    lines: list[str] = []
    for table, values in sorted(tables.items(), key=lambda item: item[0] != ""):
        if table:
            lines += ["", f"[{_key(table)}]"]
        for key, value in values.items():
            comment = comments.get(f"{table}.{key}" if table else key, "").replace("\n", " ")
            lines.append(f"{_key(key)} = {format_value(value)}" + (f"  # {comment}" if comment else ""))
    write_text(path, "\n".join(lines).lstrip("\n") + "\n")


def write_text(path: Path, text: str) -> None:
    """Write beside, then rename. Raises :class:`BackendUnavailable` if the disk refuses; the old file stays."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except OSError as cause:
        beside.unlink(missing_ok=True)
        raise BackendUnavailable(f"Cannot write {path}: {cause.strerror}.") from cause


def format_value(value: Any) -> str:
    """One value as TOML. ``None`` is written as the string ``"none"``."""
    if value is None:
        return f'"{NOTHING}"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return '"' + "".join(_escape(character) for character in value) + '"'
    if isinstance(value, list | tuple):
        return "[" + ", ".join(format_value(item) for item in value) + "]"
    raise TypeError(f"Expected a plain value, got {type(value).__name__}.")


def _escape(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    return f"\\u{ord(character):04x}" if ord(character) < 0x20 or ord(character) == 0x7F else character


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else format_value(name)
