"""What ``run`` and ``sweep`` print for people: the grid before, the result after."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from camg.cli.grid import Grid, refusal
from camg.cli.options import echo_json
from camg.config import RunConfig, RunDirectory
from camg.config.toml import format_value
from camg.report.format import composition, duration, mean_costs, percent
from camg.report.labels import SEED, tell_apart

if TYPE_CHECKING:
    from camg.report.comparison import Comparison  # numpy, which --help should not wait for


def dry_run(config: RunConfig, *, as_json: bool) -> None:
    """Print what would be run: every setting and its source."""
    if as_json:
        echo_json({"cells": {config.digest(): {"values": config.flat(), "sources": dict(config.sources)}}})
    else:
        _print_settings(config)


def dry_run_grid(grid: Grid, *, as_json: bool) -> None:
    """Print what would be run: the cells, what differs between them, and why any is impossible."""
    if as_json:
        configs = [cell.config for cell in grid.cells if cell.config is not None]
        cells = {config.digest(): {"values": config.flat(), "sources": dict(config.sources)} for config in configs}
        impossible = [
            {
                "cell": cell.config.digest() if cell.config else None,
                "axes": dict(cell.values),
                "reasons": [str(problem) for problem in cell.problems],
            }
            for cell in grid.impossible
        ]
        echo_json({"cells": cells, "impossible": impossible, "merged": [dict(values) for values in grid.merged]})
    elif len(grid.cells) == 1 and not grid.impossible:
        _print_settings(grid.configs()[0])
    else:
        _print_grid(grid)


def _print_settings(config: RunConfig) -> None:
    values = config.flat()
    name_width = max(map(len, values))
    texts = {name: format_value(value) for name, value in values.items()}
    value_width = min(max(map(len, texts.values())), 40)
    previous = ""
    for name, text in texts.items():
        section = name.rpartition(".")[0]
        if section != previous:
            click.echo()
            previous = section
        source = config.sources.get(name, "default")
        line = f"{name:<{name_width}}  {text:<{value_width}}  {source}".rstrip()
        click.echo(click.style(line, dim=True) if source == "default" else line)
    click.echo(f"\ncell {config.digest()}; nothing was written")


def _print_grid(grid: Grid) -> None:
    """The cells by what the axes say, what else differs with it, and what cannot run."""
    axes = list(dict.fromkeys(name for cell in grid.cells for name in cell.values))
    varying = [n for n in axes if any(cell.values.get(n) != grid.cells[0].values.get(n) for cell in grid.cells)]
    rows = [["cell", *varying]]
    for cell in grid.cells:
        marked = ("! " if cell.problems else "") + (cell.config.digest() if cell.config else "-")
        rows.append([marked, *(_axis_words(cell.values.get(name)) for name in varying)])
    print_table(rows)
    for label, differences in _brought(grid, set(axes)).items():
        text = f"\n{label}, beside the first: {differences}"
        click.secho(click.wrap_text(text, terminal_width(), subsequent_indent="  "), dim=True)
    click.echo(f"\n{len(grid.cells)} cells; nothing was written")
    if grid.impossible:
        click.echo(f"\n{refusal(grid).message.replace(', so nothing was begun', '')}")


def _axis_words(value: Any) -> str:
    return "+".join(value) if isinstance(value, list) else "" if value is None else str(value)


def _brought(grid: Grid, axes: set[str]) -> dict[str, str]:
    """Label -> the settings that a method has otherwise than the first, where no axis says so (a baseline's)."""
    cells = [cell for cell in grid.cells if cell.config is not None]
    labels = tell_apart([cell.values for cell in cells], without=(SEED,))
    found: dict[str, str] = {}
    for cell, label in zip(cells, labels, strict=True):
        if cell.config is None or cells[0].config is None or label in found:
            continue
        pairs = cell.config.differences(cells[0].config)
        words = [f"{name} {format_value(here)}" for name, (here, _) in pairs.items() if name not in axes]
        found[label] = ", ".join(word for word in words if not word.endswith('"none"'))
    return {label: words for label, words in found.items() if words}


def terminal_width() -> int:
    """Characters of a line; where nobody says, enough for a table."""
    return shutil.get_terminal_size((120, 24)).columns


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Aligned columns; the first row is the heading."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for number, row in enumerate(rows):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        click.echo(click.style(line, bold=True) if number == 0 else line)


def print_comparison(comparison: Comparison) -> None:
    """The methods of a sweep against one another: a table for each measure, and what to know beside them."""
    from camg.report import comparison_text

    for title, rows in comparison_text.tables(comparison, terminal_width()):
        click.secho(f"\n{title}", bold=True)
        print_table(rows)
    click.echo()
    for remark in comparison_text.remarks(comparison):
        click.secho(click.wrap_text(remark, terminal_width(), subsequent_indent="  "), dim=True)


def print_summary(run: RunDirectory, summary: Mapping[str, Any], comparison: Comparison | None = None) -> None:
    """Success before and after, or how methods compare; where the run is, and what to type next."""
    cells = summary["cells"]
    if comparison is not None:
        print_comparison(comparison)
    click.echo()
    for digest, cell in cells.items():
        if comparison is not None and cell.get("status") != "failed":
            continue
        if len(cells) > 1:
            click.secho(f"cell {digest}", bold=True)
        if cell.get("status") == "failed":
            click.echo(f"  failed: {cell.get('error', 'see errors.jsonl')}")
            continue
        for line in outcome_lines(cell):
            click.echo(line)
        click.echo(f"  {_effort(cell)}")
    one = f" --cell {next(iter(cells))}" if len(cells) > 1 else ""
    path = run.path
    if comparison is not None:
        click.echo(f"comparison: {path / 'comparison.png'} (also .svg, .csv, .json)")
    evaluation = "" if any(cell.get("updates") for cell in cells.values()) else " --evaluation initial"
    click.echo(f"\nThe run is in {path}. Look closer:")
    for command, what in (
        (f"camg report {path}", "tables and learning curves" if len(cells) > 1 else "table and learning curve"),
        (f"camg replay {path} 0{one}{evaluation}", "one episode, turn by turn"),
        (f"camg eval {path}{one}", "greedy, on held-out tasks, with intervals"),
    ):
        click.echo(f"  {command}  {click.style('# ' + what, dim=True)}")


def outcome_lines(cell: Mapping[str, Any]) -> list[str]:
    """One line for each environment: held-out success, and tasks wholly solved, before and after."""
    last = cell.get("final") or {}
    first = (cell.get("initial") or {}) if cell.get("updates") else {}
    lines = []
    for env in last.get("success", {}) or {}:
        parts = [
            f"{label} {_change(first.get(key, {}).get(env), last.get(key, {}).get(env))}"
            for key, label in (("success", "success"), ("complete", "wholly solved"))
            if last.get(key, {}).get(env) is not None
        ]
        if faults := (last.get("environments") or {}).get(env, {}).get("faults"):
            parts.append(f"{faults} held-out episodes could not be run (the reasons are in the cell's errors.jsonl)")
        lines.append(f"  {click.style(env, bold=True)}: " + ", ".join(parts))
        if failures := (last.get("environments") or {}).get(env, {}).get("failures"):
            lines.append(f"    not wholly solved: {composition(failures)}")
        if costs := (last.get("environments") or {}).get(env, {}).get("costs"):
            lines.append(f"    used beside the policy's own responses: {mean_costs(costs)}")
    if lines:
        lines.append("  (held-out tasks, at the training temperature)")
    return lines or ["  no evaluation was made (evaluation.tasks = 0)"]


def _change(before: float | None, after: float | None) -> str:
    final = click.style(percent(after), fg="green", bold=True)
    return final if before is None else f"{percent(before)} -> {final}"


def _effort(cell: Mapping[str, Any]) -> str:
    words = [f"{cell[key]} {key}" for key in ("updates", "episodes", "faults") if cell.get(key) is not None]
    return ", ".join(words) + (f" in {duration(cell['seconds'])}" if cell.get("seconds") is not None else "")
