"""Does an imported task hold here? In the grader of episodes the repair passes, and doing nothing fails."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from camg.errors import DataError
from camg_coding.build.boxes import Pool
from camg_coding.changes import Submission
from camg_coding.grading.grader import grade
from camg_coding.importers.report import Malformed
from camg_coding.prepare import touched
from camg_coding.records import BUG, Instance
from camg_coding.session import Grade
from camg_coding.store import TaskSet

APPLIES_NOT = "patch does not apply"
GOLD_FAILS = "a listed test does not pass with the repair"
BUG_PASSES = "a FAIL_TO_PASS test passes without the repair"
INCOMPLETE = "the suite does not end without the repair"


def prove(
    tasks: TaskSet, instances: Sequence[Instance], pool: Pool, jobs: int
) -> Iterator[tuple[Instance, Malformed | None]]:
    """Each instance with None, or with the reason why it does not hold; in their order.

    Its prepared trees stay only if it holds. Raises :class:`InfrastructureFault` if a box cannot be opened.
    """

    def judged(instance: Instance) -> Malformed | None:
        try:
            hold(tasks, instance, pool)
        except Malformed as fault:
            shutil.rmtree(tasks.folder / "prepared" / instance.instance_id, ignore_errors=True)
            return fault
        return None

    with ThreadPoolExecutor(jobs) as threads:
        yield from zip(instances, threads.map(judged, instances), strict=True)


def hold(tasks: TaskSet, instance: Instance, pool: Pool) -> None:
    """Grade the repair, and nothing. Raises :class:`Malformed` with the reason why the task does not hold here."""
    try:
        repair = gold(tasks, instance)
        if instance.test_patch:
            touched(tasks, instance, instance.test_patch)
    except DataError as error:
        raise Malformed(APPLIES_NOT, error.message.removeprefix("patch does not apply: ")) from error
    repaired = _graded(tasks, instance, repair, pool)
    if not repaired.complete:
        raise Malformed(GOLD_FAILS, repaired.reason)
    missed = (*repaired.still_failing, *repaired.broken)
    if missed:
        raise Malformed(GOLD_FAILS, f"{len(missed)} of {repaired.listed}, the first: {missed[0][:120]}")
    broken = _graded(tasks, instance, Submission(), pool)
    if not broken.complete:
        raise Malformed(INCOMPLETE, broken.reason)
    passing = [test for test in instance.FAIL_TO_PASS if test not in broken.still_failing]
    if passing:
        raise Malformed(BUG_PASSES, f"{len(passing)} of {len(instance.FAIL_TO_PASS)}, the first: {passing[0][:120]}")


def gold(tasks: TaskSet, instance: Instance) -> Submission:
    """The repair as an episode would submit it. Raises :class:`DataError` where the patch does not apply."""
    changed = touched(tasks, instance, instance.patch)
    if instance.polarity == BUG:
        tree = tasks.tree(tasks.profile(instance))
        return Submission({path: (tree / path).read_bytes() if (tree / path).is_file() else None for path in changed})
    return Submission(changed)


def _graded(tasks: TaskSet, instance: Instance, submission: Submission, pool: Pool) -> Grade:
    with pool.place():
        return grade(tasks, instance, submission, pool)
