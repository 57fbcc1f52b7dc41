"""Episodes -> training examples. Pure: no I/O, no clock, no torch.

A sample is one segment (a run of append-only context): with a causal mask, the log-prob of each response given its
prompt h_t is the same as in a pass of its own, since h_t is a prefix of the segment. A trajectory is one episode as the
estimator sees it: its trained responses in order, across replaced contexts (paper B.1, Eq. 5).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import attrs

from camg.errors import CorruptState
from camg.types import EndReason, Episode, Sample, Trajectory, Turn


def usable(episodes: Sequence[Episode]) -> list[Episode]:
    """The episodes that may be learned from, in order: an infrastructure fault is never a sample."""
    return [episode for episode in episodes if episode.fault is None and episode.end_reason is not EndReason.FAULT]


def trained_turns(episode: Episode) -> list[Turn]:
    """The turns that carry sampled tokens of the policy and may be trained, in order: the steps of the trajectory."""
    return [turn for turn in episode.turns if turn.trained and turn.token_ids]


def rewards(episode: Episode) -> tuple[float, ...]:
    """The reward of each trained turn.

    What an untrained (or empty) turn earned moves to the trained turn before it, or after it where none is before, so
    that the sum over the trajectory stays the episode's return. Raises :class:`CorruptState` for a reward that is not
    finite: one would make every advantage of the batch NaN.
    """
    kept: list[float] = []
    early = 0.0
    for turn in episode.turns:
        if not math.isfinite(turn.reward):
            raise CorruptState(
                f"Episode {episode.id}, turn {turn.index}: expected a finite reward from environment {episode.env!r}, "
                f"got {turn.reward}."
            )
        if turn.trained and turn.token_ids:
            kept.append(turn.reward + early)
            early = 0.0
        elif kept:
            kept[-1] += turn.reward
        else:
            early += turn.reward
    return tuple(kept)


def trajectory(episode: Episode) -> Trajectory:
    """One episode for the estimator; ``values`` is None until the critic has spoken.

    An end by action limit or exhausted context is not bootstrapped either (finite horizon, paper B.2: V after the last
    response is 0); ``terminated`` records which it was.
    """
    return Trajectory(
        episode=episode.id,
        env=episode.env,
        group=episode.group,
        rewards=rewards(episode),
        lengths=tuple(len(turn.token_ids) for turn in trained_turns(episode)),
        values=None,
        terminated=episode.end_reason is EndReason.TERMINATED,
        segments=tuple(turn.segment for turn in trained_turns(episode)),
    )


def samples(episode: Episode) -> list[Sample]:
    """One sample for each segment with a trained response, in order.

    Raises :class:`CorruptState` when the recording contradicts itself: a response that does not stand in its segment
    where it says, log-probs missing, of another number or not finite.
    """
    steps = {turn.index: turn for turn in trained_turns(episode)}
    held = [[steps[index] for index in segment.turns if index in steps] for segment in episode.segments]
    if sorted(turn.index for turns in held for turn in turns) != list(steps):
        raise CorruptState(
            f"Episode {episode.id} is inconsistent: expected its segments to hold each of its trained turns "
            f"{list(steps)} once, got {[turn.index for turns in held for turn in turns]}."
        )
    return [_sample(episode, number, turns) for number, turns in enumerate(held) if turns]


def _sample(episode: Episode, number: int, turns: Sequence[Turn]) -> Sample:
    ids = episode.segments[number].token_ids
    logprobs = [0.0] * len(ids)
    owner = [-1] * len(ids)
    for turn in turns:
        start, stop = turn.prompt_length, turn.prompt_length + len(turn.token_ids)
        _check(episode, number, turn, ids[start:stop])
        logprobs[start:stop] = turn.logprobs
        owner[start:stop] = [turn.index] * len(turn.token_ids)
    return Sample(
        episode=episode.id,
        env=episode.env,
        segment=number,
        token_ids=ids,
        sampled=tuple(index >= 0 for index in owner),
        logprobs=tuple(logprobs),
        turn=tuple(owner),
    )


def _check(episode: Episode, number: int, turn: Turn, found: tuple[int, ...]) -> None:
    where = f"Episode {episode.id}, turn {turn.index} is inconsistent"
    if turn.segment != number or turn.prompt_length < 1 or found != turn.token_ids:
        raise CorruptState(
            f"{where}: expected its {len(turn.token_ids)} ids in segment {turn.segment} from position "
            f"{turn.prompt_length} (at least 1) on, got {len(found)} ids of segment {number} that differ."
        )
    if len(turn.logprobs) != len(turn.token_ids) or not all(map(math.isfinite, turn.logprobs)):
        raise CorruptState(
            f"{where}: expected {len(turn.token_ids)} finite behaviour log-probs, got {len(turn.logprobs)} values "
            f"({sum(not math.isfinite(value) for value in turn.logprobs)} not finite)."
        )


def per_response(sample: Sample) -> Iterator[Sample]:
    """The same training signal as one sample per response (prompt h_t + response a_t), as the paper states it.

    For the equality test and the benchmark: the learner itself trains whole segments, at a fraction of the tokens.
    """
    for turn in dict.fromkeys(index for index in sample.turn if index >= 0):
        stop = len(sample.turn) - sample.turn[::-1].index(turn)
        mine = tuple(index == turn for index in sample.turn[:stop])
        yield attrs.evolve(
            sample,
            token_ids=sample.token_ids[:stop],
            sampled=mine,
            logprobs=tuple(value if own else 0.0 for value, own in zip(sample.logprobs, mine, strict=False)),
            turn=tuple(turn if own else -1 for own in mine),
        )
