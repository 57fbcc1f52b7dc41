"""How a script keeps a note in the continuation file and reads it again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from camg.workspace.checkpoint import FOLDER, PATH


class ShellHabit:
    """A :class:`camg.protocols.Habit`."""

    eager = False

    def keep(self, note: str) -> tuple[str, Mapping[str, Any]]:
        """Write the file."""
        return "shell_command", {"command": f"mkdir -p {FOLDER}; echo {shlex.quote(note)} > {PATH}"}

    def recall(self) -> tuple[str, Mapping[str, Any]]:
        """Read it."""
        return "shell_command", {"command": f"cat {PATH}"}

    def asked(self, prompt: str) -> bool:
        """Never: nothing is summarised."""
        return False
