"""A real pretrained model end to end: SmolLM2-135M-Instruct out of the package index, in Shop, through one update."""

from __future__ import annotations

import math

import pytest
import torch

from camg.errors import BackendUnavailable, UsageError
from camg.plugins import load_registry
from camg.settings import LearnerSettings, RolloutSettings
from camg.testing import FolderSandbox
from camg.types import Message, Sampling
from camg_policies import smollm2
from camg_policies.config import TorchConfig
from camg_policies.pocket.corpus import Stage
from camg_policies.policy import TorchPolicy

needs_package = pytest.mark.skipif(
    bool(smollm2.missing()), reason=f"not installed: {', '.join(smollm2.missing())} ({smollm2.INSTALL})"
)


def test_the_command_names_what_is_missing(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(smollm2, "NEEDED", ("no_such_package_at_all",))
    with pytest.raises(BackendUnavailable, match="no_such_package_at_all is missing"):
        smollm2.convert(tmp_path / "out")
    assert smollm2.main([str(tmp_path / "out")]) == 4
    assert "pip install" in capsys.readouterr().err
    assert smollm2.main([]) == 2
    with pytest.raises(UsageError, match="exists"):
        smollm2.convert(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def policy(tmp_path_factory) -> TorchPolicy:
    folder = smollm2.convert(tmp_path_factory.mktemp("smollm2") / "model")
    return TorchPolicy(TorchConfig(model=str(folder)))


@needs_package
@pytest.mark.slow
def test_it_knows_its_capitals(policy):
    """The conversion kept the weights: a scrambled one babbles."""
    engine = policy.sampler(Sampling(temperature=0))
    prompt = policy.codec.open([Message("user", "What is the capital of France? Answer in one word.")], ())
    response = engine.open(None, 0).generate(prompt, limit=12)  # type: ignore[arg-type]
    engine.close()
    assert "Paris" in response.text


@needs_package
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_two_shop_episodes_and_one_update(policy):
    """Real episodes, recorded with their log-probs, change the weights through the real learner."""
    registry = load_registry()
    rollout = RolloutSettings(
        prompt_tokens=900, response_tokens=24, observation_tokens=120, reserve_tokens=64, actions=3, slots=2
    )
    stage = Stage(registry, FolderSandbox(), rollout=rollout)
    engine = policy.sampler(Sampling())
    episodes = stage.run("shop", engine, policy.codec, 2, seed=0, split="pocket")
    engine.close()
    assert all(episode.turns and episode.fault is None for episode in episodes)

    from camg.learn.learner import Learner

    actor = policy.actor()
    before = actor.output_weight.detach().clone()
    spec = registry.spec("estimator", "response-gae")
    learner = Learner(
        actor,
        policy.critic(),
        registry.build("estimator", "response-gae"),
        spec=spec,
        settings=LearnerSettings(micro_tokens=1024),
        sampling=Sampling(),
    )
    report = learner.update(episodes)
    assert report.metrics["tokens/actor"] == sum(len(turn.token_ids) for e in episodes for turn in e.turns)
    assert report.metrics["mismatch/abs_max"] < 1e-3  # sampler and learner agree at lag 0
    assert math.isfinite(report.metrics["loss/actor"])
    assert not torch.equal(learner.actor.output_weight, before)
