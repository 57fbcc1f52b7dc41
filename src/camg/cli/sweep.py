"""``camg sweep``: a grid of runs in one directory, and the comparison of its methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import click

from camg.cli.execute import Request, command_line_settings, execute, resolve_accepting
from camg.cli.grid import Grid, GridCell, make_grid, overridden, problems_of
from camg.cli.group import BUILT_IN, registry_of
from camg.cli.options import component_options, output_options, setting_options
from camg.cli.run import run_options
from camg.cli.summary import dry_run_grid
from camg.config import COMPONENT_KINDS, expand, parse_axis
from camg.config.rundir import saved_configs
from camg.errors import ConfigError, ExitCode
from camg.plugins import Registry

EPILOG = """\b
Examples:
  camg sweep --env shop --baseline camg-rl --baseline no-memory-gradient --seeds 3 --sync --jobs 2
  camg sweep --env shop --sweep learner.actor_lr=1e-4,3e-4 --sweep rollout.warmup=0,16 --dry-run
  camg sweep --sweep env=shop,coding,shop+coding      (shop+coding: one joint run)
  camg sweep --resume --out runs/rates                (what is finished is skipped)

The first method of the grid is the one that the others are compared with.
"""


@click.command("sweep", help=BUILT_IN["sweep"], epilog=EPILOG)
@component_options(several=True)
@click.option("--seed", "given", type=int, multiple=True, help="Seed; repeats and multiplies.")
@click.option("--seeds", "count", metavar="N", type=click.IntRange(min=1), help="The seeds 0 to N - 1.")
@click.option("--sweep", "axes", metavar="PATH=A,B", multiple=True, help="One more axis; repeatable.")
@click.option(
    "--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Cells at a time, each in its own process."
)
@run_options
@setting_options
@output_options
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Resolve every cell of the grid, refuse what cannot run, run the rest, compare."""
    registry = registry_of(ctx, options["no_plugin"])
    fixed = command_line_settings(options)
    axes = _axes(options, fixed)
    if options["resume"] and options["out"] and not (fixed or axes or options["config"]):
        grid = _saved(registry, options)
    else:
        accept = options["i_know_this_is_not_isolated"]
        resolve = partial(resolve_accepting, registry, accept, file=options["config"])
        grid = make_grid(expand(axes), fixed, registry, resolve)
    _say_merged(grid)
    for remark in overridden(grid, registry):
        click.echo(f"camg: {remark}", err=True)
    if options["dry_run"]:
        dry_run_grid(grid, as_json=options["as_json"])
        ctx.exit(grid.impossible[0].problems[0].exit_code if grid.impossible else ExitCode.OK)
    ctx.exit(execute(registry, grid.configs(), Request.of(options)))


def _axes(options: Mapping[str, Any], fixed: Mapping[str, Any]) -> dict[str, Sequence[Any]]:
    """Dotted name -> values, in the order in which the help names them."""
    axes: dict[str, Sequence[Any]] = {
        kind: options[kind] for kind in (*COMPONENT_KINDS, "baseline") if options.get(kind)
    }
    seeds = dict.fromkeys([*range(options["count"] or 0), *options["given"]])
    if seeds:
        axes["run.seed"] = list(seeds)
    for text in options["axes"]:
        name, parts = parse_axis(text)
        if name in axes or name in fixed:
            raise ConfigError(f"--sweep {name}: the command line gives it already.")
        axes[name] = parts
    return axes


def _saved(registry: Registry, options: Mapping[str, Any]) -> Grid:
    """The cells of the sweep in ``--out``, as they are."""
    configs = saved_configs(options["out"], registry).values()
    return Grid(tuple(GridCell(config.flat(), config, tuple(problems_of(config, registry))) for config in configs))


def _say_merged(grid: Grid) -> None:
    """One line on stderr: which combinations are run once although they stand in the grid more often."""
    if not grid.merged:
        return
    names = ["; ".join(f"{name} {value}" for name, value in values.items()) for values in grid.merged]
    shown = " | ".join(names[:4]) + (f" | and {len(names) - 4} more" if len(names) > 4 else "")
    total = len(grid.cells) + len(grid.merged)
    click.echo(f"camg: {total} combinations are {len(grid.cells)} cells: equal to one before them: {shown}", err=True)
