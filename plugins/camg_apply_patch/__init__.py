"""The interface ablation (paper D.7): files change through one structured tool; the shell reads and runs."""

from __future__ import annotations

from collections.abc import Iterable

from camg import hookimpl
from camg.specs import MemorySpec
from camg_apply_patch.config import ApplyPatchConfig


@hookimpl
def camg_memories() -> Iterable[MemorySpec]:
    """Offer ``--memory apply-patch``."""
    yield MemorySpec(
        name="apply-patch",
        summary="Files under .agent_memory as with shell, but every change of a text file goes through apply_patch.",
        factory="camg_apply_patch.memory:ApplyPatchMemory",
        config=ApplyPatchConfig,
        habit="camg_apply_patch.habit:PatchHabit",
        pocket=True,
        pocket_profile={"pocket.artefact": "apply-patch"},
    )
