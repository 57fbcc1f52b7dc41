"""The learner: one update of actor and critic by CAMG-RL (paper B.2, B.3).

Departures from the paper: segments rather than single responses go through the networks (equal loss and gradient), a
mini-batch holds whole segments with at most ``minibatch_responses`` responses, log-ratios are clamped at 20.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import fmean

import torch
from attrs import evolve, frozen
from torch import Tensor

from camg.errors import BackendUnavailable, ConfigError, PluginError
from camg.learn import forward, losses
from camg.learn.advantages import pipeline
from camg.learn.batch import Batch, MicroBatch, build, collate, joined
from camg.learn.clock import Clock
from camg.learn.measure import Trace, health, per_response_sum, workload
from camg.learn.packing import microbatches, minibatches
from camg.learn.reduce import Reduce, alone
from camg.learn.samples import usable
from camg.learn.shaping import shaped
from camg.protocols import Estimator, Reward
from camg.settings import LearnerSettings
from camg.specs import EstimatorSpec
from camg.types import Episode, Sampling, UpdateReport


@frozen(eq=False)
class Goals:
    """What an update steers towards: tables [N] float32 in the order of the batch."""

    advantages: Tensor  # after the pipeline
    returns: Tensor  # critic targets G
    values: Tensor  # V^-, zeros without a critic
    anchor: Tensor  # log-probs that the ratio is taken against: the sampler's, or the learner's with a correction
    weights: Tensor | None  # truncated importance weights of sampler against learner
    reference: Tensor | None  # log-probs of the frozen reference policy


class Learner:
    """Holds actor, critic and their optimisers; :meth:`update` turns episodes into one more version.

    ``actor`` and ``critic`` keep the contract of :mod:`camg.learn.forward`; ``critic`` may be None when
    ``spec.needs_critic`` is False. ``sampling`` is how the episodes were drawn (default: the whole distribution at
    temperature 1): log-probs are taken at its temperature. ``reward`` (called ``reward_name`` in messages): what is
    trained on in place of the environment's own rewards; None: those. Metrics other than ``return/shaped`` and the
    estimator's are of the environment's own.
    ``version`` is that of the weights held now: 0 at first, then the number of updates.
    Raises :class:`ConfigError` for a combination that cannot learn, :class:`BackendUnavailable` for a missing device.
    """

    def __init__(
        self,
        actor: torch.nn.Module,
        critic: torch.nn.Module | None,
        estimator: Estimator,
        *,
        spec: EstimatorSpec,
        settings: LearnerSettings,
        sampling: Sampling | None = None,
        reward: Reward | None = None,
        reward_name: str = "",
        seed: int = 0,
        reduce: Reduce = alone,
    ) -> None:
        sampling = sampling or Sampling()
        _check(spec, settings, sampling, critic)
        self.spec, self.settings, self.seed, self.reduce = spec, settings, seed, reduce
        self.estimator, self.temperature = estimator, sampling.temperature
        self.reward, self.reward_name = reward, reward_name
        self.device, self.bf16 = settings.device, settings.precision == "bf16"
        remat = settings.gradient_checkpointing
        self.actor = forward.prepare(actor, self.device, gradient_checkpointing=remat)
        self.critic = None
        self.reference = copy.deepcopy(self.actor).requires_grad_(False) if settings.kl > 0 else None
        self.actor_optimiser = _adamw(self.actor, settings.actor_lr, settings.weight_decay)
        self.critic_optimiser = None
        if spec.needs_critic and critic is not None:
            self.critic = forward.prepare(critic, self.device, gradient_checkpointing=remat)
            self.critic_optimiser = _adamw(self.critic, settings.critic_lr, settings.weight_decay)
        self.updates = 0
        self.used: set[int] = set()  # ids of every episode that an update was given
        self.credit: dict[int, dict[int, float]] = {}  # of the last update: episode -> turn -> advantage in the loss

    @property
    def version(self) -> int:
        """The version of the weights held now."""
        return self.updates

    def weights(self) -> dict[str, Tensor]:
        """The actor's state dict, to be published as :attr:`version` (:func:`camg.weights.publish`)."""
        return {name: tensor.detach() for name, tensor in self.actor.state_dict().items()}

    # ------------------------------------------------------------ one update
    def update(self, episodes: Sequence[Episode]) -> UpdateReport:
        """Learn from complete episodes, each used once; deterministic in episodes, weights and seed.

        An update without a token to train changes nothing but the counters (``update/empty`` is 1 then). Raises
        :class:`CorruptState` for an inconsistent recording and :class:`ValueError` for an episode given twice.
        """
        clock = Clock()
        with clock("samples"):
            used = self._admit(episodes)
            paid = used if self.reward is None else shaped(used, self.reward, name=self.reward_name)
            batch = build(paid, no_memory_gradient=self.settings.no_memory_gradient, device=self.device)
        with clock("values"):
            values = self._values(batch)
        with clock("advantages"):
            goals = self._goals(batch, values)
            self.credit = batch.by_turn(goals.advantages)
        trace = Trace.of(batch, self.version)
        for epoch in range(self.settings.epochs):
            for members in self._minibatches(batch, epoch):
                if self.updates >= self.settings.value_pretraining:
                    with clock("actor"):
                        self._actor_step(batch, goals, members, trace)
                with clock("critic"):
                    for _ in range(self.settings.critic_updates):
                        self._critic_step(batch, goals, members, trace)
        return self._report(episodes, used, paid, batch, goals, trace, clock)

    def _admit(self, episodes: Sequence[Episode]) -> list[Episode]:
        """Usable episodes; of a group estimator's only those whose group is whole."""
        ids = Counter(episode.id for episode in episodes)
        again = sorted(self.used & ids.keys()) + sorted(number for number, times in ids.items() if times > 1)
        if again:
            raise ValueError(f"Expected each episode in at most one update, got {again[:8]} again.")
        used = usable(episodes)
        if self.spec.group_size > 1:
            sizes = Counter(episode.group for episode in used)
            used = [episode for episode in used if sizes[episode.group] == self.spec.group_size]
        return used

    @torch.no_grad()
    def _values(self, batch: Batch) -> Tensor:
        """V^- [N]: the critic before this update, at the state before each sampled token; 0 without a critic."""
        values = torch.zeros_like(batch.behaviour)
        if self.critic is not None:
            for micro in self._micros(batch, range(len(batch.samples)), self.critic):
                values[micro.tokens] = forward.values(self.critic, micro, bf16=self.bf16)
        return values

    @torch.no_grad()
    def _goals(self, batch: Batch, values: Tensor) -> Goals:
        """Credit assignment, the advantage pipeline, and the policies that the loss compares with."""
        empty = values.new_zeros(0)
        raw, returns = empty, empty
        if batch.trajectories:
            raw, returns = joined(self.estimator.estimate(batch.with_values(values)), batch)
        advantages = torch.where(batch.actor, raw, 0.0)
        if self.spec.pipeline == "paper":
            count = max(1, len(batch.environments))
            advantages = pipeline(raw, batch.environment, batch.actor, count=count, reduce=self.reduce)
        goals = Goals(advantages, returns, values, anchor=batch.behaviour, weights=None, reference=None)
        if self.reference is not None:
            goals = evolve(goals, reference=self._logprobs(batch, self.reference))
        if self.settings.importance != "off":
            goals = self._corrected(goals, batch)
        return goals

    def _corrected(self, goals: Goals, batch: Batch) -> Goals:
        """Take ratios against the learner at the update's start, and weigh each with w = learner / sampler there.

        ``truncated``: min(w, limit). ``masked``: w where 1/limit <= w <= limit, else 0.
        """
        anchor = self._logprobs(batch, self.actor)
        difference = torch.where(batch.actor, anchor - batch.behaviour, 0.0)
        if self.spec.ratio == "turn":
            difference = per_response_sum(difference, batch.response)
        limit = self.settings.importance_limit
        weights = difference.clamp(max=losses.LOG_RATIO_LIMIT).exp()
        if self.settings.importance == "masked":
            weights = torch.where((weights >= 1 / limit) & (weights <= limit), weights, 0.0)
        else:
            weights = weights.clamp(max=limit)
        return evolve(goals, anchor=anchor, weights=weights)

    def _logprobs(self, batch: Batch, network: torch.nn.Module) -> Tensor:
        """Log-probs [N] of a policy at the tokens that the actor trains; 0 elsewhere."""
        out = torch.zeros_like(batch.behaviour)
        for micro in self._micros(batch, range(len(batch.samples)), network):
            keep = batch.actor[micro.tokens]
            out[micro.tokens[keep]], _ = self._forward(network, micro, keep)
        return out

    # ------------------------------------------------------------ optimiser steps
    def _minibatches(self, batch: Batch, epoch: int) -> list[list[int]]:
        responses = [len(set(sample.turn) - {-1}) for sample in batch.samples]
        seed = f"{self.seed}/{self.updates}/{epoch}"
        return minibatches(responses, self.settings.minibatch_responses, seed)

    def _micros(self, batch: Batch, members: Sequence[int], network: torch.nn.Module) -> Iterator[MicroBatch]:
        lengths = [len(sample.token_ids) for sample in batch.samples]
        pack = bool(getattr(network, "pack_safe", False))
        for layout in microbatches(lengths, members, self.settings.micro_tokens, pack=pack):
            yield collate(batch, layout, device=self.device)

    def _forward(self, network: torch.nn.Module, micro: MicroBatch, keep: Tensor) -> tuple[Tensor, Tensor]:
        return forward.logprobs(network, micro, keep, temperature=self.temperature, bf16=self.bf16)

    def _actor_step(self, batch: Batch, goals: Goals, members: Sequence[int], trace: Trace) -> None:
        members = [index for index in members if bool(batch.actor[batch.tokens[index]].any())]
        rows = torch.cat([batch.tokens[index] for index in members]) if members else batch.response.new_zeros(0)
        rows = rows[batch.actor[rows]]
        size = self.reduce(torch.tensor([len(rows), len(torch.unique(batch.response[rows]))])).tolist()
        if size[0] == 0:
            trace.empty += 1
            return
        total = 0.0
        for micro in self._micros(batch, members, self.actor):
            keep = batch.actor[micro.tokens]
            logprobs, entropy = self._forward(self.actor, micro, keep)
            loss = self._actor_loss(batch, goals, micro.tokens[keep], logprobs, entropy, size)
            loss.backward()  # type: ignore[no-untyped-call]
            total += loss.item()
            trace.tokens(batch, micro.tokens[keep], logprobs, entropy)
            trace.forward_tokens += micro.ids.numel()
            trace.padding_tokens += micro.ids.numel() - int(micro.mask.sum())
        trace.fresh = None
        self._step("actor", self.actor, self.actor_optimiser, total, trace)

    def _actor_loss(
        self, batch: Batch, goals: Goals, rows: Tensor, logprobs: Tensor, entropy: Tensor, size: Sequence[int]
    ) -> Tensor:
        """The loss of the tokens ``rows`` [n] of one micro-batch; ``size``: tokens and responses of the mini-batch."""
        mask = torch.ones_like(rows, dtype=torch.bool)
        weights = None if goals.weights is None else goals.weights[rows]
        common = (logprobs, goals.anchor[rows], goals.advantages[rows], mask)
        clip = self.settings.clip
        if self.spec.ratio == "turn":
            owner = batch.response[rows]
            loss = losses.turn_policy_loss(*common, owner, clip=clip, normaliser=size[1], weights=weights)
        else:
            loss = losses.policy_loss(*common, clip=clip, normaliser=size[0], weights=weights)
        if self.settings.entropy > 0:
            coefficient = self.settings.entropy
            loss = loss + losses.entropy_loss(entropy, mask, coefficient=coefficient, normaliser=size[0])
        if goals.reference is not None:
            reference = goals.reference[rows]
            kl = self.settings.kl
            loss = loss + losses.reference_loss(logprobs, reference, mask, coefficient=kl, normaliser=size[0])
        return loss

    def _critic_step(self, batch: Batch, goals: Goals, members: Sequence[int], trace: Trace) -> None:
        if self.critic is None or self.critic_optimiser is None:
            return
        size = int(self.reduce(torch.tensor(sum(len(batch.tokens[index]) for index in members))))
        total = 0.0
        for micro in self._micros(batch, members, self.critic):
            values, rows = forward.values(self.critic, micro, bf16=self.bf16), micro.tokens
            mask = torch.ones_like(rows, dtype=torch.bool)
            old, returns = goals.values[rows], goals.returns[rows]
            loss = losses.value_loss(values, old, returns, mask, clip=self.settings.value_clip, normaliser=size)
            loss.backward()  # type: ignore[no-untyped-call]
            total += loss.item()
        self._step("critic", self.critic, self.critic_optimiser, total, trace)

    def _step(
        self, name: str, network: torch.nn.Module, optimiser: torch.optim.Optimizer, loss: float, trace: Trace
    ) -> None:
        """Clip the gradient and step; a gradient that is not finite is left out and counted."""
        norm = float(torch.nn.utils.clip_grad_norm_(network.parameters(), self.settings.grad_norm))
        if trace.step(name, loss, norm):
            optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    # ------------------------------------------------------------ the report
    def _report(
        self,
        episodes: Sequence[Episode],
        used: Sequence[Episode],
        paid: Sequence[Episode],
        batch: Batch,
        goals: Goals,
        trace: Trace,
        clock: Clock,
    ) -> UpdateReport:
        metrics = workload(episodes, used, batch) | health(
            batch,
            trace,
            advantages=goals.advantages,
            values=goals.values if self.critic is not None else None,
            returns=goals.returns,
            clip=self.settings.clip,
            version=self.version,
            per_turn=self.spec.ratio == "turn",
        )
        if goals.weights is not None and batch.actor.any():
            kept = goals.weights[batch.actor]
            metrics |= {"importance/mean": float(kept.mean()), "importance/masked": float((kept == 0).float().mean())}
        if self.reward is not None and paid:
            metrics["return/shaped"] = fmean(episode.reward for episode in paid)
        metrics["update/empty"] = float(not trace.losses and not trace.overflows)
        self.updates += 1
        self.used.update(episode.id for episode in episodes)
        ids = tuple(episode.id for episode in episodes)
        return UpdateReport(self.updates, self.version, ids, metrics, clock.seconds())


