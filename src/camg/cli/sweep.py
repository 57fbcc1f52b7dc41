"""``camg sweep``: a grid of runs in one directory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from camg.cli.execute import Request, command_line_settings, command_words, execute, resolve_accepting
from camg.cli.group import BUILT_IN, registry_of
from camg.cli.options import component_options, output_options, setting_options
from camg.cli.run import run_options
from camg.config import RunConfig, expand, parse_axis
from camg.errors import ConfigError

EPILOG = """\b
Examples:
  camg sweep --estimator response-gae --estimator token-gae --seed 0 --seed 1 --seed 2
  camg sweep --env shop --sweep learner.actor_lr=1e-4,3e-4 --sweep rollout.warmup=0,16
  camg sweep --sweep env=shop,coding,shop+coding      (shop+coding: one joint run)
"""


@click.command("sweep", help=BUILT_IN["sweep"], epilog=EPILOG)
@component_options(several=True)
@click.option("--seed", "seeds", type=int, multiple=True, help="Seed; repeats and multiplies.")
@click.option("--sweep", "axes", metavar="PATH=A,B", multiple=True, help="One more axis; repeatable.")
@run_options
@setting_options
@output_options
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Resolve every cell of the grid and run them one after another."""
    registry = registry_of(ctx, options["no_plugin"])
    fixed = command_line_settings(options)
    grid = list(expand(_axes(options, fixed)))
    used = {text for cell in grid for value in (fixed | cell).values() for text in _names(value)}
    configs: dict[str, RunConfig] = {}
    for cell in grid:
        config = resolve_accepting(
            registry,
            options["i_know_this_is_not_isolated"],
            command_line=fixed | cell,
            file=options["config"],
            allowed=used,
        )
        other = configs.setdefault(config.digest(), config)
        if other is not config:
            raise ConfigError(f"Two cells of the grid are the same: {cell} changes nothing.")
    request = Request(
        argv=command_words(),
        out=options["out"],
        name=options["name"],
        resume=options["resume"],
        dry_run=options["dry_run"],
        as_json=options["as_json"],
        quiet=options["quiet"],
        reporters=options["reporters"],
    )
    ctx.exit(execute(registry, list(configs.values()), request))


def _axes(options: dict[str, Any], fixed: dict[str, Any]) -> dict[str, Sequence[Any]]:
    """Dotted name -> values, in the order in which the help names them."""
    axes: dict[str, Sequence[Any]] = {
        kind: options[kind] for kind in ("memory", "estimator", "policy", "sandbox", "baseline") if options[kind]
    }
    if options["seeds"]:
        axes["run.seed"] = options["seeds"]
    for text in options["axes"]:
        name, parts = parse_axis(text)
        if name in axes or name in fixed:
            raise ConfigError(f"--sweep {name}: the command line gives it already.")
        axes[name] = parts
    for name, values in axes.items():
        doubled = [str(value) for value in values if list(values).count(value) > 1]
        if doubled:
            raise ConfigError(f"{name}: Expected different values, got '{doubled[0]}' twice.")
    return axes


def _names(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list | tuple) else [str(value)]
