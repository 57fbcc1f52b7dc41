"""A dedicated memory tool with six commands over files (the interface of Anthropic's memory tool)."""

from __future__ import annotations

from collections.abc import Iterable

from camg import hookimpl
from camg.specs import MemorySpec
from camg_memory_tool.config import MemoryToolConfig


@hookimpl
def camg_memories() -> Iterable[MemorySpec]:
    """Offer ``--memory memory-tool``."""
    yield MemorySpec(
        name="memory-tool",
        summary="One tool with six commands (view, create, str_replace, insert, delete, rename) over /memories.",
        factory="camg_memory_tool.memory:MemoryTool",
        config=MemoryToolConfig,
        habit="camg_memory_tool.habit:ToolHabit",
        pocket=True,
        pocket_profile={"pocket.artefact": "memory-tool"},
    )
