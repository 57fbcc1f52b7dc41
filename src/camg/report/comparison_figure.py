"""A comparison as a figure, and all of its files. matplotlib is imported when the figure is made."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

from camg.config.toml import write_text
from camg.report.comparison import AVERAGE, Comparison, Figure, excludes_zero, to_json
from camg.report.comparison_text import to_csv
from camg.report.figures import COLOURS, save_figure
from camg.report.load import MEASURES

STEM = "comparison"
_LABEL = 28  # characters of a method's name before it is broken


def write_comparison(comparison: Comparison, folder: Path) -> list[Path]:
    """Write ``comparison.json``, ``.csv``, ``.png`` and ``.svg``, each whole or not at all; returns their paths.

    Raises :class:`BackendUnavailable` if the folder cannot be written.
    """
    path = folder / STEM
    write_text(path.with_suffix(".json"), json.dumps(to_json(comparison), indent=2) + "\n")
    write_text(path.with_suffix(".csv"), to_csv(comparison))
    return [path.with_suffix(".json"), path.with_suffix(".csv"), *draw_comparison(comparison, path)]


def draw_comparison(comparison: Comparison, path: Path) -> list[Path]:
    """Draw every method in a row: left its result, right its difference to the first; a pair of panels a measure.

    A mark for each environment and their average, bars: 95 % intervals, pale: each seed; a difference whose interval
    excludes zero is filled. Writes ``path`` with the suffixes ``.png`` and ``.svg`` and returns both.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    names = comparison.columns
    pitch = max(0.42, 0.16 * len(names) + 0.16)  # inches for a method
    height = len(MEASURES) * (pitch * len(comparison.methods) + 0.85) + 0.7
    figure = Canvas(figsize=(9.6, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(MEASURES), 2, squeeze=False, sharey=True, width_ratios=(1.1, 1))
    for row, (measure, words) in enumerate(MEASURES.items()):
        _dress(axes[row], comparison, words)
        for place, method in enumerate(comparison.methods):
            for number, name in enumerate(names):
                height_at = place + (number - (len(names) - 1) / 2) * 0.7 / len(names)
                colour = "#222222" if name == AVERAGE else COLOURS[number % len(COLOURS)]
                found = method.figures[measure][name]
                _draw_value(axes[row][0], found, height_at, colour)
                _draw_difference(axes[row][1], found, height_at, colour)
    _explain(figure, comparison)
    return save_figure(figure, path)


def _dress(panels: Any, comparison: Comparison, words: str) -> None:
    from matplotlib.ticker import PercentFormatter

    left, right = panels
    left.set_title(f"{words}, held-out tasks", fontsize=10, loc="left")
    left.xaxis.set_major_formatter(PercentFormatter(1.0))
    left.set_xlim(-0.02, 1.02)
    right.set_title("difference in points", fontsize=10, loc="left")
    right.axvline(0.0, color="#444444", linewidth=0.8)
    labels = [textwrap.fill(method.label, _LABEL) for method in comparison.methods]
    left.set_yticks(range(len(labels)), labels)
    left.set_ylim(len(labels) - 0.4, -0.6)  # the first method on top
    for panel in panels:
        panel.grid(axis="x", alpha=0.25, linewidth=0.6)
        for side in ("top", "right"):
            panel.spines[side].set_visible(False)


def _draw_value(panel: Any, found: Figure, height: float, colour: str) -> None:
    if found.value is None:
        panel.text(0.0, height, "N/A", color=colour, fontsize=8, va="center")
        return
    seeds = list(found.by_seed.values())
    panel.plot(seeds, [height] * len(seeds), "|", color=colour, alpha=0.45, markersize=8)
    panel.plot([found.value.low, found.value.high], [height, height], color=colour, linewidth=1.6)
    panel.plot([found.value.estimate], [height], "o", color=colour, markeredgecolor="white", markersize=6.5, zorder=5)


def _draw_difference(panel: Any, found: Figure, height: float, colour: str) -> None:
    difference = found.difference
    if difference is None:
        return
    low, middle, high = (100 * number for number in (difference.low, difference.estimate, difference.high))
    panel.plot([low, high], [height, height], color=colour, linewidth=1.6)
    face = colour if excludes_zero(difference) else "white"
    panel.plot([middle], [height], "o", color=colour, markerfacecolor=face, markersize=6.5, zorder=5)


def _explain(figure: Any, comparison: Comparison) -> None:
    from matplotlib.lines import Line2D

    def mark(colour: str, label: str, **looks: Any) -> Any:
        return Line2D([], [], marker="o", linestyle="", color=colour, label=label, **looks)

    handles = [
        mark("#222222" if name == AVERAGE else COLOURS[number % len(COLOURS)], name)
        for number, name in enumerate(comparison.columns)
    ]
    handles.append(Line2D([], [], marker="|", linestyle="", color="#777777", label="each seed"))
    figure.legend(handles=handles, loc="outside upper left", ncols=len(handles), frameon=False)
    note = f"Bars: 95 % intervals over tasks. Difference to {comparison.methods[0].label}, paired by seed and task; "
    figure.supxlabel("\n".join(textwrap.wrap(note + "filled: the interval excludes zero.", 130)), fontsize=8)
