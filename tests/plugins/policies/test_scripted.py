"""``--policy scripted``: functions as policies, the environments' oracles by default."""

from __future__ import annotations

import sys
import types

import pytest

from camg.errors import ConfigError, UsageError
from camg.types import Sampling, StopReason, Task
from camg_policies.config import ScriptedConfig
from camg_policies.scripted import ScriptedPolicy


def echo(task, seed, dialect):
    """A script that counts its calls and ends with a call of a tool."""
    state = {"count": 0}

    def say(context: str) -> str:
        state["count"] += 1
        return f"{state['count']} {len(context)} {seed} " + dialect.render("shell_command", {"command": "ls"})

    return say


def test_a_function_speaks(monkeypatch):
    module = types.ModuleType("camg_test_script")
    module.echo = echo
    monkeypatch.setitem(sys.modules, "camg_test_script", module)
    policy = ScriptedPolicy(ScriptedConfig(script="camg_test_script:echo"))
    sampler = policy.sampler(Sampling())
    speaker = sampler.open(Task("t", "e", "s", 1), 7)
    prompt = policy.codec.encode("hello")
    response = speaker.generate(prompt, limit=100)
    assert response.text == "1 5 7 shell_command: ls"
    assert response.token_ids[-1] == policy.codec.eos_id
    assert policy.codec.decode(response.token_ids[:-1]) == response.text
    assert response.logprobs == (0.0,) * len(response.token_ids)
    assert (response.stop_reason, response.policy_version) == (StopReason.EOS, sampler.version)
    cut = speaker.generate(prompt, limit=4)
    assert cut.stop_reason is StopReason.LENGTH
    assert cut.token_ids == policy.codec.encode("2 5 ")
    assert cut.text == "2 5 "
    assert sampler.open(Task("t", "e", "s", 1), 8).generate(prompt, limit=100).text.startswith("1 5 8")


def test_the_environments_oracle_is_the_default():
    policy = ScriptedPolicy(ScriptedConfig())
    from camg.plugins import load_registry

    shop = load_registry().build("environment", "shop")
    task = shop.task(shop.task_ids("pocket")[0])
    speaker = policy.sampler(Sampling()).open(task, 0)
    brief = policy.codec.encode("Buy 1/3: want=red\n[blue mug] [red mug]")
    assert speaker.generate((258, *brief, 256, 259), limit=100).text == "click[red mug]"


def test_cannot_be_trained():
    policy = ScriptedPolicy(ScriptedConfig())
    for build in (policy.actor, policy.critic):
        with pytest.raises(UsageError, match="can be trained"):
            build()


@pytest.mark.parametrize("script", ["nowhere_at_all:f", "json:nothing", "json", "camg:__version__"])
def test_bad_scripts_are_named(script):
    with pytest.raises(ConfigError, match="Expected"):
        ScriptedPolicy(ScriptedConfig(script=script))


def test_an_environment_without_oracle_is_named():
    policy = ScriptedPolicy(ScriptedConfig())
    with pytest.raises(UsageError):
        policy.sampler(Sampling()).open(Task("t", "no-such-environment", "s", 1), 0)
