"""The measurements of one update (paper B.3): optimisation health, workload composition. Flat names with ``/``.

Everything here is a function of data and seed; what a clock decides lies in ``UpdateReport.time``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

import torch
from attrs import define, field
from torch import Tensor

from camg.learn.batch import Batch
from camg.types import Episode, StopReason


@define(eq=False)
class Trace:
    """What the optimiser steps of one update leave behind for measurement."""

    logprobs: Tensor  # [N] float32, the last pass; NaN where the actor did not train
    entropy: Tensor  # [N] float32, likewise
    fresh: Tensor | None  # [N] bool: tokens of lag 0, until the first step of the update has been taken
    mismatch: list[Tensor] = field(factory=list)  # learner minus sampler at those tokens, before that step
    losses: dict[str, list[float]] = field(factory=dict)  # per optimiser step, by network
    gradients: dict[str, list[float]] = field(factory=dict)  # norms before clipping, by network
    empty: int = 0  # optimiser steps without a token to train
    overflows: int = 0  # optimiser steps left out since their gradient was not finite
    forward_tokens: int = 0  # of the actor's training passes, padding included
    padding_tokens: int = 0

    @classmethod
    def of(cls, batch: Batch, version: int) -> Trace:
        """An empty trace for a batch that the learner meets at ``version``."""
        nothing = torch.full_like(batch.behaviour, torch.nan)
        return cls(nothing, nothing.clone(), fresh=(lags(batch, version) == 0).to(nothing.device)[batch.response])

    def tokens(self, batch: Batch, indices: Tensor, logprobs: Tensor, entropy: Tensor) -> None:
        """Note what the actor says of tokens ``indices`` [n] in a training pass (tensors [n], detached here)."""
        self.logprobs[indices] = logprobs.detach().float()
        self.entropy[indices] = entropy.detach().float()
        if self.fresh is not None:
            difference = logprobs.detach().float() - batch.behaviour[indices]
            self.mismatch.append(difference[self.fresh[indices]])

    def step(self, network: str, loss: float, norm: float) -> bool:
        """Note an optimiser step; False (and counted as overflow) when its gradient is not finite."""
        if not math.isfinite(norm):
            self.overflows += 1
            return False
        self.losses.setdefault(network, []).append(loss)
        self.gradients.setdefault(network, []).append(norm)
        return True


def workload(given: Sequence[Episode], used: Sequence[Episode], batch: Batch) -> dict[str, float]:
    """What the update was made of. Means over episodes: a long rollout has one vote."""
    metrics = {
        "episodes/given": float(len(given)),
        "episodes/used": float(len(used)),
        "episodes/faulted": float(sum(episode.fault is not None for episode in given)),
        "responses": float(len(batch.turns)),
        "segments": float(len(batch.samples)),
        "tokens/sampled": float(len(batch.behaviour)),
        "tokens/actor": float(batch.actor.sum()),
        "tokens/context": float(sum(len(sample.token_ids) for sample in batch.samples)),
    }
    if used:
        metrics |= {
            "return/mean": fmean(episode.reward for episode in used),
            "episode/turns": fmean(len(episode.turns) for episode in used),
            "episode/segments": fmean(len(episode.segments) for episode in used),
            "episode/replacements": fmean(len(episode.replacements) for episode in used),
        }
    if batch.turns:
        metrics |= {
            "memory/access": fmean(turn.memory_access for turn in batch.turns),
            "responses/invalid": fmean(turn.invalid for turn in batch.turns),
            "responses/truncated": fmean(turn.stop_reason is StopReason.LENGTH for turn in batch.turns),
            "responses/tokens": len(batch.behaviour) / len(batch.turns),
        }
    for env in sorted({episode.env for episode in used}):
        metrics |= _environment(env, [episode for episode in used if episode.env == env], len(used), batch)
    return metrics


def _environment(env: str, mine: Sequence[Episode], total: int, batch: Batch) -> dict[str, float]:
    metrics = {
        f"success/{env}": fmean(episode.outcome.success for episode in mine),
        f"complete/{env}": fmean(episode.outcome.complete for episode in mine),
        f"return/{env}": fmean(episode.reward for episode in mine),
        f"share/episodes/{env}": len(mine) / total,
        f"share/responses/{env}": 0.0,
        f"share/tokens/{env}": 0.0,
    }
    if env in batch.environments:
        lengths = [item.lengths for item in batch.trajectories if item.env == env]
        metrics[f"share/responses/{env}"] = sum(map(len, lengths)) / len(batch.turns)
        metrics[f"share/tokens/{env}"] = sum(map(sum, lengths)) / len(batch.behaviour)
    return metrics


def lags(batch: Batch, version: int) -> Tensor:
    """Version lag of each response [R] int64: the learner's version minus the one that sampled it."""
    return torch.tensor([version - turn.policy_version for turn in batch.turns], dtype=torch.int64)


