"""How a script keeps a note in a file of the memory tool and views it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NOTES = "/memories/notes.md"


class ToolHabit:
    """A :class:`camg.protocols.Habit`."""

    eager = False

    def keep(self, note: str) -> tuple[str, Mapping[str, Any]]:
        """Create the file; one that exists is overwritten."""
        return "memory", {"command": "create", "path": NOTES, "file_text": note}

    def recall(self) -> tuple[str, Mapping[str, Any]]:
        """View it."""
        return "memory", {"command": "view", "path": NOTES}

    def asked(self, prompt: str) -> bool:
        """Never: nothing is summarised."""
        return False
