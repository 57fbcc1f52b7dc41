"""The paper's memory: ordinary files under ``.agent_memory``, written and read with ``shell_command``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from camg import hookimpl
from camg.specs import MemorySpec
from camg_shell.config import ShellConfig


@hookimpl
def camg_memories() -> Iterable[MemorySpec]:
    """Offer ``--memory shell``."""
    yield MemorySpec(
        name="shell",
        summary="Ordinary files under .agent_memory, written and read with shell_command (CAMG-RL).",
        factory="camg_shell.memory:ShellMemory",
        config=ShellConfig,
        pocket=True,
        habit="camg_shell.habit:ShellHabit",
    )


@hookimpl
def camg_validate_run(config: Mapping[str, Any]) -> Iterable[str]:
    """The embedded policy knows the shell by its own name only."""
    if config["memory"] == "shell" and config.get("shell.alias") and config["policy"] == "pocket":
        yield "shell.alias: the embedded policy learnt the name shell_command, and no other"