def health(
    batch: Batch,
    trace: Trace,
    *,
    advantages: Tensor,
    values: Tensor | None,
    returns: Tensor,
    clip: float,
    version: int,
    per_turn: bool,
) -> dict[str, float]:
    """Lag, ratio tails, clip fraction, effective sample size, mismatch, explained variance, losses and gradients."""
    metrics = {
        "steps/empty": float(trace.empty),
        "steps/overflow": float(trace.overflows),
        "tokens/forward": float(trace.forward_tokens),
        "tokens/padding": float(trace.padding_tokens),
        "mismatch/tokens": float(sum(map(len, trace.mismatch))),
    }
    if batch.turns:
        lag = lags(batch, version).float()
        metrics |= {"lag/mean": float(lag.mean()), "lag/max": float(lag.max())}
        metrics["target/mean"] = float(returns.mean())
    if batch.turns and values is not None:
        metrics["explained_variance"] = explained_variance(values, returns)
        metrics["value/mean"] = float(values.mean())
    trained = batch.actor & trace.logprobs.isfinite()
    if trained.any():
        metrics |= ratios(batch, trace, trained, advantages, clip, per_turn=per_turn)
    if metrics["mismatch/tokens"]:
        difference = torch.cat(trace.mismatch).abs()
        metrics |= {"mismatch/abs_mean": float(difference.mean()), "mismatch/abs_max": float(difference.max())}
    for network, found in trace.losses.items():
        metrics[f"loss/{network}"] = fmean(found)
        metrics[f"steps/{network}"] = float(len(found))
    metrics |= {f"grad/{network}": fmean(found) for network, found in trace.gradients.items()}
    return metrics


def ratios(
    batch: Batch, trace: Trace, trained: Tensor, advantages: Tensor, clip: float, *, per_turn: bool
) -> dict[str, float]:
    """Of the ratios current / behaviour in the last pass: one a token, or a response's one at each of its tokens."""
    difference = (trace.logprobs - batch.behaviour)[trained]
    if per_turn:
        difference = per_response_sum(difference, batch.response[trained])
    ratio = difference.double().clamp(-20.0, 20.0).exp()
    gains = advantages[trained]
    clipped = ((gains > 0) & (ratio > 1 + clip)) | ((gains < 0) & (ratio < 1 - clip))
    clipped &= torch.tensor(clip > 0)
    rank = max(1, -(-99 * len(ratio) // 100))
    return {
        "ratio/mean": float(ratio.mean()),
        "ratio/max": float(ratio.max()),
        "ratio/min": float(ratio.min()),
        "ratio/p99": float(ratio.kthvalue(rank).values),
        "ess": float(ratio.sum().square() / (len(ratio) * ratio.square().sum())),
        "clip/fraction": float(clipped.double().mean()),
        "kl/behaviour": float((ratio - 1 - difference.double()).mean()),  # k3 estimate of KL(behaviour || current)
        "entropy": float(trace.entropy[trained].double().mean()),
        "advantage/max": float(gains.abs().max()),
    }


def per_response_sum(values: Tensor, owner: Tensor) -> Tensor:
    """[n] -> [n]: each token gets the sum over the tokens of its response; owner [n] int64."""
    _, index = torch.unique(owner, return_inverse=True)
    sums = torch.zeros(int(index.max()) + 1 if len(index) else 0, dtype=values.dtype, device=values.device)
    return sums.index_add(0, index, values)[index]


def explained_variance(values: Tensor, returns: Tensor) -> float:
    """1 - Var(G - V^-) / Var(G) over sampled tokens; 0 where the targets do not vary."""
    spread = returns.double().var(correction=0)
    if spread <= 1e-12:
        return 0.0
    return float(1.0 - (returns.double() - values.double()).var(correction=0) / spread)
