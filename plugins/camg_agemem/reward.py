"""AgeMem's composite reward (arXiv 2601.01885), from what an episode's record holds.

    R = w_task R_task + w_context R_context + w_memory R_memory + P      at the last response; 0 before it

    R_task    = success of the task in [0, 1]; -1 if the episode ended without an answer
    R_context = mean of (1) max(0, 1 - used / limit), tokens of the last context over the prompt limit;
                        (2) 1 if Summary_context or Filter_context took effect and the context never overflowed;
                        (3) 1: the query's key tokens are kept, since here the brief stands in every context
    R_memory  = mean of (1) entries of high quality / max(1, entries kept); (2) 1 if an entry was updated or deleted;
                        (3) the mean relevance of what was retrieved, cosines in [0, 1]; 0 without any
    P         = -1 if the actions ran out, -0.5 if the context overflowed

``weight`` is w of all three: 1 in the body of its paper, 1/3 in its appendix. Where it asks a judge, a program answers
here: the task's own measure, and an entry is of high quality if it was retrieved after it was kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from statistics import fmean

from camg.types import BoundaryKind, EndReason, Episode, Turn
from camg_agemem.config import CompositeConfig
from camg_agemem.tools import ADD, DELETE, RETRIEVE, UPDATE

_KEPT = re.compile(r"Kept as (m\d+)\.")
_FOUND = re.compile(r"^(m\d+) \((-?\d\.\d\d)\): ", re.MULTILINE)
_CHANGED = re.compile(r"(Updated|Deleted) m\d+\.")
OUT_OF_ROUNDS, OVERFLOW = -1.0, -0.5


class Composite:
    """See the module's docstring. Made for ``--memory agemem``; under others the memory's term is 0."""

    def __init__(self, config: CompositeConfig) -> None:
        self.config = config

    def rewards(self, episode: Episode) -> tuple[float, ...]:
        """0 for each turn but the last, which gets R."""
        if not episode.turns:
            return ()
        terms = task_term(episode) + context_term(episode) + memory_term(episode.turns)
        total = self.config.weight * terms + penalty(episode.end_reason)
        return (*(0.0 for _ in episode.turns[1:]), total)


def task_term(episode: Episode) -> float:
    """R_task: in {-1} or [0, 1]. An answer is what the environment ended the episode for, or any success."""
    if episode.end_reason is not EndReason.TERMINATED and not episode.outcome.success:
        return -1.0
    return episode.outcome.success


def context_term(episode: Episode) -> float:
    """R_context, in [0, 1]."""
    limit = episode.meta.get("prompt_tokens") or 0
    used = len(episode.segments[-1].token_ids) if episode.segments else 0
    free = max(0.0, 1.0 - used / limit) if limit else 0.0
    reduced = any(one.kind is BoundaryKind.MEMORY for one in episode.replacements)
    in_time = reduced and episode.end_reason is not EndReason.CONTEXT_EXHAUSTED
    return fmean([free, float(in_time), 1.0])


def memory_term(turns: Iterable[Turn]) -> float:
    """R_memory, in [0, 1], from the calls and what they were answered."""
    kept: set[str] = set()
    retrieved: set[str] = set()
    scores: list[float] = []
    changed = False
    for turn in turns:
        tool, shown = turn.action.tool, turn.observation.shown
        if tool == ADD:
            kept.update(_KEPT.findall(shown))
        elif tool == RETRIEVE:
            for name, score in _FOUND.findall(shown):
                retrieved.add(name)
                scores.append(min(max(float(score), 0.0), 1.0))
        elif tool in (UPDATE, DELETE):
            changed = changed or _CHANGED.match(shown) is not None
    useful = len(kept & retrieved) / max(1, len(kept))
    return fmean([useful, float(changed), fmean(scores) if scores else 0.0])


def penalty(reason: EndReason) -> float:
    """P."""
    return {EndReason.ACTION_LIMIT: OUT_OF_ROUNDS, EndReason.CONTEXT_EXHAUSTED: OVERFLOW}.get(reason, 0.0)
