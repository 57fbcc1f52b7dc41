"""One Coding episode: submission by sentinel, the checkpoint penalty, and grading at the end.

Rewards (paper, Table 6): r_T = 1 if the hidden tests pass, else 0; -0.1 for a response at a context boundary whose
checkpoint write does not persist. An episode that ends without a submission is not graded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from attrs import evolve, field, frozen

from camg.types import Action, CheckpointVerdict, EndReason, Observation, Outcome, StepResult
from camg.workspace.shell import SHELL_COMMAND
from camg_coding.config import CHECKPOINT_PENALTY, SENTINEL

_DETAIL_CHARACTERS = 64 << 10  # of each text that is kept with the episode


class Texts(Protocol):
    """How an episode reads."""

    def brief(self) -> str: ...

    def reminder(self, path: str, limit: int) -> str: ...

    def fault(self, shown: str) -> str:
        """What the policy reads instead of ``shown`` after a response that did not parse."""


@frozen
class Grade:
    """What grading a submission found. Tests that are missing, skipped or in error count as failed."""

    complete: bool  # did the run of the tests end as it should, with results that can be believed?
    still_failing: tuple[str, ...] = ()  # of FAIL_TO_PASS
    broken: tuple[str, ...] = ()  # of PASS_TO_PASS
    listed: int = 0  # tests in both lists
    reason: str = ""  # why it is not complete, or why it was not run
    too_large: bool = False
    patch: str = ""  # the submitted changes as a unified diff, bounded
    changed: int = 0  # submitted source files
    dropped: Mapping[str, str] = field(factory=dict)  # changed paths that are no part of a submission -> reason
    seconds: float = 0.0

    @property
    def resolved(self) -> bool:
        """Every test of both lists passes."""
        return self.complete and self.listed > 0 and not self.still_failing and not self.broken

    @classmethod
    def judge(
        cls, outcomes: Mapping[str, str], to_pass: Sequence[str], to_keep: Sequence[str], **facts: object
    ) -> Grade:
        """From the outcome of each test that ran."""
        still = tuple(test for test in to_pass if outcomes.get(test) != "passed")
        broken = tuple(test for test in to_keep if outcomes.get(test) != "passed")
        return cls(still_failing=still, broken=broken, listed=len(to_pass) + len(to_keep), **facts)  # type: ignore[arg-type]


def submits(action: Action, result: StepResult) -> bool:
    """Is this the submitting command: status 0, and the sentinel alone on the first line of its output?"""
    if action.tool != SHELL_COMMAND.name or result.observation.exit_status != 0:
        return False
    text = result.observation.full or result.observation.shown
    return text.split("\n", 1)[0].rstrip() == SENTINEL


class CodingSession:
    """One episode (:class:`camg.protocols.Session`). ``grade`` judges the workspace as it is when called."""

    def __init__(self, texts: Texts, grade: Callable[[], Grade]) -> None:
        self._texts = texts
        self._grade = grade
        self._count = dict.fromkeys(("executed", "invalid", "refused_checkpoints"), 0)

    def brief(self) -> str:
        """The task; the same in every context."""
        return self._texts.brief()

    def step(self, action: Action) -> StepResult:
        """Never called: the shell is the only tool."""
        return StepResult(Observation(shown=f"{action.tool} is not a tool."), invalid=True)

    def after_action(self, action: Action, result: StepResult, checkpoint: CheckpointVerdict | None) -> StepResult:
        """End the episode at the submission; price a checkpoint that was asked for and not written."""
        if action.fault is not None:
            self._count["invalid"] += 1
            shown = self._texts.fault(result.observation.shown)
            result = evolve(result, observation=evolve(result.observation, shown=shown), invalid=True)
        else:
            self._count["executed"] += 1
        if submits(action, result):
            return evolve(result, terminated=True)
        if checkpoint is not None and not checkpoint.accepted:
            self._count["refused_checkpoints"] += 1
            return evolve(result, reward=result.reward + CHECKPOINT_PENALTY)
        return result

    def reminder(self, path: str, limit: int) -> str:
        """Asks for the checkpoint."""
        return self._texts.reminder(path, limit)

    def cross(self) -> str:
        """Never declared: boundaries of Coding come from pressure alone."""
        return self.brief()

    def finish(self, reason: EndReason) -> tuple[float, Outcome]:
        """Grade a submission; what was never submitted scores 0. Raises :class:`InfrastructureFault`."""
        submitted = reason is EndReason.TERMINATED
        grade = self._grade() if submitted else Grade(complete=False, reason=f"never submitted ({reason.value})")
        reward = float(grade.resolved)
        failed = (*grade.still_failing, *grade.broken)
        metrics: dict[str, float] = {
            **self._count,
            "submitted": submitted,
            "tests_passed": (grade.listed - len(failed)) / grade.listed if grade.listed else 0.0,
            "changed_files": grade.changed,
            "grading_seconds": grade.seconds,
        }
        details = {
            "submission": grade.patch,
            "left out of it": "\n".join(f"{path}: {reason}" for path, reason in grade.dropped.items()),
            "tests that fail": "\n".join(failed),
            "grading": grade.reason,
        }
        return reward, Outcome(
            success=reward,
            complete=grade.resolved,
            score=reward,
            metrics=metrics,
            failure=self._failure(submitted, grade),
            details={name: text[:_DETAIL_CHARACTERS] for name, text in details.items() if text},
        )

    def _failure(self, submitted: bool, grade: Grade) -> str:
        """The classes of the paper's D.6."""
        if grade.resolved:
            return ""
        if submitted:
            return "submission too large" if grade.too_large else "wrong fix"
        return "never submitted" if self._count["executed"] else "unparseable"

    def close(self) -> None:
        """Nothing is held outside this object: graders close their own boxes."""
