"""Letta Code's MemFS: memory files in a git repository, whose committed state is compiled into the prompt."""

from __future__ import annotations

from collections.abc import Iterable

from camg import hookimpl
from camg.specs import MemorySpec
from camg_letta.config import LettaConfig


@hookimpl
def camg_memories() -> Iterable[MemorySpec]:
    """Offer ``--memory letta``."""
    yield MemorySpec(
        name="letta",
        summary="Files in a git repository, changed by one tool, compiled from HEAD into the prompt (Letta's MemFS).",
        factory="camg_letta.memory:Letta",
        config=LettaConfig,
        habit="camg_letta.habit:CommitHabit",
        pocket_reason="its prompt is a tree of files with front matter, which the embedded policy has never read",
    )
