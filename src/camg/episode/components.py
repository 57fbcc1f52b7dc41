"""What an episode runs on, and how failures of its parts are translated."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from attrs import frozen

from camg.errors import CamgError, InfrastructureFault
from camg.protocols import ChatCodec, Environment, Memory, Sampler, Sandbox
from camg.settings import RolloutSettings
from camg.types import Limits

T = TypeVar("T")


@frozen(kw_only=True)
class Components:
    """What an episode runs on; shared by all episodes of a process."""

    environment: Environment
    memory: Memory
    sampler: Sampler
    codec: ChatCodec
    sandbox: Sandbox
    limits: Limits
    rollout: RolloutSettings
    evaluating: bool = False  # an episode of an evaluation, no training


def guard(what: str, call: Callable[[], T]) -> T:
    """Plugin authors raise plain Python; whatever escapes a component is an infrastructure fault with its cause."""
    try:
        return call()
    except CamgError:
        raise
    except Exception as error:
        raise InfrastructureFault(f"{what} failed: {type(error).__name__}: {error}") from error
