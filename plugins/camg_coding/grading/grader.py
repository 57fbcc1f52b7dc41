"""Grade a submission: a fresh copy of the tree, the submitted sources, the hidden tests, and nothing else."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping

from camg.errors import InfrastructureFault
from camg.protocols import Box, Boxes
from camg_coding.changes import Submission, show
from camg_coding.grading.protect import graded_tree, protected
from camg_coding.grading.suite import SuiteResult, grading_limits, run_suite
from camg_coding.prepare import hidden_files, public_tree, workspace
from camg_coding.records import Instance, Profile
from camg_coding.session import Grade
from camg_coding.store import TaskSet

_REMOVED = ".camg-removed"
_ROOM = threading.BoundedSemaphore(os.cpu_count() or 1)
"""Suites that this process grades at a time: many episodes end at once, and time limits are for a core each."""


def grade(tasks: TaskSet, instance: Instance, submission: Submission, boxes: Boxes, *, seconds: float = 0.0) -> Grade:
    """Run the tests of both lists over the submission. ``seconds``: time limit; 0: the repository's own.

    What the submission brings about (hangs, exhausted memory, a grader that dies of it twice) is a grade. Raises
    :class:`InfrastructureFault` if a box cannot be opened, :class:`DataError` for a task set that cannot be read.
    """
    profile = tasks.profile(instance)
    if submission.too_large:
        result = SuiteResult({}, False, "the submission is too large to be graded")
    else:
        with _ROOM:
            result = _run(tasks, instance, submission, boxes, seconds or profile.timeout)
    return Grade.judge(
        result.outcomes,
        instance.FAIL_TO_PASS,
        instance.PASS_TO_PASS,
        complete=result.complete,
        reason=result.reason,
        too_large=submission.too_large,
        patch=show(submission, public_tree(tasks, instance, git=False)),
        changed=len(submission.files),
        dropped=submission.dropped,
        seconds=result.seconds,
    )


def _run(tasks: TaskSet, instance: Instance, submission: Submission, boxes: Boxes, seconds: float) -> SuiteResult:
    """The suite's result; a box that is lost in the run is tried once more, then it is the submission's doing."""
    profile = tasks.profile(instance)
    base, tests = public_tree(tasks, instance, git=False), graded_tree(tasks, instance)
    start = protected(workspace(tasks, profile, base, image=instance.image_name), tests, profile)
    lost = ""
    for _ in range(2):
        box = boxes(start, limits=grading_limits(seconds))
        try:
            fault = place(box, submission.files, hidden_files(tasks, instance))
            if fault:
                return SuiteResult({}, False, fault)
            return run_suite(box, profile, test_files(instance, profile), wall_seconds=seconds)
        except InfrastructureFault as error:
            lost = error.message
        finally:
            box.close()
    return SuiteResult({}, False, f"its box was lost twice: {lost}")


def test_files(instance: Instance, profile: Profile) -> tuple[str, ...]:
    """The files that hold the listed tests, in order."""
    listed = (*instance.FAIL_TO_PASS, *instance.PASS_TO_PASS)
    return tuple(sorted({test.partition("::")[0] for test in listed})) or profile.tests


def place(box: Box, changed: Mapping[str, bytes | None], hidden: Mapping[str, bytes]) -> str:
    """Bring changes and then hidden tests into a box; returns why that cannot be, or nothing.

    Raises :class:`InfrastructureFault` if the box is gone.
    """
    try:
        _remove(box, [path for path, data in changed.items() if data is None])
        for path, data in changed.items():
            if data is not None:
                box.write(path, data)
    except OSError as error:
        return f"the changes could not be applied: {error}"
    try:
        for path, data in hidden.items():
            box.write(path, data)
    except OSError as error:  # where a folder should be, the submission has a file
        return f"the tests could not be restored: {error}"
    return ""


def _remove(box: Box, paths: Iterable[str]) -> None:
    """Remove files, and folders that become empty. Names reach the tools through a file, never through a shell."""
    names = [f"./{path}" for path in paths]
    if not names:
        return
    parents = sorted({name.rpartition("/")[0] for name in names} - {"."}, reverse=True)
    box.write(_REMOVED, b"".join(name.encode("utf-8", "surrogateescape") + b"\0" for name in names))
    box.write(_REMOVED + "-in", b"".join(name.encode("utf-8", "surrogateescape") + b"\0" for name in parents))
    command = f"xargs -0r rm -f -- < {_REMOVED}; xargs -0r rmdir -p --ignore-fail-on-non-empty -- < {_REMOVED}-in"
    box.run(f"{command}; rm -f {_REMOVED} {_REMOVED}-in", wall_seconds=60.0)


__all__ = ["grade", "place", "test_files"]
