"""What ``run`` and ``sweep`` print for people: the grid before, the result after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from camg.cli.options import echo_json
from camg.config import RunConfig, RunDirectory
from camg.config.toml import format_value
from camg.report.format import composition, duration, percent


def dry_run(configs: Sequence[RunConfig], *, as_json: bool) -> None:
    """Print what would be run: every setting of one cell and its source, or the grid of several."""
    if as_json:
        cells = {config.digest(): {"values": config.flat(), "sources": dict(config.sources)} for config in configs}
        echo_json({"cells": cells})
    elif len(configs) == 1:
        _print_settings(configs[0])
    else:
        _print_grid(configs)


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


def _print_grid(configs: Sequence[RunConfig]) -> None:
    """The cells, by what differs between them."""
    flats = [config.flat() for config in configs]
    names = list(dict.fromkeys(name for flat in flats for name in flat))
    varying = [name for name in names if any(flat.get(name) != flats[0].get(name) for flat in flats)]
    rows = [["cell", *varying]]
    for config, flat in zip(configs, flats, strict=True):
        rows.append([config.digest(), *(format_value(flat[n]).strip('"') if n in flat else "" for n in varying)])
    print_table(rows)
    click.echo(f"\n{len(configs)} cells; nothing was written")


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Aligned columns; the first row is the heading."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for number, row in enumerate(rows):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        click.echo(click.style(line, bold=True) if number == 0 else line)


def print_summary(run: RunDirectory, summary: Mapping[str, Any]) -> None:
    """Success before and after, where the run is, and what to type next."""
    cells = summary["cells"]
    click.echo()
    for digest, cell in cells.items():
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
    evaluation = "" if any(cell.get("updates") for cell in cells.values()) else " --evaluation initial"
    click.echo(f"\nThe run is in {path}. Look closer:")
    for command, what in (
        (f"camg report {path}", "table and learning curve"),
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
    if lines:
        lines.append("  (held-out tasks, at the training temperature)")
    return lines or ["  no evaluation was made (evaluation.tasks = 0)"]


def _change(before: float | None, after: float | None) -> str:
    final = click.style(percent(after), fg="green", bold=True)
    return final if before is None else f"{percent(before)} -> {final}"


def _effort(cell: Mapping[str, Any]) -> str:
    words = [f"{cell[key]} {key}" for key in ("updates", "episodes", "faults") if cell.get(key) is not None]
    return ", ".join(words) + (f" in {duration(cell['seconds'])}" if cell.get("seconds") is not None else "")
