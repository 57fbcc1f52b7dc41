"""One bug on trial: its suite's run, both lists, its patch and its statement, and the proof that its repair passes."""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from pathlib import Path

from attrs import evolve, field, frozen

from camg.errors import CamgError, DataError
from camg.protocols import Box
from camg_coding.build.boxes import Pool
from camg_coding.build.journal import ADMITTED, Outcome
from camg_coding.build.observe import Observation, observe, public_name
from camg_coding.build.reference import SLACK, mutant_seconds
from camg_coding.build.statement import leak, title_and_text
from camg_coding.grading.grader import test_files
from camg_coding.grading.suite import SuiteResult, grading_limits, run_suite
from camg_coding.mutate import Bug, digest
from camg_coding.patches import apply_patch, unified_diff
from camg_coding.prepare import touched, workspace
from camg_coding.records import BUG, Instance, Profile
from camg_coding.store import TaskSet

SURVIVES = "nothing fails"
WAVERING = "nothing fails each time"
NOTHING_LEFT = "nothing is left that passes"
INCOMPLETE = "the suite does not end"
NOT_REVERSED = "the reverse patch does not give the clean files"
GOLD_FAILS = "the repair does not pass"
NO_STATEMENT = "no statement"

AGAIN = 3
"""Further runs of the failing tests where the project draws lots, threads or watches the clock: what wavers with the
bug is in neither list. Elsewhere a bug behaves the same each time, and a further run costs a quarter of the build."""
_LUCK = re.compile(r"\b(random|secrets|uuid\d?|urandom|shuffle|threading|asyncio|concurrent|monotonic|perf_counter)\b")

Write = Callable[[Instance, Sequence[Observation]], str]
"""Writes the statement of a task (:mod:`camg_coding.build.model`). Raises :class:`CamgError`."""


