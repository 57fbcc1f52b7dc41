"""An append-only journal: what the policy wrote once stays as it was, and only the latest entries are shown.

Unlike a summary, an entry is written from the context alone and never rewritten: nothing is lost by summing up again.
"""

from __future__ import annotations

from collections.abc import Sequence

from camg.protocols import EpisodeView, Replace
from camg.types import Boundary, Tool
from camg.workspace.memory import PassiveSession, spoken, summary_prompt
from camg_example_memory.config import JournalConfig

ABOUT = "At times your context is replaced. Before that you write one entry of your journal; its latest entries return."
ASK = "Your context is about to be replaced. Write one entry of your journal: what you will need. Nothing else."
ASK_TERSE = "sum up:"
NOTE = "Your journal, latest entry last:\n{entries}"
NOTE_TERSE = "notes: {entries}"


class Journal:
    """``--memory journal``: no tools of its own."""

    tools: Sequence[Tool] = ()

    def __init__(self, config: JournalConfig) -> None:
        self.config = config

    def instructions(self, *, terse: bool) -> str:
        """That an entry will be asked for."""
        return "" if terse else ABOUT

    def open(self, view: EpisodeView) -> JournalSession:
        """One episode's journal."""
        return JournalSession(view, self.config)


class JournalSession(PassiveSession):
    """Asks the policy for entries. They are trained as responses, and each takes an action."""

    def __init__(self, view: EpisodeView, config: JournalConfig) -> None:
        super().__init__(view)
        self._config = config
        self._entries: list[str] = []

    def at_boundary(self, boundary: Boundary) -> Replace:
        """One more entry, then a fresh context."""
        terse = self.view.codec.terse
        prompt = summary_prompt(self.view, ASK_TERSE if terse else ASK)
        entry = spoken(self.view.generate(prompt, limit=self._config.entry_tokens, trained=True, slots=1))
        if entry:
            self._entries.append(entry)
        shown = "\n".join(self._entries[-self._config.entries :])
        return Replace((NOTE_TERSE if terse else NOTE).format(entries=shown or "-"))


class EntryHabit:
    """A :class:`camg.protocols.Habit`: how a script keeps a note by this memory. It answers with it."""

    eager = False

    def keep(self, note: str) -> None:
        """The entry keeps it."""

    def recall(self) -> None:
        """The next context shows it."""

    def asked(self, prompt: str) -> bool:
        """Does the prompt end with the request for an entry?"""
        return any(request in prompt[-400:] for request in (ASK, ASK_TERSE))
