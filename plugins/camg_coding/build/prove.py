"""Tasks proven again: the repair passes the grader, and doing nothing does not."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from attrs import frozen

from camg.errors import DataError
from camg_coding.build.boxes import Pool
from camg_coding.build.progress import Progress
from camg_coding.changes import Submission
from camg_coding.grading.grader import grade
from camg_coding.prepare import public_tree, touched
from camg_coding.records import BUG, Instance
from camg_coding.session import Grade
from camg_coding.store import TaskSet

Files = dict[str, bytes | None]


@frozen(kw_only=True)
class Proof:
    """What the runs of one task showed. ``flaky``: only some runs showed the fault."""

    instance_id: str
    fault: str = ""
    flaky: bool = False


def spread(instances: Sequence[Instance], limit: int | None) -> list[Instance]:
    """``limit`` instances at equal distances; those without a repository here are left out by :func:`prove`."""
    if limit is None or limit >= len(instances):
        return list(instances)
    return [instances[place * len(instances) // limit] for place in range(limit)]


def prove(tasks: TaskSet, instances: Sequence[Instance], pool: Pool, *, jobs: int, runs: int) -> list[Proof]:
    """Grade the repair and the untouched tree of each instance ``runs`` times, in the order given.

    Instances without an executable repository are left out. Raises :class:`InfrastructureFault` without boxes.
    """
    here = [instance for instance in instances if instance.profile in tasks.profiles]
    with Progress("proven tasks", len(here)) as progress, ThreadPoolExecutor(jobs) as threads:

        def one(instance: Instance) -> Proof:
            proof = _proof(tasks, instance, pool, runs)
            if proof.fault:
                progress.say(f"{instance.instance_id}: {proof.fault}")
            progress.advance()
            return proof

        try:
            return list(threads.map(one, here))
        except BaseException:
            pool.stop()
            raise


def _proof(tasks: TaskSet, instance: Instance, pool: Pool, runs: int) -> Proof:
    try:
        gold = repair(tasks, instance)
        faults = [fault for _ in range(runs) if (fault := _fault(tasks, instance, gold, pool))]
    except DataError as error:
        return Proof(instance_id=instance.instance_id, fault=error.message)
    if not faults:
        return Proof(instance_id=instance.instance_id)
    return Proof(instance_id=instance.instance_id, fault=faults[0], flaky=len(faults) < runs)


def _fault(tasks: TaskSet, instance: Instance, gold: Files, pool: Pool) -> str:
    with pool.place():
        repaired = grade(tasks, instance, Submission(gold), pool)
        untouched = grade(tasks, instance, Submission(), pool)
    if not repaired.resolved:
        return f"the repair does not pass: {_why(repaired)}"
    if not untouched.complete:
        return f"the tests with the bug: {untouched.reason}"
    missing = set(instance.FAIL_TO_PASS) - set(untouched.still_failing)
    if missing:
        return f"{len(missing)} FAIL_TO_PASS tests pass with the bug, e.g. {min(missing)}"
    if untouched.broken:
        return f"{len(untouched.broken)} PASS_TO_PASS tests fail with the bug, e.g. {untouched.broken[0]}"
    return ""


def _why(grade_: Grade) -> str:
    return grade_.reason or f"{', '.join([*grade_.still_failing, *grade_.broken][:3])} failed"


def repair(tasks: TaskSet, instance: Instance) -> Files:
    """The files of the repaired tree that differ from the task's own. Raises :class:`DataError`."""
    if instance.polarity != BUG:
        return dict(touched(tasks, instance, instance.patch))
    clean, public = tasks.tree(tasks.profile(instance)), public_tree(tasks, instance, git=False)
    paths = touched(tasks, instance, instance.patch)
    gold = {path: (clean / path).read_bytes() if (clean / path).is_file() else None for path in paths}
    if all((public / path).is_file() and (public / path).read_bytes() == data for path, data in gold.items()):
        raise DataError("the tree that the policy sees has no bug")
    return gold
