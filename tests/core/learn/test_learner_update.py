"""One update: ratios, empty masks, ablations, estimator options, the report, determinism, learning."""

from __future__ import annotations

import math

import attrs
import pytest
import torch
from learn_tiny import VOCABULARY, episode, networks, rollout, sample, turn
from torch.utils.checkpoint import checkpoint

from camg.errors import BackendUnavailable, ConfigError, PluginError
from camg.learn.learner import Learner
from camg.settings import LearnerSettings
from camg.specs import EstimatorSpec
from camg.types import EndReason, Sampling, StopReason
from camg_estimators.config import GaeConfig, ReturnConfig
from camg_estimators.reinforce import Reinforce
from camg_estimators.response_gae import ResponseGae

torch.set_num_threads(1)
SPEC = EstimatorSpec(name="response-gae", summary="", factory="", config=GaeConfig)


def make(spec=SPEC, estimator=None, temperature=1.0, seed=0, **options) -> Learner:
    actor, critic = networks()
    return Learner(
        actor,
        critic if spec.needs_critic else None,
        estimator or ResponseGae(GaeConfig()),
        spec=spec,
        settings=LearnerSettings(**{"actor_lr": 1e-2, "critic_lr": 1e-2, **options}),
        sampling=Sampling(temperature),
        seed=seed,
    )


def batch(count=4, first=0, **options):
    actor, _ = networks()
    return [rollout(actor, first + number, env=("maze", "shop")[number % 2], **options) for number in range(count)]


def state(learner) -> dict[str, torch.Tensor]:
    critic = {} if learner.critic is None else learner.critic.state_dict()
    return {f"a/{k}": v.clone() for k, v in learner.actor.state_dict().items()} | {
        f"c/{k}": v.clone() for k, v in critic.items()
    }


def same(one, two) -> bool:
    return one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)


@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_ratio_is_one_at_learning_rate_zero(temperature) -> None:
    """Lesson 7: also at temperature 0.6, and across optimiser steps and epochs."""
    learner = make(temperature=temperature, actor_lr=0.0, critic_lr=0.0, minibatch_responses=7, epochs=2)
    before = state(learner)
    metrics = learner.update(batch(temperature=temperature)).metrics
    assert metrics["steps/actor"] >= 6
    assert metrics["ratio/max"] == pytest.approx(1, abs=1e-4)
    assert metrics["ratio/min"] == pytest.approx(1, abs=1e-4)
    assert metrics["ess"] == pytest.approx(1, abs=1e-6)
    assert metrics["clip/fraction"] == 0
    assert metrics["mismatch/abs_max"] < 1e-4
    assert metrics["mismatch/tokens"] > 0
    assert same(before, state(learner))


def test_a_wrong_temperature_shows_as_mismatch() -> None:
    """A hundred times what an exact sampler shows (the tiny actor's logits are small, so the difference is too)."""
    metrics = make(temperature=1.0, actor_lr=0.0).update(batch(temperature=0.6)).metrics
    assert metrics["mismatch/abs_mean"] > 0.01
    assert metrics["mismatch/abs_max"] > 0.05


def test_an_update_without_a_trainable_token_changes_nothing() -> None:
    """Lesson 10: no step (AdamW would decay weights even at zero gradient); counted as empty."""
    learner = make()
    learner.update(batch())
    before = state(learner)
    untrained = episode(50, [([1, 2, 3], [turn(0, 0, 1, [2], [-1.0], trained=False)])])
    for number, given in enumerate([[untrained], [attrs.evolve(untrained, id=51, fault="x")], []]):
        report = learner.update(given)
        assert report.metrics["update/empty"] == 1
        assert report.update == report.version == number + 2
        assert all(map(math.isfinite, report.metrics.values()))
    assert same(before, state(learner))


def test_no_memory_gradient_leaves_memory_responses_out_of_the_actor_whole() -> None:
    """The actor learns as if they did not exist; returns, values and the critic's loss stay as they are."""
    episodes = batch(access_every=2)
    full, masked = make(), make(no_memory_gradient=True)
    one, two = full.update(episodes).metrics, masked.update(episodes).metrics
    assert two["tokens/actor"] < one["tokens/actor"] == two["tokens/sampled"]
    assert one["loss/critic"] == two["loss/critic"]
    assert one["grad/critic"] == two["grad/critic"]
    assert one["grad/actor"] != two["grad/actor"]
    critics = [{k: v for k, v in state(learner).items() if k.startswith("c/")} for learner in (full, masked)]
    assert same(*critics)
    changed = [
        attrs.evolve(
            item,
            turns=tuple(
                attrs.evolve(step, logprobs=tuple(value - 3 for value in step.logprobs)) if step.memory_access else step
                for step in item.turns
            ),
        )
        for item in episodes
    ]
    again = make(no_memory_gradient=True)
    again.update(changed)
    assert same(state(again), state(masked))


