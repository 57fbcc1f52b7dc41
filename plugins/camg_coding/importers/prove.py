"""Does an imported task hold here? Its listed tests all pass with the repair, and its FAIL_TO_PASS fail without it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from attrs import frozen

from camg.errors import DataError
from camg_coding.build.boxes import Pool
from camg_coding.grading.suite import SuiteResult, run_suite
from camg_coding.importers.report import Malformed
from camg_coding.importers.testids import file_of
from camg_coding.prepare import touched, workspace
from camg_coding.records import BUG, Instance, Profile
from camg_coding.store import TaskSet

Changes = Mapping[str, bytes | None]  # path -> content, None: removed

APPLIES_NOT = "patch does not apply"
GOLD_FAILS = "a listed test does not pass with the repair"
BUG_PASSES = "a FAIL_TO_PASS test passes without the repair"
INCOMPLETE = "the suite does not end with the bug"


@frozen
class States:
    """The two states of a task's tree, as changes of the clean one."""

    repaired: Changes
    broken: Changes

    @classmethod
    def of(cls, tasks: TaskSet, instance: Instance) -> States:
        """Raises :class:`Malformed` where a patch does not apply to the tree."""
        try:
            patched = touched(tasks, instance, instance.patch)
            tests = touched(tasks, instance, instance.test_patch) if instance.test_patch else {}
        except DataError as error:
            raise Malformed(APPLIES_NOT, error.message.removeprefix("patch does not apply: ")) from error
        if instance.polarity == BUG:
            return cls({}, patched)
        return cls({**tests, **patched}, tests)


def prove(
    tasks: TaskSet, profile: Profile, instances: Sequence[Instance], pool: Pool, jobs: int
) -> Iterator[tuple[Instance, Malformed | None]]:
    """Each instance of one repository with None, or with the reason why it does not hold; in their order.

    Every run has a box of its own. The repaired tree of SWE-smith's tasks is the clean one: tasks that ask for the same
    files share its run. Raises :class:`InfrastructureFault` if no box can be opened.
    """
    runs = _Runs(tasks, profile, pool)
    faults: dict[str, Malformed] = {}
    states: dict[str, States] = {}
    for instance in instances:
        try:
            states[instance.instance_id] = States.of(tasks, instance)
        except Malformed as fault:
            faults[instance.instance_id] = fault
    left = [instance for instance in instances if instance.instance_id in states]
    with ThreadPoolExecutor(jobs) as threads:
        gold: dict[tuple[str, tuple[str, ...]], Future[SuiteResult]] = {}
        for instance in left:
            key = _gold_key(instance)
            if key not in gold:
                gold[key] = threads.submit(runs.run, states[instance.instance_id].repaired, key[1])
        for instance in left:
            if failed := _gold_fault(instance, gold[_gold_key(instance)].result()):
                faults[instance.instance_id] = failed
        broken = {
            instance.instance_id: threads.submit(
                runs.run, states[instance.instance_id].broken, files_of(instance.FAIL_TO_PASS)
            )
            for instance in left
            if instance.instance_id not in faults
        }
        for instance in instances:
            name = instance.instance_id
            yield instance, faults[name] if name in faults else _bug_fault(instance, broken[name].result())


def files_of(tests: Sequence[str]) -> tuple[str, ...]:
    """The files of some node ids, each once, sorted."""
    return tuple(sorted(set(map(file_of, tests))))


@frozen
class _Runs:
    tasks: TaskSet
    profile: Profile
    pool: Pool

    def run(self, changes: Changes, files: Sequence[str]) -> SuiteResult:
        """The outcomes of ``files`` over the clean tree with ``changes``."""
        with tempfile.TemporaryDirectory(prefix="camg-coding-") as scratch:
            tree = Path(scratch) / "tree"
            changed_tree(self.tasks.tree(self.profile), changes, tree)
            present = [file for file in files if (tree / file).is_file()]  # pytest runs nothing if one is missing
            if not present:
                return SuiteResult({}, True)
            box = workspace(self.tasks, self.profile, tree)
            with self.pool.opened(box, wall_seconds=self.profile.timeout) as opened:
                return run_suite(opened, self.profile, present)


def changed_tree(clean: Path, changes: Changes, tree: Path) -> None:
    """Make ``tree`` the clean one with ``changes``; files that stay are hard links, which boxes never write to."""
    shutil.copytree(clean, tree, symlinks=True, copy_function=_link)
    for path, data in changes.items():
        target = tree / path
        if not target.parent.resolve().is_relative_to(tree.resolve()):
            raise DataError(f"Expected a path within the repository, got {path!r}, which a link leads out of it.")
        mode = target.stat().st_mode & 0o777 if target.is_file() else 0o644
        target.unlink(missing_ok=True)
        if data is not None:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
            target.chmod(mode)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:  # another file system, or no right to link
        shutil.copy2(source, target, follow_symlinks=False)


def _gold_key(instance: Instance) -> tuple[str, tuple[str, ...]]:
    files = files_of([*instance.FAIL_TO_PASS, *instance.PASS_TO_PASS])
    return ("" if instance.polarity == BUG else instance.instance_id, files)


def _gold_fault(instance: Instance, result: SuiteResult) -> Malformed | None:
    listed = (*instance.FAIL_TO_PASS, *instance.PASS_TO_PASS)
    missed = [test for test in listed if test not in result.passed]
    if not missed:
        return None
    if not result.complete:
        return Malformed(GOLD_FAILS, result.reason)
    seen = result.outcomes.get(missed[0], "not found")
    return Malformed(GOLD_FAILS, f"{len(missed)} of {len(listed)}, the first: {missed[0][:120]} ({seen})")


def _bug_fault(instance: Instance, result: SuiteResult) -> Malformed | None:
    if not result.complete:
        return Malformed(INCOMPLETE, result.reason)
    passing = [test for test in instance.FAIL_TO_PASS if test in result.passed]
    if passing:
        return Malformed(BUG_PASSES, f"{len(passing)} of {len(instance.FAIL_TO_PASS)}, the first: {passing[0][:120]}")
    return None
