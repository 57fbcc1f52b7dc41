"""How a script keeps a note where the manager asks for a text: it answers with the note."""

from __future__ import annotations

from camg_managers.auto_summary import ASK, ASK_TERSE
from camg_managers.overwrite import PROMPT, PROMPT_TERSE

_REQUESTS = (ASK[-40:], ASK_TERSE, PROMPT[-40:], PROMPT_TERSE[-10:])


class AnswerHabit:
    """A :class:`camg.protocols.Habit` without actions."""

    eager = False

    def keep(self, note: str) -> None:
        """The answer keeps it."""

    def recall(self) -> None:
        """The next context shows it."""

    def asked(self, prompt: str) -> bool:
        """Does the prompt end with a request?"""
        return any(request in prompt[-400:] for request in _REQUESTS)