def test_all_responses_access_the_memory() -> None:
    learner = make(no_memory_gradient=True)
    before = state(learner)
    metrics = learner.update(batch(access_every=1)).metrics
    after = state(learner)
    assert metrics["update/empty"] == 0
    assert metrics["steps/empty"] == 1
    assert "loss/actor" not in metrics
    assert all(torch.equal(before[name], after[name]) for name in before if name.startswith("a/"))
    assert any(not torch.equal(before[name], after[name]) for name in before if name.startswith("c/"))


def test_two_learners_give_identical_reports() -> None:
    runs = []
    for _ in range(2):
        learner = make(minibatch_responses=8, micro_tokens=100)
        runs.append([learner.update(batch(first=10 * number)).metrics for number in range(3)] + [state(learner)])
    assert runs[0][:3] == runs[1][:3]
    assert same(runs[0][3], runs[1][3])


def test_the_report_is_flat_finite_and_says_what_happened() -> None:
    episodes = batch(5, version=0)
    episodes[0] = attrs.evolve(episodes[0], end_reason=EndReason.FAULT, fault="sandbox gone")
    learner = make()
    learner.updates = 3
    report = learner.update(episodes)
    metrics = report.metrics
    assert (report.update, report.version, report.episodes) == (4, 4, (0, 1, 2, 3, 4))
    assert all(isinstance(value, float) and math.isfinite(value) for value in metrics.values())
    assert (metrics["lag/mean"], metrics["lag/max"], metrics["mismatch/tokens"]) == (3, 3, 0)
    assert (metrics["episodes/given"], metrics["episodes/used"], metrics["episodes/faulted"]) == (5, 4, 1)
    for kind in ("episodes", "responses", "tokens"):
        assert metrics[f"share/{kind}/maze"] + metrics[f"share/{kind}/shop"] == pytest.approx(1)
    assert metrics["share/episodes/shop"] == 0.5
    assert {"loss/actor", "loss/critic", "grad/actor", "grad/critic", "entropy", "explained_variance"} <= metrics.keys()
    assert {"ratio/max", "ratio/p99", "ess", "clip/fraction", "memory/access", "episode/turns"} <= metrics.keys()
    assert {"success/maze", "complete/shop", "return/mean", "tokens/sampled"} <= metrics.keys()
    assert report.time["learn"] >= report.time["learn/actor"] > 0


def test_a_long_rollout_has_one_vote_in_the_means() -> None:
    """Lesson 19."""
    actor, _ = networks()
    short, long = rollout(actor, 0, segments=1, turns=1), rollout(actor, 1, segments=3, turns=6)
    metrics = make().update([short, long]).metrics
    assert metrics["return/mean"] == pytest.approx((short.reward + long.reward) / 2)
    assert metrics["success/maze"] == (short.outcome.success + long.outcome.success) / 2


def test_truncation_is_counted_by_stop_reason() -> None:
    """Lesson 17: a response that fills the widest row is not truncated for that."""
    episodes = batch(2, segments=1, turns=2)
    turns = [attrs.evolve(episodes[0].turns[0], stop_reason=StopReason.LENGTH), *episodes[0].turns[1:]]
    metrics = make().update([attrs.evolve(episodes[0], turns=tuple(turns)), episodes[1]]).metrics
    assert metrics["responses/truncated"] == 0.25


def test_an_episode_is_used_once() -> None:
    learner = make()
    learner.update(batch(2))
    with pytest.raises(ValueError, match=r"got \[1\] again"):
        learner.update(batch(1, first=1))
    with pytest.raises(ValueError, match=r"got \[9\] again"):
        learner.update([*batch(1, first=9), *batch(1, first=9)])


def test_an_estimator_without_critic_and_pipeline() -> None:
    """EstimatorSpec: needs_critic, pipeline "none" and ratio "turn" are honoured."""
    seen = []

    class Watching(Reinforce):
        def estimate(self, trajectories):
            seen.extend(trajectories)
            return super().estimate(trajectories)

    spec = attrs.evolve(SPEC, needs_critic=False, pipeline="none", ratio="turn")
    learner = make(spec, Watching(ReturnConfig()))
    metrics = learner.update(batch()).metrics
    assert learner.critic is None
    assert all(not item.values.any() for item in seen)
    assert metrics["advantage/max"] == pytest.approx(
        max(abs(sum(item.rewards[start:])) for item in seen for start in range(len(item.rewards)))
    )
    assert not any("critic" in name or name == "explained_variance" for name in metrics)
    assert metrics["steps/actor"] == 1


