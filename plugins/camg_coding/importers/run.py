"""A file of rows becomes a task set: what runs here is built and proven, the rest waits for its image or is named."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
from attrs import evolve, field, frozen

from camg.errors import DataError
from camg_coding.importers.read import read_rows
from camg_coding.importers.report import Import, Malformed, Rejected
from camg_coding.importers.rows import AUTO
from camg_coding.importers.testids import is_node_id
from camg_coding.names import key_of, same_name
from camg_coding.records import Instance
from camg_coding.splits import HELD_OUT, contaminated, possible_forks
from camg_coding.store import TaskSet, write_set, write_text

if TYPE_CHECKING:
    from camg_coding.importers.local import Install

HELD = "held out"
NOT_EXECUTABLE = "not executable"
PROVEN = "proven here"
BY_IMAGE = "to run by image"
_NEWS = 25  # rows between two words on how far it is

Say = Callable[[str], None]


def import_rows(
    path: Path,
    out: Path,
    *,
    format: str = AUTO,
    repositories: Mapping[str, Path] | None = None,
    held_out: Sequence[str] = (),
    say: Say = lambda line: None,
    jobs: int = 0,
    test_requirements: Sequence[str] = (),
    timeout: float = 90.0,
    install: Install | None = None,
) -> Import:
    """Read ``path`` and write the task set ``out``, with ``rejected.jsonl`` beside its tasks.

    A row runs here when its repository is among ``repositories``: it is built at the row's commit, and the row is kept
    if its listed tests pass with the repair and its FAIL_TO_PASS fail without. Other rows are kept with their
    image_name, for sandboxes that run images. What can run in neither way is rejected as not executable.

    Args:
        path: rows, see :func:`read_rows`.
        out: a new folder.
        format: of the rows.
        repositories: "owner/name" in any spelling -> a git checkout that has the commits, or a plain folder.
        held_out: repositories whose rows are rejected, in any spelling.
        say: told in words what goes on, and warned.
        jobs: suites that run at a time; 0: one for each core.
        test_requirements: what the tests need beside what a project names, for pip.
        timeout: seconds of one run of a suite.
        install: fills the folder of packages; None: pip, from the package index.

    Raises:
        DataError: the file, ``out`` or an option is wrong, or no row could be kept.
        BackendUnavailable: rows are to be proven and no sandbox works here.
    """
    if (out / "set.json").exists():
        raise DataError(f"Expected a new folder for the task set, {out} holds one.", hint="Name another with --out.")
    at_hand = {same_name(name): folder.expanduser() for name, folder in (repositories or {}).items()}
    found = read_rows(path, format=format)
    desk = _Desk(path.name, found, at_hand, say)
    desk.warn(held_out)
    desk.sort_out(held_out)
    if desk.local:
        _run_here(desk, out, jobs or os.cpu_count() or 1, test_requirements, timeout, install)
    done = desk.result()
    if not done.instances:
        worst = next(iter(list(done.counts)[4:]), "nothing was read")
        raise DataError(
            f"No row of {path} could be kept; most often: {worst}.",
            hint="\n  ".join(str(fault) for fault in done.rejected[:5]),
        )
    faults = "".join(json.dumps(attrs.asdict(fault), ensure_ascii=False) + "\n" for fault in done.rejected)
    write_text(out / "rejected.jsonl", faults)
    about = {"rows": path.name, "rows_format": done.format, "held_out": list(held_out), "yield": dict(done.counts)}
    write_set(out, done.instances, about)
    return done


@frozen(eq=False)
class _Desk:
    """Rows on their way: each ends in ``kept`` or ``rejected``."""

    file: str
    found: Import
    at_hand: Mapping[str, Path]
    say: Say
    kept: dict[str, Instance] = field(factory=dict)
    rejected: list[Rejected] = field(factory=list)
    local: dict[tuple[str, str], list[Instance]] = field(factory=dict)  # (repository, commit8) -> rows to prove

    def reject(self, instance: Instance, reason: str, detail: str = "") -> None:
        row = self.found.rows[instance.instance_id]
        self.rejected.append(Rejected(self.file, row, instance.instance_id, reason, detail))

    def by_image(self, instance: Instance, why: str) -> None:
        """Keep a row that cannot run without its image, or say why it cannot run at all."""
        if instance.image_name:
            self.kept[instance.instance_id] = instance
        else:
            self.reject(instance, NOT_EXECUTABLE, f"{why}, and the row names no image")

    def warn(self, held_out: Sequence[str]) -> None:
        """What a person should know before training on the set."""
        instances = self.found.instances
        spoiled = [] if held_out else contaminated(instances, HELD_OUT)
        if spoiled:
            self.say(
                f"warning: {len(spoiled)} of {len(instances)} tasks are of SWE-bench's repositories: a policy that was "
                "trained on them must not be reported on SWE-bench. --held-out FILE leaves repositories out."
            )
        for repo, like in possible_forks(instances, held_out or HELD_OUT).items():
            self.say(f"warning: {repo} has the name of {', '.join(like)}, which is held out; it may be a fork of it")
        for name in sorted(set(self.at_hand) - {key_of(instance.repo) for instance in instances}):
            self.say(f"warning: no row is of the repository {name}")

    def sort_out(self, held_out: Sequence[str]) -> None:
        """Held out, to be proven here, to run by image, or not executable."""
        held = {instance.instance_id for instance in contaminated(self.found.instances, held_out)}
        for instance in self.found.instances:
            listed = (*instance.FAIL_TO_PASS, *instance.PASS_TO_PASS)
            strange = next((test for test in listed if not is_node_id(test)), "")
            if instance.instance_id in held:
                self.reject(instance, HELD, instance.repo)
            elif strange:
                self.reject(instance, NOT_EXECUTABLE, f"{strange[:120]!r} is no node id of pytest")
            elif key_of(instance.repo) in self.at_hand:
                self.local.setdefault((key_of(instance.repo), instance.base_commit[:8]), []).append(instance)
            else:
                self.by_image(instance, f"its repository {instance.repo} is not at hand")

    def result(self) -> Import:
        """Kept rows in the file's order, with all rejections and counts."""
        instances = [self.kept[item.instance_id] for item in self.found.instances if item.instance_id in self.kept]
        rejected = sorted([*self.found.rejected, *self.rejected], key=lambda fault: fault.row)
        rows = {instance.instance_id: self.found.rows[instance.instance_id] for instance in instances}
        done = Import.of(instances, rejected, self.found.format, rows)
        here = sum(bool(instance.profile) for instance in instances)
        first = {name: done.counts[name] for name in ("rows", "tasks")}
        return evolve(done, counts={**first, PROVEN: here, BY_IMAGE: len(instances) - here, **done.counts})


