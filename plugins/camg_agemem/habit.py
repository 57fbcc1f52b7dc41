"""How a script keeps a note in the store and finds the newest again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class StoreHabit:
    """A :class:`camg.protocols.Habit`. A query without words prefers nothing, so the newest entry comes first."""

    eager = True

    def keep(self, note: str) -> tuple[str, Mapping[str, Any]]:
        """One entry for each note."""
        return "Add_memory", {"content": note}

    def recall(self) -> tuple[str, Mapping[str, Any]]:
        """The newest entry."""
        return "Retrieve_memory", {"query": "*", "top_k": 1}

    def asked(self, prompt: str) -> bool:
        """A summary is asked for only after the script's own Summary_context, which it does not call."""
        return False
