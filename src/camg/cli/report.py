"""``camg report``: the table and the learning curve of one run or several."""

from __future__ import annotations

from pathlib import Path

import click

from camg.cli.group import BUILT_IN
from camg.cli.options import RunName, echo_json, find_run, json_option
from camg.cli.summary import print_comparison, print_table


@click.command("report", help=BUILT_IN["report"])
@click.argument("runs", nargs=-1, type=RunName())
@click.option("--cell", "digests", metavar="HASH", multiple=True, help="Only these cells; repeatable.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Where the figure goes, without suffix (default: RUN/report)."
)
@click.option("--no-figure", is_flag=True, help="Only the table.")
@json_option
def command(runs: tuple[Path, ...], digests: tuple[str, ...], out: Path | None, no_figure: bool, as_json: bool) -> None:
    """Read the runs (default: the latest), draw them over one another, and print the table."""
    from camg.errors import RunDirectoryError
    from camg.report.comparison import compare, to_json
    from camg.report.comparison_figure import STEM, draw_comparison
    from camg.report.figures import learning_curve
    from camg.report.load import load_runs
    from camg.report.tables import remarks, rows, table

    paths = list(runs) or [find_run("latest")]
    cells = load_runs(paths)
    if digests:
        known = ", ".join(cell.digest for cell in cells)
        cells = [cell for cell in cells if any(cell.digest.startswith(digest) for digest in digests)]
        if not cells:
            raise RunDirectoryError(f"--cell: Expected one of {known}, got {', '.join(digests)}.")
    drawn = any(cell.reports or cell.held_out for cell in cells) and not no_figure
    figures = [str(path) for path in learning_curve(cells, out or paths[0] / "report")] if drawn else []
    comparison = compare(cells)
    if comparison is not None and not no_figure:
        target = out.with_name(f"{out.name}-{STEM}") if out else paths[0] / STEM
        figures += [str(path) for path in draw_comparison(comparison, target)]
    if as_json:
        found = {"runs": [str(path) for path in paths], "cells": rows(cells), "figures": figures}
        echo_json(found if comparison is None else {**found, "comparison": to_json(comparison)})
        return
    print_table(table(cells))
    if comparison is not None:
        print_comparison(comparison)
    click.echo()
    for remark in remarks(cells):
        click.echo(click.style(remark, dim=True))
    if figures:
        click.echo(f"\nfigures: {', '.join(figures)}")
