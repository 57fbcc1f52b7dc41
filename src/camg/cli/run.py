"""``camg run``: one run, from the policy's start to its summary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from camg.cli.execute import Request, command_line_settings, execute, resolve_accepting
from camg.cli.group import BUILT_IN, registry_of
from camg.cli.options import ComponentName, component_options, output_options, setting_options
from camg.cli.summary import dry_run
from camg.config import COMPONENT_KINDS, RunConfig, check_run
from camg.config.rundir import saved_configs
from camg.errors import RunDirectoryError
from camg.plugins import Registry

EPILOG = """\b
The run is kept in runs/<date>-<what>-<hash>/ (CAMG_RUNS names another root), or in exactly --out DIR.
Settings are looked up in this order: the command line, CAMG_* variables (CAMG_LEARNER_ACTOR_LR), --config FILE,
the baseline, the policy's profile, the default. `camg run --dry-run` shows each value and where it came from.
"""


def run_options(command: Any) -> Any:
    """What ``run`` and ``sweep`` share beyond the components."""
    for option in (
        click.option(
            "--reporter", "reporters", type=ComponentName("reporter"), multiple=True, help="One more reporter."
        ),
        click.option("--dry-run", is_flag=True, help="Show what would be run; write nothing."),
        click.option("--name", default="", help="A name for the run's folder."),
        click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="The run's folder, exactly."),
        click.option("--resume", is_flag=True, help="Go on with a run that exists; what is finished is skipped."),
        click.option("--sync", is_flag=True, help="Lock-step in one process: slower, the same to the last bit."),
        click.option("--episodes", type=int, help="Episodes of an update."),
        click.option("--updates", type=int, help="Learner updates."),
    ):
        command = option(command)
    return command


@click.command("run", help=BUILT_IN["run"], epilog=EPILOG)
@component_options(several=False)
@click.option("--seed", type=int, help="Seed of schedule, sampling and initialisation.")
@run_options
@setting_options
@output_options
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Resolve one configuration and run it."""
    registry = registry_of(ctx, options["no_plugin"])
    values = command_line_settings(options)
    values |= {kind: options[kind] for kind in ("baseline", *COMPONENT_KINDS) if options.get(kind)}
    config = resolve_accepting(
        registry,
        options["i_know_this_is_not_isolated"],
        command_line=values,
        file=options["config"],
        saved=_saved(registry, options["out"]) if options["resume"] else None,
    )
    check_run(config, registry)
    if options["dry_run"]:
        dry_run(config, as_json=options["as_json"])
    else:
        ctx.exit(execute(registry, [config], Request.of(options)))


def _saved(registry: Registry, out: Path | None) -> RunConfig | None:
    """The settings of the run that is named: what the command line does not say again stays as it was."""
    if out is None:
        return None
    configs = list(saved_configs(out, registry).values())
    if len(configs) != 1:
        raise RunDirectoryError(
            f"{out} is a sweep of {len(configs)} cells.",
            hint="Resume it with the `camg sweep` command of its manifest.",
        )
    return configs[0]
