"""How a script says a note, which is thereby logged, and searches the log for the newest."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from camg_prolong.log import PATH


class LogHabit:
    """A :class:`camg.protocols.Habit`. Nothing is written: what a command prints is in the log."""

    eager = True

    def keep(self, note: str) -> tuple[str, Mapping[str, Any]]:
        """Say it."""
        return "shell_command", {"command": f"echo {shlex.quote('note: ' + note)}"}

    def recall(self) -> tuple[str, Mapping[str, Any]]:
        """A narrow search; the last match is what was said last."""
        return "shell_command", {"command": f"grep -o 'note: [^\"]*' {PATH} | tail -n 1"}

    def asked(self, prompt: str) -> bool:
        """Never: nothing is summarised."""
        return False
