"""The automatic summary of the frozen comparators (paper C.2): a fixed prompt, a limit in bytes, no training, no slot.

Its calls and tokens are recorded as costs of the episode.
"""

from __future__ import annotations

from collections.abc import Sequence

from camg.protocols import EpisodeView, Replace
from camg.types import Boundary, Tool
from camg.workspace.memory import PassiveSession, spoken, summary_prompt
from camg_managers.config import AutoSummaryConfig

ASK = """\
Sum up this conversation for someone who continues the task without having seen it. Write the summary only: the goal,
what was done and found, what matters for the rest, what remains."""
ASK_TERSE = "sum up:"  # the words of `compaction`: one warm start serves both

NOTE = "The conversation so far was summed up:\n{summary}"
NOTE_TERSE = "notes: {summary}"


class AutoSummary:
    """``--memory auto-summary``: no tools of its own."""

    tools: Sequence[Tool] = ()

    def __init__(self, config: AutoSummaryConfig) -> None:
        self.config = config

    def instructions(self, *, terse: bool) -> str:
        """None: it happens to the policy."""
        return ""

    def open(self, view: EpisodeView) -> AutoSummarySession:
        """One episode's memory."""
        return AutoSummarySession(view, self.config)


class AutoSummarySession(PassiveSession):
    """Sums up at every boundary."""

    def __init__(self, view: EpisodeView, config: AutoSummaryConfig) -> None:
        super().__init__(view)
        self._config = config

    def at_boundary(self, boundary: Boundary) -> Replace:
        """A fresh context with the summary."""
        terse = self.view.codec.terse
        prompt = summary_prompt(self.view, ASK_TERSE if terse else ASK)
        said = self.view.generate(prompt, limit=self._config.tokens, trained=False)
        tokens = self.view.count(prompt) + len(self.view.codec.encode(said))
        summary = spoken(said).encode("utf-8", "replace")[: self._config.bytes].decode("utf-8", "ignore")
        self.record("auto-summary", text=summary, model_calls=1.0, model_tokens=float(tokens))
        return Replace((NOTE_TERSE if terse else NOTE).format(summary=summary))
