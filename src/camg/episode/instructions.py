"""The fixed instructions that open every context: how to act, the tools, what the memory says of itself."""

from __future__ import annotations

from collections.abc import Sequence

from camg.protocols import ChatCodec
from camg.types import Message, Tool

HOW_TO_ACT = (
    "You solve one long task step by step. Each of your responses is executed once and uses up one action slot. "
    "A response may open with reasoning and ends with exactly one action."
)


def opening(codec: ChatCodec, tools: Sequence[Tool], memory: str, brief: str, note: str = "") -> list[Message]:
    """The messages of a fresh context: instructions, ``memory``'s words, the task's brief, and the memory's note."""
    parts = [memory]
    if not codec.terse:
        parts = [HOW_TO_ACT, codec.dialect.describe(tools), *parts]
    system = "\n\n".join(part for part in parts if part)
    task = "\n".join(part for part in (brief, note) if part)
    return [Message("system", system), Message("user", task)] if system else [Message("user", task)]
