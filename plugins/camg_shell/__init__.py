"""The paper's memory: ordinary files under ``.agent_memory``, written and read with ``shell_command``."""

from __future__ import annotations

from collections.abc import Iterable

from camg import hookimpl
from camg.specs import MemorySpec


@hookimpl
def camg_memories() -> Iterable[MemorySpec]:
    """Offer ``--memory shell``."""
    yield MemorySpec(
        name="shell",
        summary="Ordinary files under .agent_memory, written and read with shell_command (CAMG-RL).",
        factory="camg_shell.memory:ShellMemory",
        pocket=True,
    )
