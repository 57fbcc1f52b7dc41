"""Names for cells: the fewest settings that tell them apart. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from camg.config.record import COMPONENT_KINDS
from camg.config.toml import format_value

SEED = "run.seed"
FIRST = ("baseline", *COMPONENT_KINDS, "env")
"""Asked first: a baseline or a component stands for the settings that it brings."""


def tell_apart(cells: Sequence[Mapping[str, Any]], *, without: Collection[str] = ()) -> list[str]:
    """A label for each cell (settings by dotted name): only what tells it from the others; the seed comes last.

    A setting is named where it divides cells that the settings before it do not. ``without``: settings not to look
    at. Cells that are equal get equal labels; the label of a cell that nothing tells apart is ``"default"``.
    """
    names = list(dict.fromkeys(name for cell in cells for name in cell if name not in without))
    order = [*(n for n in FIRST if n in names), *(n for n in names if n not in (*FIRST, SEED))]
    order += [SEED] if SEED in names else []
    words: list[list[str]] = [[] for _ in cells]
    groups = [list(range(len(cells)))]
    for name in order:
        divided: list[list[int]] = []
        for group in groups:
            parts: dict[str, list[int]] = {}
            for index in group:
                parts.setdefault(json.dumps(cells[index].get(name), sort_keys=True), []).append(index)
            divided += parts.values()
            if len(parts) > 1:
                for index in group:
                    words[index].append(setting_words(name, cells[index].get(name)))
        groups = divided
    return [", ".join(filter(None, found)) or "default" for found in words]


def setting_words(name: str, value: Any) -> str:
    """A setting in a table or legend: components by their name alone, switches only where they are on."""
    if isinstance(value, bool):
        return name.rpartition(".")[2].replace("_", " ") if value else ""
    if name == "baseline" and value is None:
        return "no baseline"
    text = "+".join(map(str, value)) if isinstance(value, list) else format_value(value).strip('"')
    return text if name in FIRST else f"{name.rpartition('.')[2]} {text}"
