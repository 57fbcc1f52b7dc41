"""Estimators that compare episodes of a task, and the one that credits each context: by hand, and their invariances."""

from __future__ import annotations

import attrs
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from camg.plugins import load_registry
from camg.types import Trajectory
from camg_estimators.compaction import Compaction
from camg_estimators.config import DiscountConfig, GaeConfig, GroupConfig, GroupSize4, GroupSize8
from camg_estimators.grpo import Grpo
from camg_estimators.response_gae import ResponseGae
from camg_estimators.rloo import Rloo
from camg_estimators.stepwise_grpo import StepwiseGrpo
from camg_estimators.turn_ppo import TurnPpo

torch.set_num_threads(1)


def episode(number, group, rewards, lengths=None, values=None, segments=()):
    lengths = tuple(lengths or (2,) * len(rewards))
    values = torch.zeros(sum(lengths)) if values is None else torch.tensor(values)
    return Trajectory(number, "shop", group, tuple(rewards), lengths, values, segments=tuple(segments))


def of(estimator, trajectories):
    return [estimate.advantages.tolist() for estimate in estimator.estimate(trajectories)]


FOUR = [episode(0, 7, (0, 1)), episode(1, 7, (0,)), episode(2, 7, (1, 0, 1)), episode(3, 7, (1,))]  # returns 1 0 2 1


def test_grpo_by_hand():
    std = 0.5**0.5
    normalised = of(Grpo(GroupConfig()), FOUR)
    assert normalised[0] == [0.0] * 4
    assert normalised[1] == pytest.approx([-1 / std] * 2, rel=1e-5)
    assert normalised[2] == pytest.approx([1 / std] * 6, rel=1e-5)
    assert of(Grpo(GroupConfig(normalise=False)), FOUR)[2] == pytest.approx([1.0] * 6)


def test_stepwise_grpo_divides_by_the_sample_deviation():
    std = (2 / 3) ** 0.5
    assert of(StepwiseGrpo(GroupSize8()), FOUR)[2] == pytest.approx([1 / std] * 6, rel=1e-5)
    spec = load_registry(quiet=True).spec("estimator", "stepwise-grpo")
    assert (spec.clip, spec.kl, spec.needs_critic, spec.pipeline) == (0.0, 0.1, False, "none")


def test_rloo_leaves_the_episode_itself_out():
    assert of(Rloo(GroupSize4()), FOUR)[2] == pytest.approx([2 - 2 / 3] * 6)
    assert of(Rloo(GroupSize4()), FOUR)[1] == pytest.approx([0 - 4 / 3] * 2)


@pytest.mark.parametrize("estimator", [Grpo(GroupConfig()), StepwiseGrpo(GroupSize8()), Rloo(GroupSize4())])
def test_equal_returns_teach_nothing_and_groups_do_not_mix(estimator):
    same = [episode(number, 1, (0.5, 0.25)) for number in range(4)]
    assert all(value == pytest.approx(0, abs=1e-9) for row in of(estimator, same) for value in row)
    apart = of(estimator, FOUR)
    together = of(estimator, [same[0], FOUR[0], same[1], *FOUR[1:], same[2], same[3]])
    assert together[1] == pytest.approx(apart[0])
    assert together[4] == pytest.approx(apart[2])


def test_turn_ppo_is_response_gae_with_one_ratio_a_turn():
    item = episode(0, 0, (1, 2), values=[0.1, 0.2, 0.3, 0.4])
    config = GaeConfig(gamma=0.9, lam=0.8)
    assert of(TurnPpo(config), [item]) == of(ResponseGae(config), [item])
    assert load_registry(quiet=True).spec("estimator", "turn-ppo").ratio == "turn"


def test_compaction_by_hand():
    """Two contexts with a summary between them; the return 3 is paid at the end of each of the three."""
    item = episode(0, 0, (1, 0, 2), lengths=(2, 1, 1), values=[0.5, 1.0, 2.0, 0.25], segments=(0, 1, 2))
    (found,) = Compaction(DiscountConfig()).estimate([item])
    rate = 1 - 1 / 3  # of two tokens; a single token has rate 1/3, and nothing behind it
    last = 3 - 1.0
    first = (1.0 - 0.5) + rate * last
    assert found.advantages.tolist() == pytest.approx([first * rate, last, 3 - 2.0, 3 - 0.25])
    assert found.returns.tolist() == pytest.approx([first + 0.5, 3, 3, 3])


def reference(item, gamma):
    """Token by token."""
    out, start = [], 0
    total = sum(item.rewards)
    runs, previous = [], None
    for segment, length in zip(item.segments, item.lengths, strict=True):
        if segment == previous:
            runs[-1] += length
        else:
            runs.append(length)
        previous = segment
    for size in runs:
        values = [*item.values[start : start + size].double().tolist(), 0.0]
        rate, carry, row = gamma * (1 - 1 / (1.5 * size)), 0.0, []
        for k in reversed(range(size)):
            carry = (total if k == size - 1 else 0.0) + gamma * values[k + 1] - values[k] + rate * carry
            row.append(carry * rate ** (size - 1 - k))
        out += row[::-1]
        start += size
    return out


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 40), st.integers(0, 2), st.floats(-2, 2)), min_size=1, max_size=8), st.data())
def test_compaction_equals_the_loop_over_tokens(rows, data):
    gamma = data.draw(st.sampled_from([1.0, 0.9]))
    lengths = tuple(row[0] for row in rows)
    item = Trajectory(
        0,
        "shop",
        0,
        tuple(row[2] for row in rows),
        lengths,
        torch.randn(sum(lengths), generator=torch.Generator().manual_seed(1)),
        segments=tuple(row[1] for row in rows),
    )
    other = attrs.evolve(item, episode=1, segments=tuple(range(len(rows))))
    for place in ([item], [other, item], [item, other]):
        (found,) = [
            estimate
            for estimate, given_ in zip(Compaction(DiscountConfig(gamma)).estimate(place), place, strict=True)
            if given_ is item
        ]
        assert found.advantages.tolist() == pytest.approx(reference(item, gamma), rel=1e-4, abs=1e-5)
