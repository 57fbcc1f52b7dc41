"""The environment's own rewards (paper, Table 6): nothing is shaped."""

from __future__ import annotations

from attrs import frozen

from camg.specs import NoConfig
from camg.types import Episode


@frozen
class TaskReward:
    """See the module's docstring."""

    config: NoConfig

    def rewards(self, episode: Episode) -> tuple[float, ...]:
        """``r_t`` of each turn, in order, as recorded."""
        return tuple(turn.reward for turn in episode.turns)
