"""Many repositories into one task set: in parallel, resumable, with the yield by reason."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import attrs
from attrs import field, frozen

from camg.errors import DataError
from camg_coding.build.boxes import Pool
from camg_coding.build.journal import ADMITTED
from camg_coding.build.progress import Progress
from camg_coding.build.repository import Options, Origin, Yield, find_bugs, make_ready
from camg_coding.records import Instance
from camg_coding.store import TaskSet, read_set, write_set, write_text

_BEGUN = "building.json"  # stands in a folder from the first moment: what --resume needs to recognise


@frozen(kw_only=True)
class Built:
    """A finished set: ``refused`` says, by label, why an origin gave no task."""

    tasks: TaskSet
    yields: Sequence[Yield]
    refused: Mapping[str, str] = field(factory=dict)


def build_set(
    out: Path,
    origins: Sequence[Origin],
    options: Options,
    pool: Pool,
    *,
    resume: bool = False,
    limit: int | None = None,
    about: Mapping[str, object] | None = None,
) -> Built:
    """Build a task set in ``out`` from every origin.

    ``limit``: tasks in all, taken from the repositories in turn. With ``resume`` what an earlier call with the same
    options tried is not tried again; without it ``out`` must be new or empty. One origin that cannot be built is
    named and left out. Raises :class:`DataError` if none gives a task, :class:`InfrastructureFault` without boxes.
    """
    if limit is not None:
        options = attrs.evolve(options, per_repo=min(options.per_repo, limit))
    _begin(out, options, resume)
    refused: dict[str, str] = {}
    with Progress("admitted tasks", options.per_repo * len(origins)) as progress:

        def one(origin: Origin) -> Yield | None:
            given = 0

            def advance() -> None:
                nonlocal given
                given += 1
                progress.advance()

            try:
                profile = make_ready(out, origin, options, pool, progress.say)
                found = find_bugs(out, profile, options, pool, advance)
                progress.say(f"{profile.key}: {given} tasks of {sum(found.reasons.values())} bugs tried")
            except DataError as error:
                refused[origin.label] = error.message
                progress.say(f"{origin.label}: left out: {error.message}")
                found = None
            progress.expect(fewer=options.per_repo - given)
            return found

        with ThreadPoolExecutor(max(1, options.jobs)) as threads:
            try:
                yields = [found for found in threads.map(one, origins) if found is not None]
            except BaseException:
                pool.stop()  # or a repository in progress would be finished first
                raise
    instances = _taken(yields, limit)
    if not instances:
        reasons = "\n  ".join(f"{label}: {reason}" for label, reason in refused.items())
        raise DataError("No task could be made.", hint=reasons or "Every bug was rejected; see the journals.")
    write_set(out, instances, {**(about or {}), **_about(options, yields, refused)})
    return Built(tasks=read_set(out), yields=yields, refused=refused)


def _begin(out: Path, options: Options, resume: bool) -> None:
    """Raises :class:`DataError` for a folder that holds something else than this build."""
    text = json.dumps({"seed": options.seed, "strategies": options.strategies}) + "\n"
    noted = out / _BEGUN
    if not out.exists() or not any(out.iterdir()):
        write_text(noted, text)
    elif not resume:
        raise DataError(
            f"Expected a new folder for the task set, {out} is not empty.", hint="--resume goes on with it."
        )
    elif not noted.is_file():
        raise DataError(f"Expected a build to go on with in {out}, which holds something else.")
    elif noted.read_text(encoding="utf-8") != text:
        raise DataError(f"Expected the seed and the strategies that {out} was begun with.", hint=f"It says {noted}.")
    for broken in out.glob(".making-*"):
        shutil.rmtree(broken, ignore_errors=True)


def _taken(yields: Sequence[Yield], limit: int | None) -> list[Instance]:
    """Every task, or ``limit`` of them, from the repositories in turn; in the order of the repositories."""
    counts, left = [0] * len(yields), limit if limit is not None else sum(len(one.instances) for one in yields)
    while left > 0:
        before = left
        for index, one in enumerate(yields):
            if left > 0 and counts[index] < len(one.instances):
                counts[index] += 1
                left -= 1
        if left == before:
            break
    return [task for one, count in zip(yields, counts, strict=True) for task in one.instances[:count]]


def _about(options: Options, yields: Sequence[Yield], refused: Mapping[str, str]) -> dict[str, object]:
    return {
        "seed": options.seed,
        "strategies": list(options.strategies),
        "per_repo": options.per_repo,
        "yield": {one.profile.key: dict(one.reasons) for one in yields},
        "refused": dict(refused),
    }


def table(yields: Sequence[Yield]) -> list[list[str]]:
    """Rows for people: repository, licence, tests, tried, admitted, and every other reason; the last row sums up."""
    reasons = [reason for reason, _ in sum((one.reasons for one in yields), Counter[str]()).most_common()]
    others = [reason for reason in reasons if reason != ADMITTED]
    rows = [["repository", "licence", "tests", "tried", ADMITTED, *others]]
    for one in yields:
        tried = sum(one.reasons.values())
        counts = [one.reasons[reason] for reason in (ADMITTED, *others)]
        facts = [one.profile.key, one.profile.licence or "-", len(one.profile.passing), tried, *counts]
        rows.append([str(fact) for fact in facts])
    sums = [sum(int(row[column]) for row in rows[1:]) for column in range(2, len(rows[0]))]
    return [*rows, ["all", "", *map(str, sums)]]
