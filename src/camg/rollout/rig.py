"""Everything that episodes run on in one process, built once from the config."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
from attrs import frozen

from camg.config import RunConfig, train_split
from camg.episode.components import Components
from camg.episode.loop import run_episode
from camg.errors import UsageError
from camg.plugins import Registry
from camg.protocols import Policy, Sampler, Sandbox, Speaker
from camg.rollout.schedule import Schedule
from camg.types import Dispatch, Episode, Sampling, Task


@frozen
class Rig:
    """The components of one process, by environment."""

    components: Mapping[str, Components]
    sampler: Sampler
    sandbox: Sandbox
    reconciled: int  # what dead workers had left in the sandbox

    def run(
        self, dispatch: Dispatch, *, label: str, speaker: Speaker | None = None, evaluating: bool = False
    ) -> Episode:
        """Run one episode. ``speaker``: opened before, for lock-step. Raises :class:`InfrastructureFault`."""
        parts = attrs.evolve(self.parts(dispatch.env), evaluating=evaluating)
        if speaker is not None:
            parts = attrs.evolve(parts, sampler=Reserved(self.sampler, speaker))
        return run_episode(dispatch, parts, label=f"{label}-{dispatch.id}")

    def open_speaker(self, dispatch: Dispatch) -> Speaker:
        """The speaker that an episode will use. Raises what the environment or the sampler raise."""
        task = self.parts(dispatch.env).environment.task(dispatch.task)
        return self.sampler.open(task, dispatch.seed)

    def parts(self, env: str) -> Components:
        if env not in self.components:
            raise UsageError(f"Expected one of the environments {sorted(self.components)}, got {env!r}.")
        return self.components[env]

    def close(self) -> None:
        self.sampler.close()
        self.sandbox.close()


@frozen
class Reserved:
    """A sampler of one speaker, opened in advance so that the order of opening does not depend on threads."""

    sampler: Sampler
    speaker: Speaker

    @property
    def version(self) -> int:
        return self.sampler.version

    def open(self, task: Task, seed: int) -> Speaker:
        return self.speaker

    def close(self) -> None:
        """The speaker is its episode's to close."""


def build_rig(
    config: RunConfig,
    registry: Registry,
    *,
    sampling: Sampling | None = None,
    weights: Path | None = None,
    lockstep: bool = False,
    policy: Policy | None = None,
) -> Rig:
    """Build the components and start the sampler.

    ``sampling``: default the rollout's. ``weights``: a folder of published versions to follow. ``policy``: one that
    is built already. Raises :class:`PluginError` or :class:`BackendUnavailable` with the reason.
    """

    def build(kind: str, name: str) -> Any:
        return registry.build(kind, name, config.component(kind, name))

    policy = policy or build("policy", config.policy)
    environments = {env: build("environment", env) for env in config.envs}
    memory = build("memory", config.memory)
    sandbox: Sandbox = build("sandbox", config.sandbox)
    reconciled = sandbox.reconcile()
    if (dialect := getattr(memory, "dialect", None)) is not None:
        policy.speak(dialect)
    sampler = policy.sampler(sampling or rollout_sampling(config), weights=weights, lockstep=lockstep)
    components = {
        env: Components(
            environment=environment,
            memory=memory,
            sampler=sampler,
            codec=policy.codec,
            sandbox=sandbox,
            limits=config.limits,
            rollout=config.rollout,
        )
        for env, environment in environments.items()
    }
    return Rig(components, sampler, sandbox, reconciled)


def rollout_sampling(config: RunConfig) -> Sampling:
    """How responses are drawn during training."""
    return Sampling(config.rollout.temperature, config.rollout.top_p, config.rollout.top_k)


def task_ids(config: RunConfig, registry: Registry, splits: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """The tasks of each environment's split. Raises :class:`DataError` for an unknown split."""
    kind = "environment"
    environments = {env: registry.build(kind, env, config.component(kind, env)) for env in splits}
    return {env: tuple(environments[env].task_ids(split)) for env, split in splits.items()}


def training_schedule(config: RunConfig, registry: Registry) -> Schedule:
    """The schedule of a cell: seed, training tasks and the estimator's group size decide it."""
    splits = {env: train_split(config, registry, env) for env in config.envs}
    group_size = config.group_size(registry)
    return Schedule(config.run.seed, task_ids(config, registry, splits), group_size)
