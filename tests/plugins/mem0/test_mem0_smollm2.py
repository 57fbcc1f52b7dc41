"""The small pretrained model as Mem0's: the extraction prompt is asked and answered, whatever the answer is worth."""

from __future__ import annotations

import pytest

from camg.plugins import load_registry
from camg.settings import RolloutSettings
from camg.testing import FolderSandbox
from camg.types import Sampling, TurnKind
from camg_mem0.config import PROMPT_TOKENS, Mem0Config
from camg_mem0.memory import Mem0
from camg_policies import smollm2
from camg_policies.config import TorchConfig
from camg_policies.policy import TorchPolicy


@pytest.mark.skipif(
    bool(smollm2.missing()), reason=f"not installed: {', '.join(smollm2.missing())} ({smollm2.INSTALL})"
)
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_pretrained_model_is_asked_for_memories(tmp_path):
    from camg.episode.loop import Components, run_episode
    from camg.types import Dispatch, Limits

    policy = TorchPolicy(TorchConfig(model=str(smollm2.convert(tmp_path / "model"))))
    engine = policy.sampler(Sampling(temperature=0))
    shop = load_registry().build("environment", "shop")
    parts = Components(
        environment=shop,
        memory=Mem0(Mem0Config(every_n=1, extraction_tokens=96)),
        sampler=engine,
        codec=policy.codec,
        sandbox=FolderSandbox(),
        limits=Limits(),
        rollout=RolloutSettings(prompt_tokens=PROMPT_TOKENS, response_tokens=96, actions=4),
    )
    episode = run_episode(Dispatch(0, 0, "shop", shop.task_ids("pocket")[0], 0), parts, label="mem0")
    engine.close()
    asked = [turn for turn in episode.turns if turn.kind is TurnKind.SUMMARY]
    adds = [event for event in episode.events if event.kind == "mem0-add"]
    assert asked
    assert len(adds) == len(asked)
    assert all(event.cost["model_calls"] == 1 and event.cost["model_tokens"] > 5_000 for event in adds)
    assert all(turn.token_ids and not turn.trained for turn in asked)
    print([event.text for event in adds], [turn.text for turn in asked])
