"""Make the directory, run every cell, sum up: what ``run`` and ``sweep`` share."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import click
from attrs import frozen

from camg.cli.options import echo_json, runs_root
from camg.cli.summary import print_summary
from camg.config import RunConfig, RunDirectory, open_run, resolve_config
from camg.config.validate import NOT_ISOLATED
from camg.errors import CamgError, ConfigError, ExitCode, Interrupted
from camg.plugins import Registry
from camg.report.labels import tell_apart

Outcome = Mapping[str, Any] | CamgError
"""What became of a cell: its summary, or why it failed."""


@frozen(kw_only=True)
class Request:
    """What the command line asked for besides the settings."""

    argv: Sequence[str]
    out: Path | None
    name: str
    resume: bool
    as_json: bool
    quiet: bool
    reporters: Sequence[str] = ()
    jobs: int = 1

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Request:
        """From the options of ``run`` or ``sweep``."""
        names = ("out", "name", "resume", "as_json", "quiet", "reporters")
        return cls(argv=list(sys.argv[1:]), jobs=options.get("jobs", 1), **{name: options[name] for name in names})


def command_line_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that stand for a setting each, and ``--set``, as dotted name -> value.

    Raises :class:`ConfigError` if one setting is given two values.
    """
    named = {
        "env": list(options["env"]) or None,
        "run.seed": options.get("seed"),
        "run.updates": options.get("updates"),
        "run.episodes": options.get("episodes"),
        "run.sync": options.get("sync") or None,
        "learner.no_memory_gradient": options.get("no_memory_gradient") or None,
    }
    values = {name: value for name, value in named.items() if value is not None}
    for name, text in options["settings"]:
        if name in values and str(values[name]) != text:
            raise ConfigError(f"{name} is given twice on the command line: {values[name]!r} and {text!r}.")
        values[name] = text
    return values


def resolve_accepting(registry: Registry, not_isolated: bool, **arguments: Any) -> RunConfig:
    """:func:`resolve_config`; with ``--i-know-this-is-not-isolated``, the chosen sandbox is told so."""
    config = resolve_config(registry, **arguments)
    if not not_isolated or not hasattr(config.component("sandbox", config.sandbox), NOT_ISOLATED):
        return config
    told = {**(arguments.pop("command_line", None) or {}), f"{config.sandbox}.{NOT_ISOLATED}": True}
    return resolve_config(registry, command_line=told, **arguments)


def execute(registry: Registry, configs: Sequence[RunConfig], request: Request) -> ExitCode:
    """Run cells that :func:`camg.config.check_run` has nothing against, and print the result; returns how it went.

    A cell that fails is recorded and, in a sweep, the others are run all the same. Raises :class:`CamgError` for what
    concerns the whole run, and :class:`Interrupted` with the command that goes on.
    """
    run = open_run(
        configs,
        registry,
        argv=request.argv,
        root=runs_root(),
        out=request.out,
        name=request.name,
        resume=request.resume,
    )
    try:
        return _run_cells(run, registry, request)
    finally:
        run.close()


def _run_cells(run: RunDirectory, registry: Registry, request: Request) -> ExitCode:
    titles = _titles(run)
    cells: dict[str, Any] = {}
    with closing(_outcomes(run, titles, registry, request)) as outcomes:
        try:
            for digest, outcome in outcomes:
                cells[digest] = _recorded(outcome)
                if isinstance(outcome, CamgError):
                    if len(run.configs) == 1:
                        run.write_summary(_summary(run, cells, "failed"))
                        raise outcome
                    click.echo(f"{click.style('Error:', fg='red')} {titles[digest]}: {outcome}", err=True)
                run.write_summary(_summary(run, cells, "not finished"))
        except (Interrupted, KeyboardInterrupt):
            for digest in run.configs:
                cells.setdefault(digest, finished(run.cells[digest]) or {"status": "interrupted"})
            run.write_summary(_summary(run, cells, "interrupted"))
            raise Interrupted(
                "Interrupted; everything that was complete is kept.", hint=f"camg {_resuming(run, request)}"
            ) from None
    return _conclude(run, cells, request)


