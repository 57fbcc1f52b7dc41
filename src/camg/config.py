"""Settings and where each came from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from camg.settings import EvaluationSettings, LearnerSettings, RolloutSettings, RunSettings
from camg.types import Limits


@frozen(kw_only=True)
class RunConfig:
    """One cell, wholly resolved: components by name, sections, and the config object of each component.

    ``components`` maps a component's name to its validated config object (an instance of its spec's ``config``).
    ``sources`` maps every dotted name to the layer that set it.
    """

    envs: tuple[str, ...]
    memory: str
    estimator: str
    policy: str
    sandbox: str
    baseline: str | None = None
    run: RunSettings = RunSettings()
    rollout: RolloutSettings = RolloutSettings()
    learner: LearnerSettings = LearnerSettings()
    evaluation: EvaluationSettings = EvaluationSettings()
    limits: Limits = Limits()
    components: Mapping[str, Any] = field(factory=dict)
    sources: Mapping[str, str] = field(factory=dict)
