"""Whole named methods that the paper's tables compare: components and only the settings that define each.

Learning rates are no part of a method here: a baseline is compared under one set of rates, that of the policy's profile
or the paper's (Table 5). CompactionRL's own (actor 2e-6, critic 3e-6, for a 4B model) are `learner.actor_lr` and
`learner.critic_lr`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from camg import hookimpl
from camg.specs import BaselineSpec

PAPER: Mapping[str, Any] = {"learner.no_memory_gradient": False}
"""What the paper's own method sets apart from its components."""


@hookimpl
def camg_baselines() -> Iterable[BaselineSpec]:
    """Offer the methods by name."""
    yield BaselineSpec(
        name="camg-rl",
        summary="The paper's method: files as memory, response-level credit, every response trained.",
        components={"memory": "shell", "estimator": "response-gae"},
        settings={**PAPER, "shell.continuation_only": "never"},
        table="Table 2",
    )
    yield from _untrained()
    yield from _other_memories()
    yield from _ablations()


def _untrained() -> Iterable[BaselineSpec]:
    yield BaselineSpec(
        name="frozen",
        summary="No training: the policy as it is, with files as memory (zero updates, evaluation only).",
        components={"memory": "shell"},
        settings={"run.updates": 0, "shell.continuation_only": "never"},
        table="Table 2, first row",
    )
    yield BaselineSpec(
        name="frozen-auto-summary",
        summary="No training, and an automatic summary at each context boundary.",
        components={"memory": "auto-summary"},
        settings={"run.updates": 0},
        table="Table 3 (C.2), frozen comparators",
    )
    yield BaselineSpec(
        name="mem0",
        summary="No training, and Mem0: the frozen policy extracts memories at each boundary, the nearest are shown.",
        components={"memory": "mem0"},
        settings={"run.updates": 0},
        table="Table 2, training-free controls",
    )
    yield BaselineSpec(
        name="letta",
        summary="No training, and Letta Code's MemFS: memory files in a git repository, shown from its last commit.",
        components={"memory": "letta"},
        settings={"run.updates": 0},
        table="Table 2, training-free controls",
    )


def _other_memories() -> Iterable[BaselineSpec]:
    yield BaselineSpec(
        name="compaction-rl",
        summary="Learned context compaction under common training: the summary is one response among the others.",
        components={"memory": "compaction", "estimator": "response-gae"},
        settings={**PAPER, "compaction.credit": "common"},
        table="Table 2",
    )
    yield BaselineSpec(
        name="compaction-rl-original",
        summary="CompactionRL with its own credit, twice the critic steps and 50 updates of the critic first.",
        components={"memory": "compaction", "estimator": "compaction"},
        settings={
            **PAPER,
            "compaction.credit": "original",
            "compaction.keep_task": False,
            "learner.critic_updates": 2,
            "learner.value_pretraining": 50,
        },
        table="none: the method's own recipe",
    )
    yield BaselineSpec(
        name="agemem",
        summary="AgeMem's six tools under common training: native reward, response-level credit, its own envelope.",
        components={"memory": "agemem", "estimator": "response-gae"},
        settings=PAPER,  # its own envelope is its default; the embedded policy has learnt it in brackets
        table="Table 2; Table 10 (D.4), first row",
    )
    yield BaselineSpec(
        name="agemem-original",
        summary="AgeMem with its own recipe: three stages, step-wise GRPO over groups of 8, composite reward.",
        components={
            "memory": "agemem",
            "estimator": "stepwise-grpo",
            "reward": "agemem-composite",
            "recipe": "agemem-stages",
        },
        settings={**PAPER, "stepwise-grpo.size": 8, "learner.kl": 0.1, "learner.clip": 0.0},
        table="Table 10 (D.4), second row",
    )
    yield BaselineSpec(
        name="apply-patch",
        summary="As camg-rl, with file modification through one structured tool.",
        components={"memory": "apply-patch", "estimator": "response-gae"},
        settings={**PAPER, "apply-patch.enforce": True},
        table="Table 11 (D.7)",
    )


def _ablations() -> Iterable[BaselineSpec]:
    yield BaselineSpec(
        name="no-memory-gradient",
        summary="Ablation: responses that access .agent_memory leave the actor loss; all else as camg-rl.",
        components={"memory": "shell", "estimator": "response-gae"},
        settings={"learner.no_memory_gradient": True, "shell.continuation_only": "never"},
        table="Figure 4 (6.2)",
    )
    yield BaselineSpec(
        name="token-gae",
        summary="Ablation: advantages per token instead of per response; all else as camg-rl.",
        components={"memory": "shell", "estimator": "token-gae"},
        settings={**PAPER, "shell.continuation_only": "never"},
        table="Table 9 (D.2)",
    )
    yield BaselineSpec(
        name="continuation-only",
        summary="Ablation: the continuation file is the only memory file, in training and evaluation.",
        components={"memory": "shell", "estimator": "response-gae"},
        settings={**PAPER, "shell.continuation_only": "always"},
        table="Figure 4 (6.2)",
    )
    yield BaselineSpec(
        name="continuation-only-eval",
        summary="Trained as camg-rl, evaluated with the continuation file as the only memory file.",
        components={"memory": "shell", "estimator": "response-gae"},
        settings={**PAPER, "shell.continuation_only": "evaluation"},
        table="Figure 4 (6.2)",
    )
