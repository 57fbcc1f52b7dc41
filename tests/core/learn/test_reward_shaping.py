"""A reward in place of the environment's own: what is trained on, what is reported, and every refusal."""

from __future__ import annotations

import attrs
import pytest
import torch
from learn_tiny import episode, networks, rollout, turn

from camg.errors import CorruptState, PluginError
from camg.learn.learner import Learner
from camg.learn.shaping import shaped
from camg.protocols import Reward
from camg.settings import LearnerSettings
from camg.specs import EstimatorSpec, NoConfig
from camg_estimators.config import GaeConfig
from camg_estimators.response_gae import ResponseGae
from camg_training.task import TaskReward

torch.set_num_threads(1)
SPEC = EstimatorSpec(name="response-gae", summary="", factory="", config=GaeConfig)


class Twice:
    """Two times what the environment paid."""

    def rewards(self, episode):
        return [2 * turn.reward for turn in episode.turns]


@attrs.frozen
class Constant:
    found: object

    def rewards(self, episode):
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


def make(reward=None) -> Learner:
    actor, critic = networks()
    settings = LearnerSettings(actor_lr=1e-2, critic_lr=1e-2)
    estimator = ResponseGae(GaeConfig())
    return Learner(actor, critic, estimator, spec=SPEC, settings=settings, reward=reward, reward_name="toy")


def batch(count=4):
    actor, _ = networks()
    return [rollout(actor, number, env=("maze", "shop")[number % 2]) for number in range(count)]


def weights(learner):
    return [parameter.clone() for network in (learner.actor, learner.critic) for parameter in network.parameters()]


def same(one, two) -> bool:
    return all(torch.equal(a, b) for a, b in zip(weights(one), weights(two), strict=True))


def test_the_environments_own_reward_changes_no_bit():
    plain, task = make(), make(TaskReward(NoConfig()))
    one, two = plain.update(batch()).metrics, dict(task.update(batch()).metrics)
    assert two.pop("return/shaped") == two["return/mean"]
    assert one == two
    assert same(plain, task)
    assert isinstance(task.reward, Reward)


def test_the_shaped_reward_is_trained_on_and_the_own_one_reported():
    episodes = batch()
    paid = [attrs.evolve(e, turns=tuple(attrs.evolve(t, reward=2 * t.reward) for t in e.turns)) for e in episodes]
    plain, other, by_hand = make(), make(Twice()), make()
    one, two = plain.update(episodes).metrics, other.update(episodes).metrics
    by_hand.update(paid)
    assert same(other, by_hand)
    assert not same(other, plain)
    assert two["return/shaped"] == pytest.approx(2 * one["return/mean"])
    for name in ("return/mean", "return/maze", "return/shop", "success/maze"):
        assert one[name] == two[name]
    assert two["target/mean"] == pytest.approx(2 * one["target/mean"], abs=1e-6)


def test_only_what_is_learned_from_is_asked_for():
    seen = []

    class Watching(Twice):
        def rewards(self, episode):
            seen.append(episode.id)
            return super().rewards(episode)

    episodes = batch()
    episodes[1] = attrs.evolve(episodes[1], fault="sandbox gone")
    make(Watching()).update(episodes)
    assert seen == [0, 2, 3]


def test_an_update_of_nothing_has_no_shaped_return():
    assert "return/shaped" not in make(Twice()).update([]).metrics


ONE = episode(7, [([1, 2, 3], [turn(0, 0, 1, [2], [-1.0], reward=0.5), turn(1, 0, 2, [3], [-1.0])])])


def test_the_given_episode_stays():
    (found,) = shaped([ONE], Constant((1, -2.5)), name="toy")
    assert [turn.reward for turn in found.turns] == [1.0, -2.5]
    assert [type(turn.reward) for turn in found.turns] == [float, float]
    assert [turn.reward for turn in ONE.turns] == [0.5, 0.0]
    assert attrs.evolve(found, turns=ONE.turns) == ONE


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ((1.0,), "reward 'toy': Expected one reward for each of the 2 turns of episode 7, got 1"),
        ((1.0, 2.0, 3.0), "got 3"),
        ((1.0, float("nan")), "finite number for turn 1 of episode 7, got nan"),
        ((float("inf"), 0.0), "turn 0 of episode 7, got inf"),
        ((1.0, None), "got None"),
        ((1.0, "2"), "got '2'"),
        (None, "reward 'toy' failed on episode 7: TypeError"),
        (KeyError("score"), "reward 'toy' failed on episode 7: KeyError: 'score'"),
    ],
)
def test_what_is_wrong_names_the_reward(found, words):
    with pytest.raises(PluginError, match=words):
        shaped([ONE], Constant(found), name="toy")


def test_the_fault_of_an_environment_is_its_own():
    bad = attrs.evolve(ONE, turns=(attrs.evolve(ONE.turns[0], reward=float("nan")), ONE.turns[1]))
    with pytest.raises(CorruptState, match="environment 'maze'"):
        shaped([bad], Constant((1.0, 1.0)), name="toy")
