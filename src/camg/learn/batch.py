"""The learner batch as tensors: one flat table of sampled tokens, and micro-batches that point into it.

Everything that is a property of a sampled token lies in tables [N] in trajectory order (episode, response, token), the
order in which estimators work. Padding, prompts and observations exist only inside the forward pass of a micro-batch;
values, advantages, losses and statistics never see them.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import torch
from attrs import frozen
from torch import Tensor

from camg.learn.packing import Row
from camg.learn.samples import samples, trained_turns, trajectory
from camg.types import Episode, Estimate, Sample, Trajectory, Turn


@frozen(eq=False)
class Batch:
    """N sampled tokens of R responses in S samples. Tensors lie on the learner's device."""

    samples: tuple[Sample, ...]
    trajectories: tuple[Trajectory, ...]  # of the episodes with at least one trained response
    turns: tuple[Turn, ...]  # [R]
    states: tuple[Tensor, ...]  # of each sample: positions of the states before its sampled tokens, int64
    tokens: tuple[Tensor, ...]  # of each sample: the rows of the tables that those tokens have, int64
    behaviour: Tensor  # [N] float32: log-probs of the policy that sampled
    response: Tensor  # [N] int64 in [0, R)
    environment: Tensor  # [N] int64 in [0, len(environments))
    actor: Tensor  # [N] bool: does the token enter the actor's loss and statistics?
    environments: tuple[str, ...]

    def with_values(self, values: Tensor) -> tuple[Trajectory, ...]:
        """The trajectories with the critic's values [N] float32."""
        sizes = [sum(item.lengths) for item in self.trajectories]
        parts = torch.split(values, sizes)
        return tuple(attrs.evolve(item, values=part) for item, part in zip(self.trajectories, parts, strict=True))

    def by_turn(self, values: Tensor) -> dict[int, dict[int, float]]:
        """Episode id -> turn index -> mean over the response's tokens of ``values`` [N]; for replay."""
        sums = torch.zeros(len(self.turns), dtype=torch.float64).index_add_(
            0, self.response.cpu(), values.double().cpu()
        )
        counts = torch.bincount(self.response.cpu(), minlength=len(self.turns)).clamp(min=1)
        owners = (item.episode for item in self.trajectories for _ in item.lengths)
        found: dict[int, dict[int, float]] = {}
        for owner, turn, mean in zip(owners, self.turns, (sums / counts).tolist(), strict=True):
            found.setdefault(owner, {})[turn.index] = mean
        return found


@frozen(eq=False)
class MicroBatch:
    """One forward pass: a rectangle [B, T] and the n sampled tokens in it."""

    ids: Tensor  # [B, T] int64, padding 0
    mask: Tensor  # [B, T] bool, False on padding (always at the end of a row)
    positions: Tensor  # [B, T] int64, restarting at 0 with each segment of a row (and with the padding)
    rows: Tensor  # [n] int64
    columns: Tensor  # [n] int64: the state before the token
    targets: Tensor  # [n] int64: the token itself
    tokens: Tensor  # [n] int64: its row in the tables of the batch


def build(episodes: Sequence[Episode], *, no_memory_gradient: bool = False, device: str = "cpu") -> Batch:
    """Tables and samples of usable episodes. With ``no_memory_gradient``, responses that access the memory are left out
    of the actor's loss and statistics, whole; the critic keeps them (paper B.2). Raises :class:`CorruptState` for an
    inconsistent recording."""
    items = [trajectory(episode) for episode in episodes]
    kept = [(episode, item) for episode, item in zip(episodes, items, strict=True) if item.lengths]
    turns = [turn for episode, _ in kept for turn in trained_turns(episode)]
    parts = [sample for episode, _ in kept for sample in samples(episode)]
    lengths = torch.tensor([len(turn.token_ids) for turn in turns], dtype=torch.int64)
    environments = tuple(sorted({episode.env for episode, _ in kept}))
    owner = [environments.index(episode.env) for episode, item in kept for _ in item.lengths]
    trains = [not (no_memory_gradient and turn.memory_access) for turn in turns]
    states, tokens = _addresses(parts, [episode.id for episode, item in kept for _ in item.lengths], turns)

    def spread(values: Sequence[int] | Sequence[bool], dtype: torch.dtype) -> Tensor:
        return torch.tensor(values, dtype=dtype).repeat_interleave(lengths).to(device)

    return Batch(
        samples=tuple(parts),
        trajectories=tuple(item for _, item in kept),
        turns=tuple(turns),
        states=tuple(states),
        tokens=tuple(tokens),
        behaviour=torch.tensor([value for turn in turns for value in turn.logprobs], dtype=torch.float32).to(device),
        response=spread(range(len(turns)), torch.int64),
        environment=spread(owner, torch.int64),
        actor=spread(trains, torch.bool),
        environments=environments,
    )


def _addresses(
    parts: Sequence[Sample], episodes: Sequence[int], turns: Sequence[Turn]
) -> tuple[list[Tensor], list[Tensor]]:
    """For each sample, where its sampled tokens' states stand, and which rows of the tables they are."""
    starts: dict[tuple[int, int], int] = {}
    size = 0
    for episode, turn in zip(episodes, turns, strict=True):
        starts[episode, turn.index] = size - turn.prompt_length
        size += len(turn.token_ids)
    states, tokens = [], []
    for part in parts:
        places = [place for place, own in enumerate(part.sampled) if own]
        states.append(torch.tensor([place - 1 for place in places]))
        tokens.append(torch.tensor([starts[part.episode, part.turn[place]] + place for place in places]))
    return states, tokens


def collate(batch: Batch, layout: Sequence[Row], *, device: str = "cpu") -> MicroBatch:
    """The rectangle of one micro-batch of :func:`camg.learn.packing.microbatches`."""
    width = max(sum(len(batch.samples[index].token_ids) for index in row) for row in layout)
    ids = torch.zeros(len(layout), width, dtype=torch.int64)
    mask = torch.zeros(len(layout), width, dtype=torch.bool)
    positions = torch.zeros(len(layout), width, dtype=torch.int64)
    rows, columns, tokens = [], [], []
    for number, row in enumerate(layout):
        start = 0
        for index in row:
            content = torch.tensor(batch.samples[index].token_ids)
            stop = start + len(content)
            ids[number, start:stop] = content
            positions[number, start:stop] = torch.arange(len(content))
            rows.append(torch.full_like(batch.states[index], number))
            columns.append(batch.states[index] + start)
            tokens.append(batch.tokens[index])
            start = stop
        mask[number, :start] = True
        positions[number, start:] = torch.arange(width - start)
    where, when = torch.cat(rows), torch.cat(columns)
    return MicroBatch(
        ids=ids.to(device),
        mask=mask.to(device),
        positions=positions.to(device),
        rows=where.to(device),
        columns=when.to(device),
        targets=ids[where, when + 1].to(device),
        tokens=torch.cat(tokens).to(device),
    )


def joined(estimates: Sequence[Estimate], batch: Batch) -> tuple[Tensor, Tensor]:
    """Raw advantages and critic targets [N] float32 of all trajectories; raises ValueError for a wrong shape."""
    expected = [(sum(item.lengths),) for item in batch.trajectories]
    for name in ("advantages", "returns"):
        found = [tuple(getattr(estimate, name).shape) for estimate in estimates]
        if found != expected:
            raise ValueError(f"Expected {name} of the shapes {expected} from the estimator, got {found}.")
    device = batch.behaviour.device
    advantages = torch.cat([estimate.advantages for estimate in estimates]).float().to(device)
    returns = torch.cat([estimate.returns for estimate in estimates]).float().to(device)
    return advantages, returns
