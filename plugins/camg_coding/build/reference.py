"""The reference run: a project's suite over its clean tree, three times alone and once on a crowded machine.

What does not always pass is never graded: neither the test that depends on luck nor the one that measures time.
"""

from __future__ import annotations

import re
import threading
from pathlib import Path

from attrs import evolve

from camg.errors import DataError
from camg_coding.build.boxes import Pool
from camg_coding.build.crowd import crowd
from camg_coding.grading.suite import SuiteResult, grading_limits, run_suite
from camg_coding.prepare import workspace
from camg_coding.records import Profile
from camg_coding.store import TaskSet

RUNS = 3
SLACK = 4.0  # seconds on the clock for each processor second that a run over a bug may take
SLOWER = 6.0  # time limit of the crowded run, in times of a run alone
_CROWDS = threading.Lock()
_MISSING = re.compile(r"No module named '([\w.]+)'")


def reference(tasks: TaskSet, profile: Profile, pool: Pool) -> Profile:
    """The profile with its ``passing`` and ``flaky`` tests and the seconds of its fastest run.

    Raises :class:`DataError` where a run cannot be believed or nothing passes, :class:`InfrastructureFault`.
    """
    results = [_run(tasks, profile, pool) for _ in range(RUNS)]
    for result in results:
        if not result.complete:
            raise DataError(f"{profile.origin}: its tests could not be run: {result.reason}{_remedy(result)}")
    crowded = _crowded(tasks, profile, pool)
    if not crowded.complete:
        raise DataError(
            f"{profile.origin}: its tests run alone, but not beside other work: {crowded.reason}{_remedy(crowded)}"
        )
    runs = [result.passed for result in (*results, crowded)]
    always, ever = frozenset.intersection(*runs), frozenset.union(*runs)
    if not always:
        counts = {
            outcome: list(results[0].outcomes.values()).count(outcome) for outcome in ("failed", "error", "skipped")
        }
        words = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count) or "none was found"
        raise DataError(f"{profile.origin}: no test passes ({words}){_remedy(results[0])}")
    order = [test for test in results[0].outcomes if test in always]
    return evolve(
        profile,
        passing=tuple(order),
        flaky=tuple(sorted(ever - always)),
        seconds=round(min(result.seconds for result in results), 2),  # the others may have met another project's crowd
    )


def _run(tasks: TaskSet, profile: Profile, pool: Pool, wall_seconds: float = 0.0) -> SuiteResult:
    wall = wall_seconds or profile.timeout
    with pool.opened(workspace(tasks, profile, tasks.tree(profile)), limits=grading_limits(wall)) as box:
        return run_suite(box, profile, wall_seconds=wall)


def _crowded(tasks: TaskSet, profile: Profile, pool: Pool) -> SuiteResult:
    seconds = SLOWER * profile.timeout
    with _CROWDS, crowd(pool):  # one at a time: two would slow each other down once more
        return _run(tasks, profile, pool, seconds)


def _remedy(result: SuiteResult) -> str:
    missing = sorted(set(_MISSING.findall(result.output)))
    return f"; missing: {', '.join(missing)} (name them with --test-requirement)" if missing else ""


def mutant_seconds(profile: Profile) -> float:
    """Processor seconds that a run over a bug may take: a loop that never ends should be seen soon.

    Not on the clock, which other work on the machine makes run ahead; see :data:`SLACK`.
    """
    return min(profile.timeout, 4.0 + 3.0 * profile.seconds)


def tree_text(tree: Path, path: str) -> str:
    """A file as the tasks' patches see it."""
    return (tree / path).read_bytes().decode("utf-8", "surrogateescape")
