"""Reading an episode as a policy does: what is new in the decoded context since the last response."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from camg.protocols import Dialect

FOLDER = ".agent_memory"
CONTINUATION = f"{FOLDER}/CONTINUATION.md"


class Files:
    """A :class:`camg.protocols.Habit`: the continuation file, by shell. What scripts do where no other is named."""

    eager = False

    def keep(self, note: str) -> tuple[str, Mapping[str, Any]]:
        """Write the file; ``note`` is one plain word."""
        return "shell_command", {"command": f"mkdir -p {FOLDER}; echo {note} > {CONTINUATION}"}

    def recall(self) -> tuple[str, Mapping[str, Any]]:
        """Read it."""
        return "shell_command", {"command": f"cat {CONTINUATION}"}

    def asked(self, prompt: str) -> bool:
        """Never."""
        return False


@frozen
class News:
    """``fresh``: the context was opened anew. ``text``: what came since the last response, or all of it."""

    fresh: bool
    text: str


class Follower:
    """Compares each decoded context with the one before."""

    def __init__(self) -> None:
        self._seen = ""
        self._said = ""

    def read(self, context: str) -> News:
        """What is new in ``context``; the follower's own last response is left out."""
        fresh = not self._seen or not context.startswith(self._seen)
        text = context if fresh else context[len(self._seen) :].removeprefix(self._said)
        self._seen = context
        return News(fresh, text)

    def say(self, text: str) -> str:
        """Remember ``text`` as the response and return it."""
        self._said = text
        return text


def shell(dialect: Dialect, command: str) -> str:
    """The text of a shell command."""
    return dialect.render("shell_command", {"command": command})


def click(dialect: Dialect, target: str) -> str:
    """The text of a click."""
    return dialect.render("click", {"target": target})
