"""``--policy torch``: a folder of a tiny Qwen3.5 with a tool template; dialects, backends, weights, bad input."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from tiny_models import TASK, model

from camg import weights
from camg.errors import BackendUnavailable, ConfigError, UsageError
from camg.types import Message, Parameter, Sampling, Tool
from camg_policies.backends import StaticBackend
from camg_policies.config import TorchConfig
from camg_policies.general import TransformersBackend
from camg_policies.pocket.tokenizer import train_tokenizer
from camg_policies.policy import TorchPolicy, make_backend

TOOLS = (Tool("shell_command", "run bash", (Parameter("command", "bash"),), filesystem=True),)
TEMPLATE = (
    "{% if tools %}{% for tool in tools %}{{ tool.function.name }}\n{% endfor %}{% endif %}"
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% if enable_thinking is defined and not enable_thinking %}"
    "<think></think>{% endif %}{% endif %}"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("tiny")
    model("qwen3_5").save_pretrained(str(made))
    tokenizer = train_tokenizer(["hello"], 260)  # no merges: 261 ids, of which the model knows 260
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(str(made))
    return made


def config(folder: Path | str, **options) -> TorchConfig:
    return TorchConfig(model=str(folder), **options)


def test_a_model_with_tools_speaks_its_native_dialect(folder):
    policy = TorchPolicy(config(folder))
    assert policy.codec.dialect.name == "native"
    ids = policy.codec.open([Message("user", "hi")], TOOLS)
    assert "shell_command" in policy.codec.decode(ids)
    assert TorchPolicy(config(folder, dialect="bracket")).codec.dialect.name == "bracket"
    quiet = TorchPolicy(config(folder, template='{"enable_thinking": false}')).codec
    assert quiet.decode(quiet.open([Message("user", "hi")], ())).endswith("<think></think>")


def test_samples_and_follows_published_weights(folder, tmp_path):
    policy = TorchPolicy(config(folder))
    actor = policy.actor()
    prompt = policy.codec.open([Message("user", "hi")], ())
    with torch.no_grad():
        for parameter in actor.parameters():
            parameter.mul_(1.5)
    weights.publish(tmp_path, actor.state_dict(), 4)
    engine = policy.sampler(Sampling(), weights=tmp_path)
    response = engine.open(TASK, 1).generate(prompt, limit=5)
    engine.close()
    assert response.policy_version == 4
    ids = torch.tensor([[*prompt, *response.token_ids]])
    with torch.inference_mode():
        rows = actor(ids)[0, len(prompt) - 1 : -1].log_softmax(-1)
    expected = rows.gather(-1, torch.tensor(response.token_ids)[:, None])[:, 0].tolist()
    assert response.logprobs == pytest.approx(expected, abs=1e-4)


def test_actor_and_critic_are_fresh_and_apart(folder):
    policy = TorchPolicy(config(folder))
    one, two, critic = policy.actor(), policy.actor(), policy.critic()
    with torch.no_grad():
        one.output_weight.zero_()
    assert two.output_weight.abs().sum() > 0
    assert torch.equal(next(critic.backbone.parameters()), next(two.backbone.parameters()))
    with torch.no_grad():
        next(critic.backbone.parameters()).zero_()
    assert next(two.backbone.parameters()).abs().sum() > 0


def test_the_backend_fits_the_architecture(folder):
    from tiny_models import actor

    assert isinstance(make_backend(actor("qwen3")), StaticBackend)
    assert isinstance(make_backend(actor("qwen3"), "transformers"), TransformersBackend)
    assert isinstance(make_backend(actor("qwen3_5")), TransformersBackend)
    with pytest.raises(ConfigError, match=r"got static"):
        make_backend(actor("qwen3_5"), "static")


def test_bad_input_is_named(folder, tmp_path):
    with pytest.raises(UsageError, match=r"Expected torch\.model"):
        TorchPolicy(TorchConfig())
    with pytest.raises(UsageError, match=r"config\.json"):
        TorchPolicy(config(tmp_path))
    with pytest.raises(UsageError, match=r"config\.json"):
        TorchPolicy(config("./nowhere"))
    with pytest.raises(ConfigError, match="JSON object"):
        TorchPolicy(config(folder, template="[1]"))
    broken = tmp_path / "broken"
    shutil.copytree(folder, broken)
    (broken / "model.safetensors").write_bytes(b"rubbish")
    with pytest.raises(BackendUnavailable, match="could not be loaded"):
        TorchPolicy(config(broken)).actor()
    with pytest.raises(BackendUnavailable, match="cannot be used"):
        TorchPolicy(config(folder, device="cuda:7")).sampler(Sampling())


def test_a_missing_hub_model_is_unavailable(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(BackendUnavailable, match=r"torch\.model"):
        TorchPolicy(config("nobody/nothing-at-all"))