def _run_here(
    desk: _Desk, out: Path, jobs: int, test_requirements: Sequence[str], timeout: float, install: Install | None
) -> None:
    """Build each repository at each commit that rows ask for, and prove its rows."""
    from camg_coding.build.boxes import open_pool
    from camg_coding.importers.local import Recipe, build_repository, with_pip
    from camg_coding.importers.prove import prove

    recipe = Recipe(test_requirements=tuple(test_requirements), timeout=timeout, jobs=jobs, install=install or with_pip)
    with open_pool(jobs) as pool:
        for number, ((repo, short), rows) in enumerate(desk.local.items(), 1):
            folder = desk.at_hand[repo]
            commit = max((instance.base_commit for instance in rows), key=len)  # some rows have it in short
            revision = commit if (folder / ".git").exists() else ""
            where = f"{repo} at {short or 'its present state'}"
            desk.say(f"{where}: {len(rows)} rows ({number} of {len(desk.local)})")
            try:
                profile = build_repository(out, folder, revision, rows[0].repo, recipe, pool, desk.say)
            except DataError as error:
                desk.say(f"{where} cannot be built: {error.message}")
                for instance in rows:
                    desk.by_image(instance, f"its repository cannot be built ({error.message})")
                continue
            owned = [evolve(instance, profile=profile.key) for instance in rows]
            tasks = TaskSet(out, {profile.key: profile}, {instance.instance_id: instance for instance in owned})
            for tried, (instance, fault) in enumerate(prove(tasks, owned, pool, jobs), 1):
                _judge(desk, instance, fault)
                if tried % _NEWS == 0:
                    desk.say(f"{where}: {tried} of {len(rows)} rows tried")


def _judge(desk: _Desk, instance: Instance, fault: Malformed | None) -> None:
    if fault is None:
        desk.kept[instance.instance_id] = instance
    else:
        desk.reject(instance, fault.reason, fault.detail)
