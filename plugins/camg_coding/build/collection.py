"""Collections: lists of pinned source distributions that come with camg (the distributions do not)."""

from __future__ import annotations

import tomllib
from pathlib import Path

from camg.errors import DataError
from camg_coding.build.origins import sdist
from camg_coding.build.repository import Origin

FILE = Path(__file__).with_name("collection.toml")


def collections() -> list[str]:
    """The names of the collections."""
    return sorted(_content())


def collection(name: str) -> list[Origin]:
    """The projects of a collection. Raises :class:`DataError` for an unknown name."""
    content = _content()
    if name not in content:
        raise DataError(f"Expected a collection ({', '.join(sorted(content))}), got {name!r}.")
    return [
        sdist(f"{item['name']}=={item['version']}", item["sha256"], tuple(item.get("tests", ())))
        for item in content[name]
    ]


def _content() -> dict[str, list[dict[str, str]]]:
    content: dict[str, list[dict[str, str]]] = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return content
