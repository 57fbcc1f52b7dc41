"""The learner with its checkpoints and published weights: what the training loop asks of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import attrs

from camg import weights
from camg.config import RunConfig
from camg.plugins import Registry
from camg.protocols import Policy
from camg.rollout.cell import Cell
from camg.rollout.rig import rollout_sampling
from camg.rollout.store import write_beside
from camg.types import Episode, UpdateReport


class Trainer(Protocol):
    """One policy in training."""

    @property
    def updates(self) -> int:
        """Updates that the weights held now have had."""

    def restore(self) -> Mapping[str, Any]:
        """Take up the latest checkpoint; what :meth:`save` was given with it (empty: none was there).

        Raises :class:`CorruptState` when a newer one is damaged.
        """

    def used(self) -> set[int]:
        """The ids of all episodes in those updates."""

    def update(self, episodes: Sequence[Episode]) -> UpdateReport: ...

    def save(self, extra: Mapping[str, Any]) -> None:
        """Write a checkpoint, whole or not at all."""

    def publish(self) -> None:
        """Give the weights to the samplers, and withdraw any that are newer (of updates that are lost)."""


class LearnerTrainer:
    """The trainer of a run: :class:`camg.learn.learner.Learner`, one torch thread."""

    def __init__(self, cell: Cell, config: RunConfig, registry: Registry, policy: Policy) -> None:
        """Raises :class:`UsageError` when the policy cannot be trained."""
        import torch

        from camg.learn.learner import Learner

        torch.set_num_threads(1)  # a second one beside a busy rollout process waits on barriers (platform: Threads)
        torch.manual_seed(config.run.seed)
        spec = attrs.evolve(registry.spec("estimator", config.estimator), group_size=config.group_size(registry))
        self._cell = cell
        self._keep = config.learner.keep_checkpoints
        self._learner = Learner(
            policy.actor(),
            policy.critic() if spec.needs_critic else None,
            registry.build("estimator", config.estimator, config.component("estimator", config.estimator)),
            spec=spec,
            settings=config.learner,
            sampling=rollout_sampling(config),
            reward=registry.build("reward", config.reward, config.component("reward", config.reward)),
            reward_name=config.reward,
            seed=config.run.seed,
        )

    @property
    def updates(self) -> int:
        return self._learner.updates

    def used(self) -> set[int]:
        return set(self._learner.used)

    def restore(self) -> Mapping[str, Any]:
        from camg.learn import checkpoint

        checkpoint.refuse_torn(self._cell.checkpoints)
        latest = checkpoint.latest(self._cell.checkpoints)
        return {} if latest is None else checkpoint.load(latest, self._learner)

    def update(self, episodes: Sequence[Episode]) -> UpdateReport:
        report = self._learner.update(episodes)
        self._cell.advantages.mkdir(exist_ok=True)
        path = self._cell.advantages / f"{report.update:06d}.json"
        write_beside(path, json.dumps(self._learner.credit).encode())
        return report

    def save(self, extra: Mapping[str, Any]) -> None:
        from camg.learn import checkpoint

        checkpoint.save(self._cell.checkpoints, self._learner, extra=extra, keep=self._keep)

    def publish(self) -> None:
        version = self._learner.version
        weights.withdraw(self._cell.weights, newer_than=version)
        if weights.latest(self._cell.weights) != version:
            weights.publish(self._cell.weights, self._learner.weights(), version)
