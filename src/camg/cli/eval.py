"""``camg eval``: a checkpoint on held-out tasks, with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from camg.cli.group import BUILT_IN, registry_of
from camg.cli.options import RunName, cell_option, echo_json, find_cell, output_options
from camg.cli.summary import print_table
from camg.config import RunConfig
from camg.config.rundir import saved_configs
from camg.errors import ExitCode, UsageError
from camg.report.format import composition, mean_costs, percent
from camg.types import Sampling


@click.command("eval", help=BUILT_IN["eval"])
@click.argument("run", default="latest", type=RunName())
@cell_option
@click.option("--tasks", type=click.IntRange(min=1), help="Held-out tasks of each environment (default: the run's).")
@click.option("--split", help="Split (default: the run's held-out one).")
@click.option(
    "--temperature",
    type=click.FloatRange(min=0.0),
    default=0.0,
    show_default=True,
    help="Sampling temperature; 0 is greedy decoding.",
)
@click.option("--version", type=click.IntRange(min=0), help="Published weights (default: the newest).")
@click.option("--untrained", is_flag=True, help="The policy as it was before the first update.")
@output_options
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """RUN is a folder, a name below runs/, or latest. 95 % intervals: Clopper-Pearson for episodes wholly solved,
    bootstrap for success."""
    run: Path = options["run"]
    registry = registry_of(ctx)
    configs = saved_configs(run, registry)
    digest = find_cell(run, options["cell"], list(configs))
    config = configs[digest]
    result = _evaluate(registry, config, run / "cells" / digest, options)
    result = {"run": str(run), "cell": digest, **result}
    if options["as_json"]:
        echo_json(result)
    else:
        _print(result, config)
    missing = any(row["faults"] for row in result["environments"].values())
    ctx.exit(ExitCode.CELL_FAILED if missing else ExitCode.OK)


def _evaluate(registry: Any, config: RunConfig, cell: Path, options: dict[str, Any]) -> dict[str, Any]:
    """Run the episodes and score them."""
    from camg import weights as published
    from camg.evaluate.plan import evaluation_plan, expected
    from camg.evaluate.runner import evaluate
    from camg.evaluate.scores import score, to_json

    tasks, split = options["tasks"], options["split"]
    if tasks is None and config.evaluation.tasks == 0:
        tasks = 64  # the run itself made no evaluation; whoever asks for one wants some
    counts = expected(evaluation_plan(config, registry, tasks=tasks, split=split))
    total, done = sum(counts.values()), 0

    def tell(episode: object) -> None:
        nonlocal done
        done += 1
        if not options["quiet"] and (done % max(1, total // 10) == 0 or done == total):
            click.echo(f"{done} of {total} episodes", err=True)

    weights = None if options["untrained"] or not (cell / "weights").is_dir() else cell / "weights"
    sampling = Sampling(temperature=options["temperature"])
    version = options["version"]
    if version is not None and weights is not None and version not in (there := published.versions(weights)):
        listed = ", ".join(map(str, there)) or "some, and there are none yet"
        raise UsageError(f"There are no weights {version} in {weights}: Expected one of {listed}.")
    episodes = evaluate(
        config,
        registry,
        weights=weights,
        version=version,
        split=split,
        tasks=tasks,
        sampling=sampling,
        on_episode=tell,
    )
    versions = {turn.policy_version for episode in episodes for turn in episode.turns}
    return {
        "weights": "untrained" if weights is None else max(versions, default=version),
        "temperature": options["temperature"],
        **to_json(score(episodes, counts)),
    }


def _print(result: dict[str, Any], config: RunConfig) -> None:
    decoding = "greedy" if result["temperature"] == 0 else f"temperature {result['temperature']:g}"
    click.echo(f"{result['run']} cell {result['cell']}: weights {result['weights']}, {decoding}, held out\n")
    table = [["env", "measure", "value", "95 % interval", "episodes", "turns", "actions"]]
    for env, row in result["environments"].items():
        for measure, label in (("success", "success"), ("complete", "wholly solved")):
            found = row[measure]
            table.append(
                [
                    env,
                    label,
                    percent(found["estimate"] if found else None),
                    f"{percent(found['low'])} to {percent(found['high'])}" if found else "-",
                    f"{row['episodes']}" + (f" ({row['faults']} faults)" if row["faults"] else ""),
                    f"{row['turns']:.1f}",
                    f"{row['slots']:.1f}",
                ]
            )
    print_table(table)
    for env, row in result["environments"].items():
        if row["failures"]:
            click.echo(f"\n{env}, not wholly solved: {composition(row['failures'])}")
        if row["costs"]:
            click.echo(f"\n{env}, used beside the policy's own responses: {mean_costs(row['costs'])}")
