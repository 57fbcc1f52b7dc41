"""How a script keeps a note by a summary: it answers the request with the note."""

from __future__ import annotations

from camg_compaction.memory import ASK, ASK_TERSE


class SummaryHabit:
    """A :class:`camg.protocols.Habit` without actions."""

    eager = False

    def keep(self, note: str) -> None:
        """The summary keeps it."""

    def recall(self) -> None:
        """The next context shows it."""

    def asked(self, prompt: str) -> bool:
        """Does the prompt end with the request?"""
        tail = prompt[-400:]
        return ASK_TERSE in tail or ASK[-40:] in tail
