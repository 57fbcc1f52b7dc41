"""What a component must do. Plain, synchronous, typed; one thread an episode.

Each component is built once per process from its validated config, and opens one object per episode:
``Environment -> Session``, ``Memory -> MemorySession``, ``Policy -> Sampler -> Speaker``, ``Sandbox -> Box``.
Every call that waits has a deadline. Raise :class:`camg.errors.InfrastructureFault` for what the policy did not
cause; everything else that an episode meets is data.

Import the names from here; each module holds one kind of component.
"""

from __future__ import annotations

from camg.protocols.environment import Environment, Session
from camg.protocols.learning import Estimator, Recipe, Reward
from camg.protocols.memory import (
    Announce,
    Continue,
    EpisodeView,
    Habit,
    Kept,
    Memory,
    MemorySession,
    Replace,
    Review,
    Step,
)
from camg.protocols.policy import ChatCodec, Dialect, Policy, Sampler, Script, Speaker
from camg.protocols.reporting import Reporter
from camg.protocols.sandbox import Box, Boxes, Sandbox

__all__ = [
    "Announce",
    "Box",
    "Boxes",
    "ChatCodec",
    "Continue",
    "Dialect",
    "Environment",
    "EpisodeView",
    "Estimator",
    "Habit",
    "Kept",
    "Memory",
    "MemorySession",
    "Policy",
    "Recipe",
    "Replace",
    "Reporter",
    "Review",
    "Reward",
    "Sampler",
    "Sandbox",
    "Script",
    "Session",
    "Speaker",
    "Step",
]
