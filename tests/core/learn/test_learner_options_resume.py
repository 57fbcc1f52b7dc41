"""A resume is exact under every learner option: what an option needs is either in the checkpoint or made anew alike."""

from __future__ import annotations

import attrs
import pytest
import torch
from learn_tiny import networks, rollout

from camg.learn import checkpoint
from camg.learn.learner import Learner
from camg.plugins import load_registry
from camg.settings import LearnerSettings

torch.set_num_threads(1)

CASES = {
    "value pre-training that ends before, and more critic steps": (
        "compaction",
        {"value_pretraining": 1, "critic_updates": 2},
    ),
    "value pre-training that ends after": ("response-gae", {"value_pretraining": 3}),
    "masked weights of whole responses": ("turn-ppo", {"importance": "masked", "importance_limit": 1.2, "epochs": 2}),
    "truncated weights": ("token-gae", {"importance": "truncated", "importance_limit": 1.1}),
    "a reference policy, no critic, no clip, groups": ("stepwise-grpo", {"kl": 0.1, "clip": 0.0}),
    "leave-one-out groups": ("rloo", {}),
    "groups in deviations": ("grpo", {"entropy": 0.01}),
}
GROUP = 2


def make(name, options) -> Learner:
    registry = load_registry(quiet=True)
    spec = registry.spec("estimator", name)
    spec = attrs.evolve(spec, group_size=GROUP if spec.group_option else spec.group_size)
    actor, critic = networks()
    settings = LearnerSettings(
        **{"actor_lr": 1e-2, "critic_lr": 1e-2, "minibatch_responses": 8, "micro_tokens": 64, **options}
    )
    return Learner(
        actor,
        critic if spec.needs_critic else None,
        registry.build("estimator", name),
        spec=spec,
        settings=settings,
    )


@pytest.fixture(scope="module")
def batches():
    actor, _ = networks()
    rows = [[rollout(actor, 10 * update + number) for number in range(4)] for update in range(5)]
    return [[attrs.evolve(item, group=item.id // GROUP) for item in row] for row in rows]


@pytest.mark.parametrize("case", CASES)
def test_a_resume_is_exact(case, batches, tmp_path) -> None:
    name, options = CASES[case]
    through = make(name, options)
    expected = [through.update(batch) for batch in batches]
    first = make(name, options)
    for batch in batches[:2]:
        first.update(batch)
    second = make(name, options)
    checkpoint.load(checkpoint.save(tmp_path, first), second)
    resumed = [second.update(batch) for batch in batches[2:]]
    for mine, theirs in zip(resumed, expected[2:], strict=True):
        assert (mine.version, mine.metrics) == (theirs.version, theirs.metrics)
        assert mine.metrics["episodes/used"] == 4
    for one, two in ((through.actor, second.actor), (through.critic, second.critic)):
        if one is not None and two is not None:
            theirs = two.state_dict()
            assert all(torch.equal(tensor, theirs[key]) for key, tensor in one.state_dict().items())
    start, _ = networks()
    moved = any(not torch.equal(tensor, start.state_dict()[key]) for key, tensor in second.actor.state_dict().items())
    assert moved  # every case reaches updates of the actor, so that equal weights say something
