"""Learned context compaction (CompactionRL): the policy's own summary is what crosses, and it is trained."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from camg import hookimpl
from camg.specs import MemorySpec
from camg_compaction.config import CompactionConfig


@hookimpl
def camg_memories() -> Iterable[MemorySpec]:
    """Offer ``--memory compaction``."""
    yield MemorySpec(
        name="compaction",
        summary="The policy's own summary replaces the context, and is trained (CompactionRL).",
        factory="camg_compaction.memory:CompactionMemory",
        config=CompactionConfig,
        habit="camg_compaction.habit:SummaryHabit",
        pocket=True,
        pocket_profile={"pocket.artefact": "summary"},
    )


@hookimpl
def camg_validate_run(config: Mapping[str, Any]) -> Iterable[str]:
    """The original credit is the estimator's, the common one any other's."""
    if config["memory"] != "compaction":
        return
    estimator = config["estimator"]
    shared = "memory:compaction" if estimator == "compaction" else "compaction"  # as the core tells them apart
    original = config[f"{shared}.credit"] == "original"
    if original and estimator != "compaction":
        yield f"compaction.credit=original goes with the estimator 'compaction', got '{estimator}'"
    if not original and estimator == "compaction":
        yield "the estimator 'compaction' is the credit of CompactionRL itself: set compaction.credit=original"
