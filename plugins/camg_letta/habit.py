"""How a script keeps notes in the files that its prompt shows."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

from camg_letta.compaction import ASK, ASK_TERSE


class CommitHabit:
    """A :class:`camg.protocols.Habit`. Each note is a file of its own below ``system/``, named after its text."""

    eager = True

    def keep(self, note: str) -> tuple[str, Mapping[str, Any]]:
        """Create it; a note that is there already is an error that loses nothing."""
        name = f"system/note-{zlib.crc32(note.encode(errors='replace')):08x}.md"
        arguments = {"file_path": name, "description": "a note to myself", "file_text": note}
        return "memory", {"command": "create", "reason": "keep a note", **arguments}

    def recall(self) -> None:
        """The next context shows it."""

    def asked(self, prompt: str) -> bool:
        """Does the prompt end with the request for a summary, since the window is full?"""
        tail = prompt[-400:]
        return ASK_TERSE in tail or ASK[-40:] in tail
