"""A lossless log of the episode that the policy searches with the shell (PRO-LONG)."""

from __future__ import annotations

from collections.abc import Iterable

from camg import hookimpl
from camg.specs import MemorySpec
from camg_prolong.config import ProlongConfig


@hookimpl
def camg_memories() -> Iterable[MemorySpec]:
    """Offer ``--memory prolong``."""
    yield MemorySpec(
        name="prolong",
        summary="Everything that happens is logged losslessly; the policy searches the log with the shell (PRO-LONG).",
        factory="camg_prolong.memory:Prolong",
        config=ProlongConfig,
        habit="camg_prolong.habit:LogHabit",
        pocket=True,
        pocket_profile={"pocket.artefact": "prolong"},
    )
