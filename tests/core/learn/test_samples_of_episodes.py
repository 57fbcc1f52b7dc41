"""Episodes -> samples and trajectories: masks, moved rewards, exclusions, contradictions."""

from __future__ import annotations

import attrs
import pytest
from learn_tiny import episode, networks, rollout, turn

from camg.errors import CorruptState
from camg.learn.samples import per_response, rewards, samples, trajectory, usable
from camg.types import EndReason, StopReason


def test_a_segment_is_one_sample_with_its_responses_marked() -> None:
    ids = [1, 2, 3, 4, 5, 6, 7]
    one = turn(0, 0, 2, [3, 4], [-0.5, -0.25])
    two = turn(1, 0, 6, [7], [-1.0])
    (sample,) = samples(episode(9, [(ids, [one, two])]))
    assert sample.token_ids == tuple(ids)
    assert sample.sampled == (False, False, True, True, False, False, True)
    assert sample.turn == (-1, -1, 0, 0, -1, -1, 1)
    assert sample.logprobs == (0, 0, -0.5, -0.25, 0, 0, -1.0)
    assert (sample.episode, sample.env, sample.segment) == (9, "maze", 0)


def test_an_untrained_turn_is_unmasked_and_its_reward_moves_to_the_turn_before() -> None:
    """Lesson 16: a reward that lands on a masked token moves to the preceding action token."""
    ids = [1, 2, 3, 4, 5]
    turns = [
        turn(0, 0, 1, [2], [-1.0], reward=0.5),
        turn(1, 0, 2, [3], [-1.0], reward=2.0, trained=False),
        turn(2, 0, 4, [5], [-1.0], reward=1.0),
    ]
    made = episode(0, [(ids, turns)])
    assert rewards(made) == (2.5, 1.0)
    assert samples(made)[0].sampled == (False, True, False, False, True)
    assert trajectory(made).lengths == (1, 1)


def test_a_reward_before_any_trained_turn_moves_forward() -> None:
    turns = [turn(0, 0, 1, [2], [-1.0], reward=2.0, trained=False), turn(1, 0, 2, [3], [-1.0], reward=1.0)]
    made = episode(0, [([1, 2, 3], turns)])
    assert rewards(made) == (3.0,)
    assert sum(rewards(made)) == made.reward


def test_an_empty_response_gets_no_reward_of_its_own() -> None:
    """Lesson 18: an empty response writes no reward at index -1."""
    turns = [turn(0, 0, 1, [], [], reward=1.0), turn(1, 0, 1, [2, 3], [-1.0, -1.0], reward=0.25)]
    made = episode(0, [([1, 2, 3], turns)])
    assert trajectory(made).lengths == (2,)
    assert rewards(made) == (1.25,)


def test_an_episode_without_a_trained_turn_gives_no_sample() -> None:
    made = episode(0, [([1, 2], [turn(0, 0, 1, [2], [-1.0], trained=False)])])
    assert samples(made) == []
    assert trajectory(made).lengths == ()


def test_faulted_episodes_are_no_samples() -> None:
    good = episode(0, [([1, 2], [turn(0, 0, 1, [2], [-1.0])])])
    bad = attrs.evolve(good, id=1, end_reason=EndReason.FAULT, fault="sandbox gone")
    assert usable([good, bad]) == [good]


def test_the_end_reason_says_whether_an_episode_terminated() -> None:
    """Lesson 17: truncation comes from what was recorded, never from a width."""
    segments = [([1, 2, 3], [turn(0, 0, 1, [2, 3], [-1.0, -1.0], stop=StopReason.LENGTH)])]
    assert trajectory(episode(0, segments)).terminated
    assert not trajectory(episode(0, segments, end=EndReason.ACTION_LIMIT)).terminated


def test_a_summary_in_a_segment_of_its_own_keeps_the_order_of_turns() -> None:
    segments = [
        ([1, 2, 3, 4], [turn(0, 0, 1, [2], [-0.1]), turn(2, 0, 3, [4], [-0.3])]),
        ([9, 8, 7], [turn(1, 1, 1, [8, 7], [-0.2, -0.2])]),
    ]
    made = episode(0, segments)
    assert trajectory(made).lengths == (1, 2, 1)
    assert [sample.segment for sample in samples(made)] == [0, 1]


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (turn(0, 0, 1, [2, 3], [-1.0]), "expected 2 finite behaviour log-probs, got 1"),
        (turn(0, 0, 1, [2, 3], [-1.0, float("nan")]), "1 not finite"),
        (turn(0, 0, 1, [3, 2], [-1.0, -1.0]), "from position 1"),
        (turn(0, 0, 0, [1, 2], [-1.0, -1.0]), "at least 1"),
        (turn(0, 0, 2, [3, 4], [-1.0, -1.0]), "that differ"),
        (turn(0, 1, 1, [2, 3], [-1.0, -1.0]), "in segment 1"),
    ],
)
def test_a_recording_that_contradicts_itself_is_named(broken, said) -> None:
    """Lesson 6: ids, log-probs and mask have one length; a response stands where it says."""
    with pytest.raises(CorruptState, match=said) as caught:
        samples(episode(7, [([1, 2, 3], [broken])]))
    assert "Episode 7, turn 0" in caught.value.message


def test_a_trained_turn_outside_every_segment_is_named() -> None:
    made = episode(7, [([1, 2, 3], [turn(0, 0, 1, [2], [-1.0])])])
    with pytest.raises(CorruptState, match="Episode 7"):
        samples(attrs.evolve(made, turns=(*made.turns, turn(1, 0, 2, [3], [-1.0]))))


def test_samples_per_response_hold_the_same_tokens_once_each() -> None:
    (whole,) = samples(rollout(networks()[0], 3, segments=1, turns=5))
    parts = list(per_response(whole))
    assert len(parts) == 5
    for part in parts:
        assert part.token_ids == whole.token_ids[: len(part.token_ids)]
        assert part.sampled[-1]
        assert len(set(part.turn)) == 2
    assert sum(sum(part.sampled) for part in parts) == sum(whole.sampled)


def test_a_reward_that_is_not_finite_is_named() -> None:
    made = episode(4, [([1, 2], [turn(0, 0, 1, [2], [-1.0], reward=float("nan"))])])
    with pytest.raises(CorruptState, match="Episode 4, turn 0: expected a finite reward from environment 'maze'"):
        rewards(made)
