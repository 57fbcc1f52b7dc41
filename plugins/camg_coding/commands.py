"""``camg tasks build coding`` and ``camg tasks check coding``."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from camg.errors import UsageError
from camg_coding.store import TaskSet, cache_root, read_set

_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
_JOBS = click.option(
    "--jobs", type=click.IntRange(min=1), help="Suites that run at a time.  [default: one for each core]"
)
_KINDS = ("--repo", "--sdist", "--collection", "--rows")


@click.command("build")
@click.option("--repo", "repos", multiple=True, type=click.Path(path_type=Path), metavar="DIR",
              help="A project's git repository or plain folder; repeatable.")  # fmt: skip
@click.option("--rev", default="", help="Revision of --repo.  [default: HEAD]")
@click.option("--sdist", "sdists", multiple=True, metavar="NAME==VERSION",
              help="A source distribution from the package index; repeatable.")  # fmt: skip
@click.option("--sha256", default="", help="What the digest of the one --sdist must be.")
@click.option("--collection", default="", metavar="NAME", help="A list of pinned source distributions: small.")
@click.option("--rows", type=click.Path(path_type=Path), metavar="FILE",
              help="Rows of SWE-smith, SWE-bench or SWE-Gym (JSONL, JSON, parquet).")  # fmt: skip
@click.option("--format", "row_format", default="auto", show_default=True, help="Of --rows.")
@click.option("--repository", "repositories", multiple=True, metavar="OWNER/NAME=DIR",
              help="Where the repository of --rows lies; repeatable.")  # fmt: skip
@click.option(
    "--held-out", type=click.Path(path_type=Path), metavar="FILE", help="Repositories whose rows are refused."
)
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR",
              help="The task set's folder.  [default: in $XDG_CACHE_HOME/camg/coding]")  # fmt: skip
@click.option("--resume", is_flag=True, help="Go on with a build that was interrupted.")
@click.option("--per-repo", type=click.IntRange(min=1), help="Tasks per project.  [default: 40; of a collection 30]")
@click.option("--limit", type=click.IntRange(min=1), help="Tasks in all.")
@click.option("--strategies", default="", metavar="NAME,NAME", help="Bugs of these kinds only.")
@click.option("--test-requirement", "test_requirements", multiple=True, metavar="REQUIREMENT",
              help="What the tests need, instead of what the project declares; repeatable.")  # fmt: skip
@click.option("--timeout", type=click.FloatRange(min=1.0), default=90.0, show_default=True, help="Seconds of a suite.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the bugs and statements.")
@click.option(
    "--statements-by", default="", metavar="URL", help="Have a model write the statements (OpenAI-compatible)."
)
@click.option("--statements-model", default="", metavar="NAME", help="The model of --statements-by.")
@_JOBS
@_JSON
def build(**given: Any) -> None:
    """Make repair tasks from Python projects, or import rows of other benchmarks.

    Runs the project's tests, plants bugs and keeps those that some test notices and whose repair is proven.
    Exactly one of --repo, --sdist, --collection and --rows.
    """
    chosen = [name for name, key in zip(_KINDS, ("repos", "sdists", "collection", "rows"), strict=True) if given[key]]
    if len(chosen) != 1:
        raise UsageError(f"Expected exactly one of {', '.join(_KINDS)}, got {' and '.join(chosen) or 'none'}.")
    _fitting(given, chosen[0])
    out = given["out"] or cache_root() / _slug(given, chosen[0])
    began = time.monotonic()
    report = _import(given, out) if chosen[0] == "--rows" else _build(given, chosen[0], out)
    report |= {"out": str(out), "seconds": round(time.monotonic() - began, 1)}
    if given["as_json"]:
        click.echo(json.dumps(report, ensure_ascii=False))
        return
    for row in report["table"]:
        click.echo(row)
    click.echo(f"{report['tasks']} tasks in {out}, after {report['seconds']} s")
    click.echo(f"Use them with: --set coding.tasks={out}")


def _fitting(given: dict[str, Any], kind: str) -> None:
    """Options that say nothing about this kind are not ignored. Raises :class:`UsageError`."""
    only = {
        "rev": ("--repo",), "sha256": ("--sdist",), "repositories": ("--rows",), "held_out": ("--rows",),
        "test_requirements": ("--repo", "--sdist"), "strategies": ("--repo", "--sdist", "--collection"),
        "resume": ("--repo", "--sdist", "--collection"), "limit": ("--repo", "--sdist", "--collection"),
    }  # fmt: skip
    for key, kinds in only.items():
        if given[key] and kind not in kinds:
            name = {"repositories": "repository", "test_requirements": "test-requirement"}.get(key, key).replace(
                "_", "-"
            )
            raise UsageError(f"--{name} goes with {' or '.join(kinds)}, not with {kind}.")
    if given["sha256"] and len(given["sdists"]) != 1:
        raise UsageError("--sha256 is the digest of one --sdist.")
    if bool(given["statements_by"]) != bool(given["statements_model"]):
        raise UsageError("--statements-by and --statements-model belong together.")


def _slug(given: dict[str, Any], kind: str) -> str:
    """The name of the set's folder in the cache."""
    names = {
        "--repo": [path.resolve().name for path in given["repos"]],
        "--sdist": [text.replace("==", "-") for text in given["sdists"]],
        "--collection": [given["collection"]],
        "--rows": [given["rows"].stem if given["rows"] else ""],
    }[kind]
    text = "+".join([kind.lstrip("-"), *names, *([given["rev"]] if given["rev"] else []), f"seed{given['seed']}"])
    return re.sub(r"[^A-Za-z0-9._+-]", "_", text)[:120]


