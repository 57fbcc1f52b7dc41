"""Whole named methods that the paper's tables compare: components and only the settings that define each."""

from __future__ import annotations

from collections.abc import Iterable

from camg import hookimpl
from camg.specs import BaselineSpec


@hookimpl
def camg_baselines() -> Iterable[BaselineSpec]:
    """Offer ``--baseline camg-rl``, ``frozen``, ``no-memory-gradient`` and ``token-gae``."""
    yield BaselineSpec(
        name="camg-rl",
        summary="The paper's method: files as memory, response-level credit, every response trained.",
        components={"memory": "shell", "estimator": "response-gae"},
        settings={"learner.no_memory_gradient": False},
    )
    yield BaselineSpec(
        name="frozen",
        summary="No training: the policy as it is, with files as memory (zero updates, evaluation only).",
        components={"memory": "shell"},
        settings={"run.updates": 0},
    )
    yield BaselineSpec(
        name="no-memory-gradient",
        summary="Ablation: responses that access .agent_memory leave the actor loss; all else as camg-rl.",
        components={"memory": "shell", "estimator": "response-gae"},
        settings={"learner.no_memory_gradient": True},
    )
    yield BaselineSpec(
        name="token-gae",
        summary="Ablation: advantages per token instead of per response (paper D.2); all else as camg-rl.",
        components={"memory": "shell", "estimator": "token-gae"},
        settings={"learner.no_memory_gradient": False},
    )
