"""Shared by the end-to-end tests: a run on the ``corridor`` plugin (tests/e2e/support)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from camg.config import RunConfig, resolve_config
from camg.plugins import Registry, load_registry

SUPPORT = Path(__file__).parent / "support"


@pytest.fixture
def corridor(monkeypatch: pytest.MonkeyPatch) -> Registry:
    """A registry that has the plugin, here and in every child process."""
    monkeypatch.setenv("CAMG_PLUGINS", "corridor")
    monkeypatch.setenv("CAMG_DISABLE_PLUGINS", "shop,policies,sandboxes,reporters,baselines")
    monkeypatch.setenv("PYTHONPATH", str(SUPPORT))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.syspath_prepend(str(SUPPORT))
    return load_registry()


@pytest.fixture
def configure(corridor: Registry) -> Callable[..., RunConfig]:
    """``configure({"run.updates": 3})``: a small run on the corridor."""

    def make(settings: dict[str, Any] | None = None) -> RunConfig:
        values = {
            "env": ["corridor"],
            "policy": "tiny",
            "sandbox": "dummy",
            "run.updates": 4,
            "run.episodes": 6,
            "rollout.slots": 4,
            "rollout.warmup": 3,
            "rollout.prompt_tokens": 2000,
            "rollout.response_tokens": 8,
            "learner.actor_lr": 0.02,
            "learner.critic_lr": 0.02,
            "evaluation.tasks": 5,
        }
        return resolve_config(corridor, command_line=values | (settings or {}), environ={})

    return make
