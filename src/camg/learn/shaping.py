"""The reward that is trained on (``--reward``), in place of what the environment paid. Pure, as samples are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real

import attrs

from camg.errors import CamgError, PluginError
from camg.learn.samples import rewards
from camg.protocols import Reward
from camg.types import Episode


def shaped(episodes: Sequence[Episode], reward: Reward, *, name: str) -> list[Episode]:
    """The episodes with ``reward``'s rewards on their turns; the given ones stay as they are.

    ``name``: of the reward, for messages. Raises :class:`PluginError` when it fails, or does not give one finite
    number for each turn, and :class:`CorruptState` where the environment's own rewards are not finite.
    """
    return [_shaped(episode, reward, f"reward '{name}'") for episode in episodes]


def _shaped(episode: Episode, reward: Reward, label: str) -> Episode:
    rewards(episode)  # names the environment where the fault is its own
    try:
        found = tuple(reward.rewards(episode))
    except CamgError:
        raise
    except Exception as error:
        raise PluginError(f"The {label} failed on episode {episode.id}: {type(error).__name__}: {error}") from error
    if len(found) != len(episode.turns):
        raise PluginError(
            f"The {label}: Expected one reward for each of the {len(episode.turns)} turns of episode {episode.id}, "
            f"got {len(found)}."
        )
    for turn, value in zip(episode.turns, found, strict=True):
        if not isinstance(value, Real) or not math.isfinite(value):
            raise PluginError(
                f"The {label}: Expected a finite number for turn {turn.index} of episode {episode.id}, got {value!r}."
            )
    pairs = zip(episode.turns, found, strict=True)
    return attrs.evolve(episode, turns=tuple(attrs.evolve(turn, reward=float(value)) for turn, value in pairs))
