"""Segments as samples: the same loss and gradient as one pass per response, whatever the layout.

The learner's own step runs with its optimiser replaced by a recorder of gradients.
"""

from __future__ import annotations

import attrs
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from learn_tiny import Actor, Critic, networks, rollout

from camg.learn import learner as module
from camg.learn.batch import collate
from camg.learn.learner import Learner
from camg.learn.packing import microbatches
from camg.learn.samples import per_response
from camg.settings import LearnerSettings
from camg.specs import EstimatorSpec
from camg.types import Sampling
from camg_estimators.config import GaeConfig
from camg_estimators.response_gae import ResponseGae

torch.set_num_threads(1)
SPEC = EstimatorSpec(name="response-gae", summary="", factory="", config=GaeConfig)


def make(pack_safe=True, seed=0, spec=SPEC, **options) -> Learner:
    actor, critic = networks(seed, pack_safe=pack_safe)
    return Learner(
        actor, critic, ResponseGae(GaeConfig()), spec=spec, settings=LearnerSettings(**options), sampling=Sampling(0.8)
    )


@pytest.fixture(scope="module")
def episodes():
    """Sampled from slightly other weights, so that ratios are not 1 and some terms are clipped."""
    actor, _ = networks()
    with torch.no_grad():
        actor.bias += torch.randn_like(actor.bias) * 0.3
    return [
        rollout(actor, number, env=("maze", "shop")[number % 2], turns=2 + number, temperature=0.8, access_every=3)
        for number in range(5)
    ]


def gradients(learner: Learner, episodes, monkeypatch=None) -> dict[str, torch.Tensor]:
    """Losses and unclipped gradients of one update in one mini-batch."""
    out = {}

    def step(name, network, optimiser, loss, trace) -> None:
        out[f"{name}/loss"] = torch.tensor(loss)
        for key, parameter in network.named_parameters():
            if parameter.grad is not None:
                out[f"{name}/{key}"] = parameter.grad.clone()
        network.zero_grad()
        trace.step(name, loss, 1.0)

    learner._step = step
    learner.update(episodes)
    return out


def close(one, two) -> None:
    assert one.keys() == two.keys()
    assert len(one) > 12
    for name in one:
        torch.testing.assert_close(
            one[name], two[name], rtol=1e-5, atol=1e-5, msg=lambda said, name=name: f"{name}: {said}"
        )


def by_response(build):
    """The batch of ``build`` with one sample per response instead of per segment."""

    def split(*args, **kwargs):
        batch = build(*args, **kwargs)
        samples, states, tokens = [], [], []
        for sample, state, token in zip(batch.samples, batch.states, batch.tokens, strict=True):
            for part in per_response(sample):
                mine = torch.tensor(
                    [part.sampled[place + 1] if place + 1 < len(part.sampled) else False for place in state.tolist()]
                )
                samples.append(part)
                states.append(state[mine])
                tokens.append(token[mine])
        return attrs.evolve(batch, samples=tuple(samples), states=tuple(states), tokens=tuple(tokens))

    return split


@pytest.mark.parametrize("ratio", ["token", "turn"])
@pytest.mark.parametrize("no_memory_gradient", [False, True])
def test_segments_equal_one_pass_per_response(episodes, monkeypatch, ratio, no_memory_gradient) -> None:
    spec = attrs.evolve(SPEC, ratio=ratio)
    options = {"no_memory_gradient": no_memory_gradient, "entropy": 0.01}
    whole = gradients(make(spec=spec, **options), episodes)
    monkeypatch.setattr(module, "build", by_response(module.build))
    single = gradients(make(spec=spec, pack_safe=False, micro_tokens=64, **options), episodes)
    close(whole, single)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(budget=st.integers(64, 800), pack=st.booleans())
def test_packing_and_micro_batches_change_nothing(episodes, budget, pack) -> None:
    """Lessons 13 and 21."""
    close(
        gradients(make(pack_safe=False, micro_tokens=1_000_000), episodes),
        gradients(make(pack_safe=pack, micro_tokens=budget), episodes),
    )


def test_padding_may_hold_anything(episodes, monkeypatch) -> None:
    """Lesson 13: other ids in the padding leave losses and gradients as they are."""
    clean = gradients(make(micro_tokens=200), episodes)

    def dirty(batch, layout, *, device="cpu"):
        micro = collate(batch, layout, device=device)
        return attrs.evolve(micro, ids=torch.where(micro.mask, micro.ids, 17))

    monkeypatch.setattr(module, "collate", dirty)
    close(clean, gradients(make(micro_tokens=200), episodes))


def test_an_observation_more_moves_nothing_but_its_own_context(episodes) -> None:
    """Ids after the last response of a segment are context of nobody: appending some changes no gradient."""
    longer = [
        attrs.evolve(
            episode,
            segments=tuple(attrs.evolve(part, token_ids=(*part.token_ids, 3, 1, 4, 1, 5)) for part in episode.segments),
        )
        for episode in episodes
    ]
    close(gradients(make(), episodes), gradients(make(), longer))


def test_the_order_of_episodes_does_not_matter(episodes) -> None:
    close(gradients(make(), episodes), gradients(make(), episodes[::-1]))


def test_the_value_is_that_of_the_state_before_the_token(episodes) -> None:
    """Lesson 23: V and log-prob of the token at p come from position p - 1."""
    learner = make()
    batch = module.build(episodes)
    values = learner._values(batch)
    logprobs = learner._logprobs(batch, learner.actor)
    row = 0
    for episode in episodes:
        for turn in episode.turns:
            context = list(episode.segments[turn.segment].token_ids[: turn.prompt_length])
            for token in turn.token_ids:
                ids = torch.tensor([context])
                where = torch.arange(len(context))[None]
                with torch.no_grad():
                    value = learner.critic.values(ids, ids > -1, where)[0, -1]
                    hidden = learner.actor.hidden(ids, ids > -1, where)[0, -1]
                    table = hidden @ learner.actor.output_weight.T + learner.actor.output_bias
                torch.testing.assert_close(values[row], value, rtol=1e-5, atol=1e-5)
                torch.testing.assert_close(
                    logprobs[row], torch.log_softmax(table / 0.8, -1)[token], rtol=1e-5, atol=1e-5
                )
                context.append(token)
                row += 1
    assert row == len(values)


def test_rows_of_a_packed_micro_batch_restart_positions(episodes) -> None:
    batch = module.build(episodes)
    lengths = [len(sample.token_ids) for sample in batch.samples]
    layouts = microbatches(lengths, range(len(lengths)), 10_000, pack=True)
    micro = collate(batch, layouts[0])
    assert any(len(row) > 1 for row in layouts[0])
    assert int(micro.mask.sum()) == sum(lengths)
    assert int((micro.positions == 0).sum()) >= len(lengths)
    assert torch.equal(micro.ids[micro.rows, micro.columns + 1], micro.targets)
    assert isinstance(make().actor, Actor)
    assert isinstance(make().critic, Critic)
