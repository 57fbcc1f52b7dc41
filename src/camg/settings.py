"""The core's own options, by section: ``run``, ``rollout``, ``learner``, ``evaluation`` (and ``limits`` from types).

Defaults are the paper's (Table 5) where it has one; the embedded policy's profile overrides sizes and rates.
Every field is settable: ``--set learner.actor_lr=3e-4``.
"""

from __future__ import annotations

from attrs import frozen
from attrs.validators import ge, gt, in_, le

from camg.specs import option


@frozen
class RunSettings:
    """What is run."""

    seed: int = option(0, "seed of schedule, sampling and initialisation", validator=ge(0))
    updates: int = option(200, "learner updates", validator=ge(0))
    episodes: int = option(64, "episodes per update", validator=ge(1))
    sync: bool = option(False, "lock-step in one process, the same to the last bit (--sync)")
    split: str = option("", "training split; empty: the policy's (pocket for the embedded one, else train)")


@frozen
class RolloutSettings:
    """How episodes are collected (Table 5, sequence length and generation; B.3)."""

    workers: int = option(1, "rollout processes", validator=ge(1))
    slots: int = option(32, "episodes in flight in each process", validator=ge(1))
    warmup: int = option(16, "episodes dispatched beyond the current update's", validator=ge(0))
    temperature: float = option(1.0, "sampling temperature", validator=gt(0))
    top_p: float = option(1.0, "nucleus threshold (below 1: log-probs over the kept support)", validator=[gt(0), le(1)])
    top_k: int = option(0, "keep the k likeliest tokens; 0 keeps all", validator=ge(0))
    prompt_tokens: int = option(30_720, "prompt limit", validator=ge(16))
    response_tokens: int = option(8_192, "response limit", validator=ge(1))
    observation_tokens: int = option(8_192, "observation limit", validator=ge(8))
    reserve_tokens: int = option(512, "room kept for a checkpoint reminder", validator=ge(0))
    continuation_bytes: int = option(8_192, "limit of .agent_memory/CONTINUATION.md", validator=ge(1))
    actions: int = option(0, "action slots of an episode; 0: the task's own", validator=ge(0))
    reruns: int = option(2, "reruns after an infrastructure fault", validator=ge(0))
    episode_seconds: float = option(3_600.0, "deadline of one episode; past it the worker gives it up", validator=gt(0))


@frozen
class LearnerSettings:
    """How the policy is updated (Table 5, PPO and optimization)."""

    actor_lr: float = option(1e-6, "actor learning rate", validator=ge(0))
    critic_lr: float = option(1e-5, "critic learning rate", validator=ge(0))
    weight_decay: float = option(0.01, "AdamW weight decay", validator=ge(0))
    grad_norm: float = option(1.0, "gradient norm limit", validator=gt(0))
    clip: float = option(0.2, "policy clip; 0: none", validator=ge(0))
    kl: float = option(0.0, "coefficient of the KL penalty against the policy at the start", validator=ge(0))
    value_clip: float = option(0.5, "value clip", validator=gt(0))
    entropy: float = option(0.0, "entropy bonus coefficient", validator=ge(0))
    epochs: int = option(1, "passes over a batch", validator=ge(1))
    minibatch_responses: int = option(510, "responses in an optimiser step (whole segments)", validator=ge(1))
    micro_tokens: int = option(16_384, "tokens of one forward pass, padding included", validator=ge(64))
    no_memory_gradient: bool = option(False, "leave responses that access .agent_memory out of the actor loss")
    importance: str = option(
        "off",
        "correct for sampler and learner disagreeing about what was sampled: weights learner / sampler, truncated at "
        "the limit, or masked (outside 1/limit to limit a token, or response, leaves the loss)",
        validator=in_(("off", "truncated", "masked")),
    )
    importance_limit: float = option(2.0, "limit of those weights", validator=gt(1))
    value_pretraining: int = option(0, "first updates that train the critic only", validator=ge(0))
    critic_updates: int = option(1, "critic steps for each actor step, on the same mini-batch", validator=ge(1))
    gradient_checkpointing: bool = option(False, "recompute activations in the backward pass")
    precision: str = option("fp32", "fp32 or bf16 training", validator=in_(("fp32", "bf16")))
    device: str = option("cpu", "torch device of the learner")
    checkpoint_every: int = option(1, "updates between checkpoints", validator=ge(1))
    keep_checkpoints: int = option(2, "checkpoints kept", validator=ge(1))


@frozen
class EvaluationSettings:
    """The held-out evaluation at the start and the end of a run, at the rollout's temperature."""

    tasks: int = option(256, "held-out tasks per environment; 0: no evaluation", validator=ge(0))
    split: str = option("", "split; empty: the policy's (pocket's held-out one for the embedded policy, else eval)")
    every: int = option(0, "also evaluate each so many updates; 0: only first and last", validator=ge(0))
    first: bool = option(True, "evaluate before the first update")