def test_a_group_is_used_whole_or_not_at_all() -> None:
    spec = attrs.evolve(SPEC, group_size=2)
    episodes = [attrs.evolve(item, group=item.id // 2) for item in batch(4)]
    episodes[3] = attrs.evolve(episodes[3], fault="sandbox gone")
    metrics = make(spec).update(episodes).metrics
    assert metrics["episodes/used"] == 2
    assert metrics["responses"] == sum(len(item.turns) for item in episodes[:2])


def test_importance_correction_of_an_exact_sampler_changes_nothing() -> None:
    plain, corrected = make(), make(importance="truncated")
    one, two = plain.update(batch()).metrics, corrected.update(batch()).metrics
    assert one["loss/actor"] == pytest.approx(two["loss/actor"], abs=1e-5)
    assert one["grad/actor"] == pytest.approx(two["grad/actor"], rel=1e-4)


@pytest.mark.parametrize("ratio", ["token", "turn"])
def test_importance_weights_are_truncated(ratio) -> None:
    """Behaviour log-probs 1 nat too low at each token: weights exp(1) cut at 1.5, so gradients are 1.5 times larger."""
    spec = attrs.evolve(SPEC, ratio=ratio, pipeline="none")
    low = [
        attrs.evolve(
            item,
            turns=tuple(attrs.evolve(step, logprobs=tuple(x - 1 for x in step.logprobs)) for step in item.turns),
        )
        for item in batch()
    ]
    exact = make(spec).update(batch()).metrics
    cut = make(spec, importance="truncated", importance_limit=1.5).update(low).metrics
    assert cut["grad/actor"] == pytest.approx(1.5 * exact["grad/actor"], rel=1e-4)


@pytest.mark.parametrize("ratio", ["token", "turn"])
def test_importance_weights_are_masked(ratio) -> None:
    """Of two episodes one was sampled 1 nat per token away: with a limit of 1.5 it leaves the loss, and is counted."""
    spec = attrs.evolve(SPEC, ratio=ratio, pipeline="none")
    near, far = batch(2)
    moved = tuple(attrs.evolve(step, logprobs=tuple(x - 1 for x in step.logprobs)) for step in far.turns)
    masked = make(spec, importance="masked", importance_limit=1.5).update([near, attrs.evolve(far, turns=moved)])
    tokens = [sum(len(step.token_ids) for step in item.turns) for item in (near, far)]
    assert masked.metrics["importance/masked"] == pytest.approx(tokens[1] / sum(tokens))
    none = make(spec, importance="masked", importance_limit=1.5).update([near, far])
    assert none.metrics["importance/masked"] == 0
    assert none.metrics["importance/mean"] == pytest.approx(1, abs=1e-4)


def test_the_critic_is_trained_first_and_more_often() -> None:
    learner = make(value_pretraining=1, critic_updates=2)
    start = state(learner)
    first = learner.update(batch())
    assert (first.version, first.metrics["steps/critic"]) == (1, 2)
    assert "loss/actor" not in first.metrics
    assert first.metrics["update/empty"] == 0
    assert {name[0] for name in start if not torch.equal(state(learner)[name], start[name])} == {"c"}
    second = learner.update(batch(first=100))
    assert (second.metrics["steps/actor"], second.metrics["steps/critic"]) == (1, 2)
    assert {name[0] for name in start if not torch.equal(state(learner)[name], start[name])} == {"a", "c"}


def test_without_a_clip_no_ratio_is_clipped() -> None:
    learner = make(clip=0.0, minibatch_responses=1, actor_lr=0.05)
    metrics = learner.update(batch()).metrics
    assert metrics["ratio/max"] > 1.2
    assert metrics["clip/fraction"] == 0


def test_a_reference_penalty_pulls_towards_the_start() -> None:
    distances = []
    for kl in (0.0, 5.0):
        learner = make(kl=kl, minibatch_responses=4)
        start = state(learner)
        for number in range(4):
            learner.update(batch(first=10 * number))
        end = state(learner)
        distances.append(sum(float((end[k] - start[k]).square().sum()) for k in start if k.startswith("a/")))
    assert distances[1] < distances[0]


def test_a_gradient_that_is_not_finite_is_left_out_and_counted() -> None:
    learner = make()
    with torch.no_grad():
        learner.critic.head.bias.fill_(float("inf"))
    before = state(learner)
    metrics = learner.update(batch()).metrics
    assert metrics["steps/overflow"] >= 1
    assert same(
        {k: v for k, v in before.items() if k[0] == "c"}, {k: v for k, v in state(learner).items() if k[0] == "c"}
    )


def test_recomputed_activations_give_the_same_update() -> None:
    """gradient_checkpointing: fewer activations kept, dropout still off."""
    calls = []

    def recompute(network):
        inner = network.block.forward
        network.gradient_checkpointing_enable = lambda: calls.append(network)
        network.block.forward = lambda *args: checkpoint(inner, *args, use_reentrant=False)
        network.dropout = torch.nn.Dropout(0.5)
        network.block.attention_dropout = 0.5
        return network

    plain = make()
    actor, critic = (recompute(network) for network in networks())
    options = LearnerSettings(actor_lr=1e-2, critic_lr=1e-2, gradient_checkpointing=True)
    learner = Learner(actor, critic, ResponseGae(GaeConfig()), spec=SPEC, settings=options)
    assert calls == [actor, critic]
    assert actor.training
    assert not actor.dropout.training
    assert actor.block.attention_dropout == 0
    assert learner.update(batch()).metrics == plain.update(batch()).metrics
    assert same(state(learner), state(plain))


def test_bf16_trains_within_its_precision() -> None:
    one, two = make().update(batch()).metrics, make(precision="bf16").update(batch()).metrics
    assert one["grad/actor"] == pytest.approx(two["grad/actor"], rel=0.1)
    assert one["grad/actor"] != two["grad/actor"]


@pytest.mark.parametrize(
    ("spec", "options", "sampling", "error", "said"),
    [
        ({"ratio": "word"}, {}, {}, PluginError, "expected ratio 'token' or 'turn'"),
        ({"pipeline": "mine"}, {}, {}, PluginError, "pipeline 'paper' or 'none'"),
        ({}, {}, {"top_p": 0.9}, ConfigError, "top_p 1"),
        ({}, {}, {"top_k": 5}, ConfigError, "top_k 0"),
        ({}, {}, {"temperature": 0.0}, ConfigError, "temperature > 0"),
        ({}, {"gradient_checkpointing": True}, {}, ConfigError, "gradient_checkpointing_enable"),
        ({}, {"device": "cuda:7"}, {}, BackendUnavailable, "no CUDA device"),
    ],
)
def test_what_cannot_learn_is_refused(spec, options, sampling, error, said) -> None:
    """Lesson 8 among them: a sampler that keeps a part of the support is refused for training."""
    if "device" in options and torch.cuda.is_available():
        pytest.skip("this machine has a CUDA device")
    actor, critic = networks()
    with pytest.raises(error, match=said):
        Learner(
            actor,
            critic,
            ResponseGae(GaeConfig()),
            spec=attrs.evolve(SPEC, **spec),
            settings=LearnerSettings(**options),
            sampling=Sampling(**sampling),
        )


def test_a_missing_critic_is_refused() -> None:
    with pytest.raises(ConfigError, match="needs a critic"):
        Learner(networks()[0], None, ResponseGae(GaeConfig()), spec=SPEC, settings=LearnerSettings())


def test_an_estimate_of_the_wrong_shape_is_named() -> None:
    class Short(ResponseGae):
        def estimate(self, trajectories):
            found = super().estimate(trajectories)
            return [attrs.evolve(found[0], advantages=found[0].advantages[:-1]), *found[1:]]

    with pytest.raises(ValueError, match="Expected advantages of the shapes"):
        make(estimator=Short(GaeConfig())).update(batch())


def test_it_learns_to_say_the_rewarded_token() -> None:
    """A bandit: 1 for token 5, else 0. From chance (1/23) to most of the time in 40 updates."""
    import random

    learner = make(actor_lr=3e-2, minibatch_responses=64)
    rng = random.Random(0)
    hits = []
    for update in range(40):
        episodes = []
        for number in range(32):
            context = [1, 2]
            logprobs = sample(learner.actor, context, 1, 1.0, rng)
            reward = float(context[2] == 5)
            step = turn(0, 0, 2, context[2:], logprobs, reward=reward, version=learner.version)
            episodes.append(episode(1000 * update + number, [(context, [step])], success=reward))
        hits.append(learner.update(episodes).metrics["success/maze"])
    assert hits[0] < 0.3
    assert sum(hits[-5:]) / 5 > 0.8
    assert VOCABULARY == 23


def test_the_advantage_of_each_turn_is_kept_for_replay() -> None:
    learner, episodes = make(), batch()
    learner.update(episodes)
    kept = {episode: sorted(turns) for episode, turns in learner.credit.items()}
    assert kept == {episode.id: [turn.index for turn in episode.turns] for episode in episodes}
    assert len({value for turns in learner.credit.values() for value in turns.values()}) > 1
