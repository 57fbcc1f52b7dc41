"""Options of the policies. No torch here: the command line reads these."""

from __future__ import annotations

from attrs import frozen
from attrs.validators import ge, gt, in_

from camg.specs import option


@frozen
class TorchConfig:
    """``--policy torch``."""

    model: str = option("", "folder of a transformers causal LM with tokenizer and chat template, or its hub id")
    dtype: str = option("float32", "weights and activations", validator=in_(("float32", "bfloat16", "float16", "auto")))
    device: str = option("cpu", "torch device of the sampler, e.g. cuda:0")
    threads: int = option(1, "compute threads of a process; more than one slows small models down", validator=ge(1))
    dialect: str = option("auto", "how calls are written", validator=in_(("auto", "native", "bracket")))
    template: str = option("", 'more arguments of the chat template, as JSON: {"enable_thinking": false}')
    engine: str = option("auto", "decoder of the sampler", validator=in_(("auto", "static", "transformers")))
    deadline: float = option(1800.0, "seconds that one response may take", validator=gt(0))


@frozen
class PocketConfig:
    """``--policy pocket``."""

    artefact: str = option("", "a warm start of the package by name, or a folder of `camg pocket build`; empty: shell")
    threads: int = option(1, "compute threads of a process; more than one slows it down", validator=ge(1))
    deadline: float = option(300.0, "seconds that one response may take", validator=gt(0))


@frozen
class ScriptedConfig:
    """``--policy scripted``."""

    script: str = option(
        "oracle", "oracle or demonstrator (the environment's), or module:function (task, seed, dialect) -> script"
    )
    codec: str = option(
        "bytes", "token ids: one per byte, or the embedded policy's", validator=in_(("bytes", "pocket"))
    )
    dialect: str = option("bracket", "how calls are written", validator=in_(("native", "bracket")))


POCKET_PROFILE = {
    "run.updates": 100,
    "run.episodes": 32,
    "rollout.slots": 64,
    "rollout.warmup": 16,
    "rollout.prompt_tokens": 272,
    "rollout.response_tokens": 32,
    "rollout.observation_tokens": 192,
    "rollout.reserve_tokens": 32,
    "learner.actor_lr": 2e-4,  # at 3e-4 a run that had arrived fell back for a few updates
    "learner.critic_lr": 1e-3,
    "learner.minibatch_responses": 96,
    "learner.micro_tokens": 4096,
    "learner.weight_decay": 0.0,
}
"""What the embedded policy needs instead of the paper's settings for a 4B model: sizes, rates, four mini-batches."""
