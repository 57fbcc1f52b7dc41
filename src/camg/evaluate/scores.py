"""What an evaluation found, by environment. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import asdict, field, frozen

from camg.evaluate.statistics import Interval, bootstrap_mean, clopper_pearson
from camg.types import Episode


@frozen
class Score:
    """One environment. ``success`` and ``complete`` are None (N/A) when an episode faulted through all reruns.

    ``success`` is the environment's own measure, for Shop a mean of fractions, hence a bootstrap interval;
    ``complete`` counts wholly solved episodes, hence Clopper-Pearson. ``failures``: how many of the others there are
    in each of the environment's classes, most frequent first (paper D.6 for Coding). ``slots`` are actions charged,
    those of steps that the policy did not sample included; ``costs`` what these used, by name: means over episodes.
    """

    episodes: int
    faults: int
    success: Interval | None
    complete: Interval | None
    turns: float
    replacements: float
    slots: float = 0.0
    failures: Mapping[str, int] = field(factory=dict)
    costs: Mapping[str, float] = field(factory=dict)


def score(episodes: Iterable[Episode], expected: Mapping[str, int]) -> dict[str, Score]:
    """Score by environment. ``expected``: how many episodes each should have; what lacks has faulted."""
    found: dict[str, list[Episode]] = {env: [] for env in expected}
    for episode in sorted(episodes, key=lambda episode: episode.id):
        found[episode.env].append(episode)
    return {env: _score(found[env], count) for env, count in expected.items()}


def _score(episodes: Sequence[Episode], expected: int) -> Score:
    count = len(episodes)
    whole = count == expected and count > 0
    return Score(
        episodes=count,
        faults=expected - count,
        success=bootstrap_mean({"": [episode.outcome.success for episode in episodes]}) if whole else None,
        complete=clopper_pearson(sum(episode.outcome.complete for episode in episodes), count) if whole else None,
        turns=sum(len(episode.turns) for episode in episodes) / max(1, count),
        replacements=sum(len(episode.replacements) for episode in episodes) / max(1, count),
        slots=sum(slots(episode) for episode in episodes) / max(1, count),
        costs=_mean_costs(episodes),
        failures=dict(Counter(e.outcome.failure for e in episodes if e.outcome.failure).most_common()),
    )


def slots(episode: Episode) -> int:
    """Actions that the episode was charged: its responses, and steps that others took (an automatic manager)."""
    return sum(turn.slots for turn in episode.turns) + sum(event.slots for event in episode.events)


def costs(episode: Episode) -> dict[str, float]:
    """What the steps that the policy did not sample used, by name (see :class:`camg.types.Event`)."""
    total: dict[str, float] = {}
    for event in episode.events:
        for name, value in event.cost.items():
            total[name] = total.get(name, 0.0) + value
    return total


def _mean_costs(episodes: Sequence[Episode]) -> dict[str, float]:
    found = [costs(episode) for episode in episodes]
    names = sorted({name for one in found for name in one})
    return {name: sum(one.get(name, 0.0) for one in found) / len(found) for name in names}


def per_task(episodes: Iterable[Episode]) -> list[dict[str, Any]]:
    """One JSON-able row for each complete episode: ``env``, ``task``, ``success`` (0 to 1), ``complete`` (bool), …"""
    rows = []
    for episode in sorted(episodes, key=lambda episode: episode.id):
        outcome = episode.outcome
        rows.append(
            {
                "env": episode.env,
                "task": episode.task,
                "success": outcome.success,
                "complete": outcome.complete,
                "slots": slots(episode),
                "costs": costs(episode),
            }
        )
    return rows


def to_json(scores: Mapping[str, Score]) -> dict[str, Any]:
    """JSON-able: ``{"success": {env: x | None}, "complete": {…}, "environments": {env: every field}}``."""
    return {
        "success": {env: s.success.estimate if s.success else None for env, s in scores.items()},
        "complete": {env: s.complete.estimate if s.complete else None for env, s in scores.items()},
        "environments": {env: asdict(s) for env, s in scores.items()},
    }
