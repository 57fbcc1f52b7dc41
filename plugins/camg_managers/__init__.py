"""Simple context managers to compare with: an automatic summary, an overwritten memory, a sliding window, nothing."""

from __future__ import annotations

from collections.abc import Iterable

from camg import hookimpl
from camg.specs import MemorySpec
from camg_managers.config import AutoSummaryConfig, OverwriteConfig, SlidingWindowConfig


@hookimpl
def camg_memories() -> Iterable[MemorySpec]:
    """Offer ``auto-summary``, ``overwrite``, ``sliding-window`` and ``none``."""
    yield MemorySpec(
        name="auto-summary",
        summary="A fixed prompt has the policy sum up at each boundary; untrained, no slot (frozen comparators).",
        factory="camg_managers.auto_summary:AutoSummary",
        config=AutoSummaryConfig,
        habit="camg_managers.habit:AnswerHabit",
        pocket=True,
        pocket_profile={"pocket.artefact": "summary"},
    )
    yield MemorySpec(
        name="overwrite",
        summary="At each boundary the policy rewrites its one memory, given task, memory and section (MemAgent).",
        factory="camg_managers.overwrite:Overwrite",
        config=OverwriteConfig,
        habit="camg_managers.habit:AnswerHabit",
        pocket=True,
        pocket_profile={"pocket.artefact": "overwrite"},
    )
    yield MemorySpec(
        name="sliding-window",
        summary="The oldest whole steps fall out of the context; nothing is kept of them.",
        factory="camg_managers.sliding_window:SlidingWindow",
        config=SlidingWindowConfig,
    )
    yield MemorySpec(
        name="none",
        summary="No memory: a full context ends the episode.",
        factory="camg_managers.nothing:Nothing",
    )
