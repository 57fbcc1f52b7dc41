"""Everything that episodes run on in one process, built once from the config."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
from attrs import frozen

from camg.config import RunConfig, StagePlan, stage_plan, train_split
from camg.episode.components import Components
from camg.episode.loop import run_episode
from camg.errors import ConfigError, UsageError
from camg.plugins import Registry
from camg.protocols import Memory, Policy, Sampler, Sandbox, Speaker
from camg.rollout.schedule import Schedule
from camg.types import Dispatch, Episode, Sampling, Task


@frozen
class Rig:
    """The components of one process, by environment."""

    components: Mapping[str, Components]  # with the memory of the last stage
    sampler: Sampler
    sandbox: Sandbox
    reconciled: int  # what dead workers had left in the sandbox
    plan: StagePlan
    memories: Sequence[Memory]  # of each stage

    def run(
        self, dispatch: Dispatch, *, label: str, speaker: Speaker | None = None, evaluating: bool = False
    ) -> Episode:
        """Run one episode, in the stage that its id says (an evaluation: in the last one).

        ``speaker``: opened before, for lock-step. Raises :class:`InfrastructureFault`.
        """
        stage = len(self.memories) - 1 if evaluating else self.plan.stage(dispatch.id)
        parts = attrs.evolve(self.parts(dispatch.env), evaluating=evaluating, memory=self.memories[stage])
        if speaker is not None:
            parts = attrs.evolve(parts, sampler=Reserved(self.sampler, speaker))
        episode = run_episode(dispatch, parts, label=f"{label}-{dispatch.id}")
        if len(self.memories) == 1:
            return episode
        return attrs.evolve(episode, meta={**episode.meta, "stage": self.plan.names[stage]})

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
    plan = stage_plan(config, registry)
    memories = [registry.build("memory", config.memory, options) for options in plan.memories]
    dialect = _one_dialect(config, memories)
    sandbox: Sandbox = build("sandbox", config.sandbox)
    reconciled = sandbox.reconcile()
    if dialect is not None:
        policy.speak(dialect)
    sampler = policy.sampler(sampling or rollout_sampling(config), weights=weights, lockstep=lockstep)
    components = {
        env: Components(
            environment=environment,
            memory=memories[-1],
            sampler=sampler,
            codec=policy.codec,
            sandbox=sandbox,
            limits=config.limits,
            rollout=config.rollout,
        )
        for env, environment in environments.items()
    }
    return Rig(components, sampler, sandbox, reconciled, plan, memories)


def _one_dialect(config: RunConfig, memories: Sequence[Memory]) -> Any:
    """The memory's own dialect, or None. Raises :class:`ConfigError` if it changes with the stage: a policy has one."""
    dialects = [getattr(memory, "dialect", None) for memory in memories]
    names = dict.fromkeys("the policy's" if found is None else found.name for found in dialects)
    if len(names) > 1:
        raise ConfigError(
            f"The recipe '{config.recipe}': Expected one dialect of the memory '{config.memory}' in all stages, got "
            f"{' and '.join(names)}."
        )
    return dialects[-1]


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
