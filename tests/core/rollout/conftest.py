"""Shared by the tests of the rollout: a small, whole episode record."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from camg.types import Action, EndReason, Episode, Observation, Outcome, Segment, StopReason, Turn


def _episode(index: int, *, group: int | None = None, env: str = "maze", success: float = 1.0) -> Episode:
    turn = Turn(
        index=0,
        segment=0,
        prompt_length=2,
        token_ids=(7, index % 50),
        logprobs=(-0.5, -0.25),
        stop_reason=StopReason.EOS,
        policy_version=0,
        text=f"response {index}",
        action=Action(tool="go", arguments={"where": "left"}, raw=f"response {index}"),
        observation=Observation(shown="a wall"),
        reward=success,
        terminated=True,
    )
    return Episode(
        id=index,
        task=f"task-{index}",
        env=env,
        split="train",
        seed=index,
        segments=(Segment((1, 2, 7, index % 50), (0,)),),
        turns=(turn,),
        outcome=Outcome(success=success, complete=success == 1.0),
        end_reason=EndReason.TERMINATED,
        group=index if group is None else group,
    )


@pytest.fixture
def make_episode() -> Callable[..., Episode]:
    """``make_episode(id, group=..., env=..., success=...)``."""
    return _episode
