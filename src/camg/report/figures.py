"""Learning curves as PNG and SVG. matplotlib is imported when a figure is made, without a display."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from camg.errors import BackendUnavailable
from camg.report.load import MEASURES, CellResult
from camg.report.tables import WARM_START

COLOURS = ("#0f62a8", "#d1495b", "#2e8b57", "#b8860b", "#6a4c93", "#008b8b", "#a0522d", "#555555")
"""Distinct in print, and for most colour-blind readers in this order."""

SMOOTHING = 5
"""Updates of the moving mean that is drawn over the single updates."""


def learning_curve(cells: Sequence[CellResult], path: Path) -> list[Path]:
    """Draw success over updates: a column for each measure, a row for each environment, a colour for each cell.

    Pale: each update. Strong: moving mean. Marks: held-out evaluations. Writes ``path`` with the suffixes ``.png``
    and ``.svg``, and returns both. Raises :class:`BackendUnavailable` if the folder cannot be written.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    envs = list(dict.fromkeys(env for cell in cells for env in cell.envs))
    legend_rows = len(cells) if len(cells) > 1 else 0
    height = 2.9 * len(envs) + 0.75 + 0.2 * legend_rows
    figure = Figure(figsize=(9.6, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(envs), len(MEASURES), squeeze=False, sharex=True, sharey=True)
    for row, env in enumerate(envs):
        for column, (measure, label) in enumerate(MEASURES.items()):
            panel = axes[row][column]
            _dress(panel, f"{env}: {label}", first=column == 0, last=row == len(envs) - 1)
            for number, cell in enumerate(cells):
                _draw(panel, cell, measure, env, COLOURS[number % len(COLOURS)])
    _explain(figure, axes[0][0], cells)
    return save_figure(figure, path)


def _dress(panel: Any, title: str, *, first: bool, last: bool) -> None:
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    panel.set_title(title, fontsize=10, loc="left")
    panel.set_ylim(-0.02, 1.02)
    panel.yaxis.set_major_formatter(PercentFormatter(1.0))
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    panel.grid(alpha=0.25, linewidth=0.6)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
    if first:
        panel.set_ylabel("share of episodes" if "solved" in title else "success")
    if last:
        panel.set_xlabel("update")


def _draw(panel: Any, cell: CellResult, measure: str, env: str, colour: str) -> None:
    updates, values = cell.curve(measure, env)
    if values:
        panel.plot(updates, values, color=colour, alpha=0.22, linewidth=0.9)
        panel.plot(updates, moving_mean(values), color=colour, linewidth=1.9, label=cell.label)
    held_out, scores = cell.evaluated(measure, env)
    if scores:
        panel.plot(held_out, scores, "o", color=colour, markeredgecolor="white", markersize=7, zorder=5, clip_on=False)


def moving_mean(values: Sequence[float], width: int = SMOOTHING) -> list[float]:
    """The mean of each value and up to ``width - 1`` before it."""
    return [sum(part) / len(part) for i in range(len(values)) if (part := values[max(0, i - width + 1) : i + 1])]


def _explain(figure: Any, panel: Any, cells: Sequence[CellResult]) -> None:
    from matplotlib.lines import Line2D

    handles, labels = panel.get_legend_handles_labels()
    if len(cells) == 1:
        labels = [f"mean of {SMOOTHING} updates" for _ in labels]
    if any(cell.held_out for cell in cells):
        handles = [*handles, Line2D([], [], marker="o", linestyle="", color="#444444", markeredgecolor="white")]
        labels = [*labels, "held-out tasks"]
    if handles:
        figure.legend(handles, labels, loc="outside upper left", ncols=2 if len(cells) > 1 else 3, frameon=False)
    if any(cell.warm_started for cell in cells):
        note = "\n".join(textwrap.wrap(WARM_START, 130))
        figure.supxlabel(note, fontsize=8, color="#555555")


def save_figure(figure: Any, path: Path) -> list[Path]:
    """Write ``path`` as ``.png`` and ``.svg``, each whole or not at all. Raises :class:`BackendUnavailable`."""
    import matplotlib

    written = []
    # fonts as text and a fixed salt: the same run gives the same file
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "camg"}):
        for suffix in (".png", ".svg"):
            target = path.with_suffix(suffix)
            beside = target.with_name(f".{target.stem}.part{suffix}")
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                figure.savefig(beside, dpi=150, metadata={"Date": None} if suffix == ".svg" else None)
                beside.replace(target)
            except OSError as cause:
                beside.unlink(missing_ok=True)
                raise BackendUnavailable(f"Cannot write {target}: {cause.strerror}.") from cause
            written.append(target)
    return written
