"""Validate, make the directory, run every cell, sum up: what ``run`` and ``sweep`` share."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from attrs import frozen

from camg.cli.options import echo_json, runs_root
from camg.cli.summary import dry_run, print_summary
from camg.config import RunConfig, RunDirectory, check_run, open_run, resolve_config
from camg.config.validate import NOT_ISOLATED
from camg.errors import BackendUnavailable, CamgError, ConfigError, ExitCode, Interrupted
from camg.plugins import Registry


@frozen(kw_only=True)
class Request:
    """What the command line asked for besides the settings."""

    argv: Sequence[str]
    out: Path | None
    name: str
    resume: bool
    dry_run: bool
    as_json: bool
    quiet: bool
    reporters: Sequence[str] = ()


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
    """Run the cells one after another and print the result; returns how it went.

    A cell that fails is recorded and, in a sweep, the next one is begun. Raises :class:`CamgError` for what concerns
    the whole run.
    """
    for config in configs:
        check_run(config, registry)
    if request.dry_run:
        dry_run(configs, as_json=request.as_json)
        return ExitCode.OK
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
    cells: dict[str, Any] = {}
    for number, (digest, config) in enumerate(run.configs.items(), 1):
        if len(run.configs) > 1 and not request.quiet:
            click.echo(f"cell {number} of {len(run.configs)}: {digest}", err=True)
        try:
            cells[digest] = _run_cell(run.cells[digest], config, registry, request)
        except Interrupted:
            cells[digest] = {"status": "interrupted"}
            run.write_summary(_summary(run, cells, "interrupted"))
            raise Interrupted(
                "Interrupted; everything that was complete is kept.", hint=f"camg {_resuming(run, request)}"
            ) from None
        except CamgError as problem:
            cells[digest] = {"status": "failed", "error": str(problem), "exit_code": int(problem.exit_code)}
            run.write_summary(_summary(run, cells, "failed"))
            if len(run.configs) == 1 or isinstance(problem, BackendUnavailable):
                raise
            click.echo(f"{click.style('Error:', fg='red')} cell {digest}: {problem}", err=True)
    failed = sum(cell.get("status") == "failed" for cell in cells.values())
    summary = _summary(run, cells, "failed" if failed else "finished")
    run.write_summary(summary)
    if request.as_json:
        echo_json(summary)
    else:
        print_summary(run, summary)
    return ExitCode.CELL_FAILED if failed or any(map(lacks_result, cells.values())) else ExitCode.OK


def lacks_result(cell: Mapping[str, Any]) -> bool:
    """Is the final held-out figure of an environment N/A, since some of its episodes could not be run?"""
    return None in ((cell.get("final") or {}).get("success") or {}).values()


def _run_cell(cell: Path, config: RunConfig, registry: Registry, request: Request) -> dict[str, Any]:
    from camg.supervise import run_cell  # imports what a run needs, and no command line should wait for

    names = [] if request.quiet else [n for n in registry.names("reporter") if registry.spec("reporter", n).default]
    reporters = [registry.build("reporter", name) for name in dict.fromkeys([*names, *request.reporters])]
    return run_cell(cell, config, registry, sync=config.run.sync, resume=request.resume, reporters=reporters)


def _summary(run: RunDirectory, cells: Mapping[str, Any], status: str) -> dict[str, Any]:
    return {"run": str(run.path), "status": status, "cells": dict(cells)}


def _resuming(run: RunDirectory, request: Request) -> str:
    """The command that goes on with this run."""
    if len(run.configs) == 1:
        return f"run --resume --out {run.path}"
    words = [word for word in request.argv if word != "--resume"]
    return " ".join([*words, "--resume"] + ([] if request.out else ["--out", str(run.path)]))


def command_words() -> list[str]:
    """The words of this command line, for the manifest."""
    return list(sys.argv[1:])
