"""How a script keeps a note in the continuation file by a patch and reads it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from camg.workspace.checkpoint import PATH


class PatchHabit:
    """A :class:`camg.protocols.Habit`."""

    eager = False

    def keep(self, note: str) -> tuple[str, Mapping[str, Any]]:
        """Add the file; one that exists is overwritten."""
        lines = "\n".join(f"+{line}" for line in note.splitlines())
        return "apply_patch", {"input": f"*** Begin Patch\n*** Add File: {PATH}\n{lines}\n*** End Patch"}

    def recall(self) -> tuple[str, Mapping[str, Any]]:
        """Read it by the shell."""
        return "shell_command", {"command": f"cat {PATH}"}

    def asked(self, prompt: str) -> bool:
        """Never: nothing is summarised."""
        return False