def _build(given: dict[str, Any], kind: str, out: Path) -> dict[str, Any]:
    from camg_coding.build.boxes import open_pool
    from camg_coding.build.candidates import chosen_strategies
    from camg_coding.build.model import writer
    from camg_coding.build.pipeline import build_set, table
    from camg_coding.build.repository import Options

    jobs = given["jobs"] or os.cpu_count() or 1
    names = [name.strip() for name in given["strategies"].split(",") if name.strip()]
    options = Options(
        per_repo=given["per_repo"] or (30 if given["collection"] else 40),
        strategies=chosen_strategies(names),
        seed=given["seed"],
        jobs=jobs,
        timeout=given["timeout"],
        write=writer(given["statements_by"], given["statements_model"]) if given["statements_by"] else None,
    )
    origins = _origins(given, kind)
    with open_pool(jobs) as pool:
        built = build_set(out, origins, options, pool, resume=given["resume"], limit=given["limit"])
    return {
        "tasks": len(built.tasks.instances),
        "table": _aligned(table(built.yields)),
        "yield": built.tasks.about["yield"],
        "licences": {one.profile.key: one.profile.licence for one in built.yields},
        "refused": dict(built.refused),
    }


def _origins(given: dict[str, Any], kind: str) -> list[Any]:
    from camg_coding.build.collection import collection
    from camg_coding.build.origins import repository, sdist
    from camg_coding.build.sources import dirty

    if kind == "--collection":
        return collection(given["collection"])
    requirements = tuple(given["test_requirements"])
    if kind == "--sdist":
        return [sdist(text, given["sha256"], requirements) for text in given["sdists"]]
    for folder in given["repos"]:
        if dirty(folder):
            click.echo(f"{folder}: uncommitted changes are no part of what is built", err=True)
    return [repository(folder, given["rev"], requirements) for folder in given["repos"]]


def _import(given: dict[str, Any], out: Path) -> dict[str, Any]:
    from camg_coding.importers import import_rows
    from camg_coding.importers.options import read_held_out, repository_option

    found = import_rows(
        given["rows"],
        out,
        format=given["row_format"],
        repositories=dict(repository_option(text) for text in given["repositories"]),
        held_out=read_held_out(given["held_out"]) if given["held_out"] else (),
        say=lambda line: click.echo(line, err=True),
        jobs=given["jobs"] or 0,
    )
    for fault in found.rejected[:20]:
        click.echo(str(fault), err=True)
    if len(found.rejected) > 20:
        click.echo(f"… and {len(found.rejected) - 20} more in {out / 'rejected.jsonl'}", err=True)
    rows = [["rows", ""], *([reason, str(count)] for reason, count in found.counts.items())]
    return {"tasks": len(found.instances), "table": _aligned(rows), "yield": dict(found.counts)}


@click.command("check")
@click.option("--tasks", "folder", type=click.Path(path_type=Path), metavar="DIR",
              help="A task set's folder.  [default: the embedded set]")  # fmt: skip
@click.option("--limit", type=click.IntRange(min=1), help="Tasks, spread over the set; without it every one.")
@click.option("--runs", type=click.IntRange(min=1), default=3, show_default=True, help="Times that each is proven.")
@_JOBS
@_JSON
@click.pass_context
def check(
    ctx: click.Context, folder: Path | None, limit: int | None, runs: int, jobs: int | None, as_json: bool
) -> None:
    """Prove every task: the repair passes the grader, doing nothing fails it. Exit code 1 if anything does not."""
    from camg_coding.build.boxes import open_pool
    from camg_coding.build.prove import prove, spread

    tasks = read_set(folder) if folder else _embedded()
    jobs = jobs or os.cpu_count() or 1
    chosen = spread(list(tasks.instances.values()), limit)
    with open_pool(jobs) as pool:
        proofs = prove(tasks, chosen, pool, jobs=jobs, runs=runs)
    faults = [proof for proof in proofs if proof.fault]
    if as_json:
        rows = [{"id": proof.instance_id, "fault": proof.fault, "flaky": proof.flaky} for proof in faults]
        report = {"ok": not faults, "checked": len(proofs), "faults": rows, "tasks": str(tasks.folder)}
        click.echo(json.dumps(report, ensure_ascii=False))
    else:
        for proof in faults:
            click.echo(f"{proof.instance_id}: {'flaky: ' if proof.flaky else ''}{proof.fault}")
        not_here = sum(1 for instance in tasks.instances.values() if instance.profile not in tasks.profiles)
        if not_here:
            click.echo(f"{not_here} tasks need a container image and were not checked")
        click.echo(f"{len(proofs) - len(faults)} of {len(proofs)} proven, {runs} run{'s' if runs > 1 else ''} each")
    if faults:
        ctx.exit(1)


def _embedded() -> TaskSet:
    from camg_coding.build.embedded import embedded_set

    return embedded_set()


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table whose numbers stand to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            text.rjust(width) if text.isdigit() else text.ljust(width) for text, width in zip(row, widths, strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return lines