def _outcomes(
    run: RunDirectory, titles: Mapping[str, str], registry: Registry, request: Request
) -> Generator[tuple[str, Outcome], None, None]:
    if request.jobs > 1 and len(run.configs) > 1:
        from camg.cli.jobs import run_side_by_side

        return run_side_by_side(run.cells, titles, jobs=request.jobs, reporters=request.reporters, quiet=request.quiet)
    return _in_turn(run, titles, registry, request)


def _in_turn(
    run: RunDirectory, titles: Mapping[str, str], registry: Registry, request: Request
) -> Generator[tuple[str, Outcome], None, None]:
    """Run the cells one after another in this process."""
    several = len(run.configs) > 1
    for digest, config in run.configs.items():
        if several and not request.quiet:
            click.echo(titles[digest], err=True)
        try:
            outcome: Outcome = run_one(run.cells[digest], config, registry, request)
        except Interrupted:
            raise
        except CamgError as problem:
            outcome = problem
        except Exception as problem:
            if not several:
                raise  # a fault of ours, or of a plugin: it keeps its traceback
            traceback.print_exc()
            outcome = CamgError(f"{type(problem).__name__}: {problem}")
        yield digest, outcome


def run_one(cell: Path, config: RunConfig, registry: Registry, request: Request) -> dict[str, Any]:
    """Run one cell in this process, with the reporters that are attached unless ``--quiet`` and those asked for."""
    from camg.supervise import run_cell  # imports what a run needs, and no command line should wait for

    names = [] if request.quiet else [n for n in registry.names("reporter") if registry.spec("reporter", n).default]
    reporters = [registry.build("reporter", name) for name in dict.fromkeys([*names, *request.reporters])]
    return run_cell(cell, config, registry, sync=config.run.sync, resume=request.resume, reporters=reporters)


def finished(cell: Path) -> Mapping[str, Any] | None:
    """The summary of a cell that needs no more running; else None."""
    try:
        summary = json.loads((cell / "summary.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return summary if isinstance(summary, dict) and summary.get("status") == "finished" else None


def _titles(run: RunDirectory) -> dict[str, str]:
    """``cell 2 of 6: token-gae, seed 0 (1a2b3c4d)``, by hash."""
    labels = tell_apart([config.flat() for config in run.configs.values()])
    return {
        digest: f"cell {number} of {len(labels)}: {label} ({digest})"
        for number, (digest, label) in enumerate(zip(run.configs, labels, strict=True), 1)
    }


def _recorded(outcome: Outcome) -> dict[str, Any]:
    if isinstance(outcome, CamgError):
        return {"status": "failed", "error": str(outcome), "exit_code": int(outcome.exit_code)}
    return dict(outcome)


def _conclude(run: RunDirectory, cells: Mapping[str, Any], request: Request) -> ExitCode:
    """Compare, write the summary, print it."""
    failed = any(cell.get("status") == "failed" for cell in cells.values())
    summary = _summary(run, cells, "failed" if failed else "finished")
    comparison = None
    if len(run.configs) > 1:
        from camg.report.comparison import compare, to_json
        from camg.report.comparison_figure import write_comparison
        from camg.report.load import load_runs

        comparison = compare(load_runs([run.path]))
        if comparison is not None:
            files = [str(path) for path in write_comparison(comparison, run.path)]
            summary["comparison"] = {**to_json(comparison), "files": files}
    run.write_summary(summary)
    if request.as_json:
        echo_json(summary)
    else:
        print_summary(run, summary, comparison)
    return ExitCode.CELL_FAILED if failed or any(map(lacks_result, cells.values())) else ExitCode.OK


def lacks_result(cell: Mapping[str, Any]) -> bool:
    """Is the final held-out figure of an environment N/A, since some of its episodes could not be run?"""
    return None in ((cell.get("final") or {}).get("success") or {}).values()


def _summary(run: RunDirectory, cells: Mapping[str, Any], status: str) -> dict[str, Any]:
    ordered = {digest: cells[digest] for digest in run.configs if digest in cells}
    return {"run": str(run.path), "status": status, "cells": ordered}


def _resuming(run: RunDirectory, request: Request) -> str:
    """The command that goes on with this run."""
    if len(run.configs) == 1:
        return f"run --resume --out {run.path}"
    jobs = f" --jobs {request.jobs}" if request.jobs > 1 else ""
    return f"sweep --resume --out {run.path}{jobs}"
