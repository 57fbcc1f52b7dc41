"""CompactionRL (arXiv 2607.05378, as read in reproductions; its literal prompts are unpublished).

When the context is full the policy writes a summary S of it; the next context is instructions, the task (not in the
original: ``keep_task``), S, and the last k whole steps, with k -> k - 1 -> ... -> 0 until they fit. A summary is
sampled and trained once, as a turn of its own; its copy in the next context is context. At the environment's own
boundary the summary crosses alone: a kept step would leak the session that was cleared.
"""

from __future__ import annotations

from collections.abc import Sequence

from camg.protocols import Continue, EpisodeView, Kept, Replace
from camg.types import Boundary, BoundaryKind, Tool
from camg.workspace.memory import PassiveSession, spoken, summary_prompt
from camg_compaction.config import CompactionConfig

ABOUT = """\
Your context is bounded. When it is full you are asked for a summary of it; what you do not write down is gone."""

ASK = """\
Your context is about to be replaced. Write the summary with which you will go on, and nothing else: the goal; what was
done, found and decided; paths, edits, outputs and failures that still matter; test results; what remains to be done.
Invent nothing."""
ASK_TERSE = "sum up:"

RESUME = "Your earlier context was replaced. Your summary of it:\n{summary}"
RESUME_TERSE = "notes: {summary}"


class CompactionMemory:
    """``--memory compaction``: no tools of its own."""

    tools: Sequence[Tool] = ()

    def __init__(self, config: CompactionConfig) -> None:
        self.config = config

    def instructions(self, *, terse: bool) -> str:
        """That a summary will be asked for."""
        return "" if terse else ABOUT

    def open(self, view: EpisodeView) -> CompactionSession:
        """One episode's memory."""
        return CompactionSession(view, self.config)


class CompactionSession(PassiveSession):
    """Asks the policy for summaries."""

    def __init__(self, view: EpisodeView, config: CompactionConfig) -> None:
        super().__init__(view)
        self._config = config
        self._compactions = 0

    def before_turn(self) -> Replace | None:
        """Compact early, where ``trigger_tokens`` asks for it."""
        trigger = self._config.trigger_tokens
        if not trigger or not self.view.steps() or self._compactions >= self._config.compactions:
            return None
        left = self.view.prompt_tokens - self.view.count(self.view.transcript())
        return self._compact(self._config.k) if left < trigger else None

    def at_boundary(self, boundary: Boundary) -> Replace | Continue:
        """A summary and the last steps; at a declared boundary, a summary alone."""
        if boundary.kind is BoundaryKind.DECLARED:
            return Replace(self._resume(boundary.reminder))
        if self._compactions >= self._config.compactions:
            return Continue()
        return self._compact(self._config.k)

    def _compact(self, k: int) -> Replace:
        self._compactions += 1
        steps = self.view.steps()
        note = self._resume("")
        while True:
            keep = [Kept(step.turn) for step in steps[len(steps) - k :]] if k else []
            plan = Replace(note, keep=keep, task=self._config.keep_task)
            if not k or self.view.room(plan) >= 0:
                return plan
            k = min(k, len(steps)) - 1

    def _resume(self, reminder: str) -> str:
        """Have the summary written: the note that opens the next context. ``reminder``: the environment's wishes."""
        terse = self.view.codec.terse
        ask = ASK_TERSE if terse else "\n\n".join(part for part in (_facts(reminder), ASK) if part)
        summary = self.view.generate(
            summary_prompt(self.view, ask),
            limit=self._config.summary_tokens,
            trained=True,
            slots=int(self._config.slot),
        )
        return (RESUME_TERSE if terse else RESUME).format(summary=spoken(summary))


def _facts(reminder: str) -> str:
    """The environment's reminder speaks of the continuation file; only its fields are of use here."""
    lines = [line for line in reminder.splitlines() if ".agent_memory" not in line and "<<" not in line]
    return "\n".join(lines).strip()


__all__ = ["CompactionMemory", "CompactionSession"]