def _adamw(module: torch.nn.Module, rate: float, decay: float) -> torch.optim.AdamW:
    parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
    return torch.optim.AdamW(parameters, lr=rate, weight_decay=decay)


def _check(spec: EstimatorSpec, settings: LearnerSettings, sampling: Sampling, critic: torch.nn.Module | None) -> None:
    """Refuse what cannot learn, before anything is built."""
    if spec.ratio not in ("token", "turn") or spec.pipeline not in ("paper", "none"):
        raise PluginError(
            f"Estimator {spec.name!r}: expected ratio 'token' or 'turn' and pipeline 'paper' or 'none', got "
            f"{spec.ratio!r} and {spec.pipeline!r}."
        )
    if spec.needs_critic and critic is None:
        raise ConfigError(f"Estimator {spec.name!r} needs a critic, but the policy gave none.")
    if sampling.temperature <= 0 or sampling.top_p < 1 or sampling.top_k > 0:
        raise ConfigError(
            f"Training expects samples of the whole distribution (temperature > 0, top_p 1, top_k 0), got {sampling}: "
            "under other weights the kept support is another one, and a ratio has no meaning.",
            hint="Set rollout.top_p to 1 and rollout.top_k to 0 (evaluation may use its own).",
        )
    if torch.device(settings.device).type == "cuda" and not torch.cuda.is_available():
        raise BackendUnavailable(
            f"learner.device is {settings.device!r}, but torch sees no CUDA device.", hint="Run `camg doctor`."
        )