@frozen(kw_only=True)
class Trial:
    """What the trials of one repository share."""

    tasks: TaskSet  # with the profile alone
    profile: Profile
    pool: Pool
    seed: int
    write: Write | None = None  # None: the template
    again: int = field(init=False)  # further runs of failing tests
    _lock: threading.Lock = field(factory=threading.Lock, init=False)
    _gold: dict[tuple[str, ...], Future[SuiteResult]] = field(factory=dict, init=False)

    @again.default
    def _again(self) -> int:
        roots = [self.tasks.tree(self.profile) / root for root in self.profile.roots]
        files = [file for root in roots for name in self.profile.packages for file in _sources(root / name)]
        luck = any(_LUCK.search(file.read_text(encoding="utf-8", errors="replace")) for file in files)
        return AGAIN if luck else 0

    def hold(self, bug: Bug) -> Outcome:
        """Try one bug. Raises :class:`InfrastructureFault` if no box can be had."""
        name = digest(bug)
        result, wavering, seen = self._run(bug)
        fault = self._fault(result, wavering)
        if fault:
            return Outcome(name, bug.strategy, fault, "" if result.complete else result.reason)
        try:
            instance = self._instance(bug, name, result, wavering)
        except DataError as error:
            return Outcome(name, bug.strategy, NOT_REVERSED, error.message)
        try:
            instance = evolve(instance, problem_statement=self._statement(instance, bug, seen))
        except CamgError as error:
            return Outcome(name, bug.strategy, NO_STATEMENT, error.message)
        reason = self._repaired(instance)
        if reason:
            return Outcome(name, bug.strategy, GOLD_FAILS, reason)
        return Outcome(name, bug.strategy, ADMITTED, instance=instance)

    def _run(self, bug: Bug) -> tuple[SuiteResult, frozenset[str], tuple[Observation, ...]]:
        """The suite over the tree with the bug, which of its failing tests pass at times, and what a user would see."""
        tree, seconds = self.tasks.tree(self.profile), SLACK * mutant_seconds(self.profile)
        start = workspace(self.tasks, self.profile, tree)
        limits = evolve(grading_limits(seconds), cpu_seconds=mutant_seconds(self.profile))
        with self.pool.opened(start, limits=limits) as box:
            for path, (_, after) in bug.files.items():
                box.write(path, after.encode("utf-8", "surrogateescape"))
            result = run_suite(box, self.profile, wall_seconds=seconds)
            wavering = frozenset[str]() if self._fault(result) else self._wavering(box, result, seconds)
            seen: tuple[Observation, ...] = ()
            if not self._fault(result, wavering):
                seen = observe(box, self.profile, self._failing(result, wavering), wall_seconds=seconds)
        return result, wavering, seen

    def _wavering(self, box: Box, result: SuiteResult, seconds: float) -> frozenset[str]:
        """The failing tests that pass in some further run; all of them if one of these does not end."""
        failing, found = frozenset(self._failing(result)), frozenset[str]()
        for _ in range(self.again):
            again = run_suite(box, self.profile, self._failing(result), wall_seconds=seconds)
            found |= failing & again.passed if again.complete else failing
        return found

    def _failing(self, result: SuiteResult, wavering: Collection[str] = ()) -> tuple[str, ...]:
        return tuple(test for test in self.profile.passing if test not in result.passed and test not in wavering)

    def _fault(self, result: SuiteResult, wavering: Collection[str] = ()) -> str:
        if not result.complete:
            return INCOMPLETE
        failing = self._failing(result)
        if not failing:
            return SURVIVES
        if len(failing) == len(self.profile.passing):
            return NOTHING_LEFT
        return "" if self._failing(result, wavering) else WAVERING

    def _instance(self, bug: Bug, name: str, result: SuiteResult, wavering: Collection[str]) -> Instance:
        """Without its statement. Raises :class:`DataError` if the patch does not lead there and back."""
        failing = self._failing(result, wavering)
        before = {path: texts[0] for path, texts in bug.files.items()}
        after = {path: texts[1] for path, texts in bug.files.items()}
        instance = Instance(
            instance_id=f"{self.profile.key}.{bug.strategy}__{name}",
            repo=f"{self.profile.owner}/{self.profile.repo}",
            profile=self.profile.key,
            patch=unified_diff(before, after),
            polarity=BUG,
            FAIL_TO_PASS=failing,
            PASS_TO_PASS=tuple(test for test in self.profile.passing if test in result.passed),
            problem_statement="",
            strategy=bug.strategy,
            hidden_tests=tuple(sorted({test.partition("::")[0] for test in failing})),
            base_commit=self.profile.commit,
        )
        there = touched(self.tasks, instance, instance.patch)
        if there != {path: text.encode("utf-8", "surrogateescape") for path, text in after.items()}:
            raise DataError("the patch does not give the files with the bug")
        if apply_patch(after, instance.patch, reverse=True) != before:
            raise DataError("the reverse patch does not give the clean files")
        return instance

    def _statement(self, instance: Instance, bug: Bug, seen: Sequence[Observation]) -> str:
        """Raises :class:`CamgError` where none can be had that keeps the tests to itself."""
        tree = self.tasks.tree(self.profile)
        tests = [(tree / path).read_text(encoding="utf-8", errors="replace") for path in instance.hidden_tests]
        if self.write is not None:
            changed = [
                line[1:] for line in instance.patch.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")
            ]
            text = self.write(instance, seen)
            found = leak(text, tests, changed)
            if found:
                raise DataError(f"the statement repeats {found!r}")
            return text
        for messages in (True, False):
            rng = random.Random(f"{self.seed}:{instance.instance_id}")
            text = title_and_text(seen, self.profile.packages[0], self._area(bug), rng, messages=messages)
            found = leak(text, tests)
            if not found:
                return text
        raise DataError(f"the statement would repeat {found!r}")

    def _area(self, bug: Bug) -> str:
        """The public name nearest to the bug."""
        _, path, qualname = bug.parts[0]
        for root in self.profile.roots:
            path = path.removeprefix(f"{root}/")
        module = path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        return public_name(f"{module}:{qualname}") or module

    def _repaired(self, instance: Instance) -> str:
        """Why the repair does not pass, or nothing.

        The repaired tree is the clean one to the last byte (:meth:`_instance` saw to it): bugs whose tests lie in the
        same files share one run over it.
        """
        files = test_files(instance, self.profile)
        with self._lock:
            run = self._gold.setdefault(files, Future())
            first = not run.running() and not run.done() and run.set_running_or_notify_cancel()
        if first:
            try:
                run.set_result(self._clean(files))
            except BaseException as error:
                run.set_exception(error)
        result = run.result()
        failing = [test for test in (*instance.FAIL_TO_PASS, *instance.PASS_TO_PASS) if test not in result.passed]
        return (result.reason or f"failing with it: {', '.join(failing[:3])}") if failing else ""

    def _clean(self, files: Sequence[str]) -> SuiteResult:
        start = workspace(self.tasks, self.profile, self.tasks.tree(self.profile))
        with self.pool.opened(start, limits=grading_limits(self.profile.timeout)) as box:
            return run_suite(box, self.profile, files)


def _sources(package: Path) -> list[Path]:
    """The Python files of a package, or of the module of that name."""
    module = package.with_suffix(".py")
    return [module] if module.is_file() else sorted(package.rglob("*.py"))
