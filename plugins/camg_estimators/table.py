"""The responses of many trajectories as one table, so that an estimator works on all of them at once."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from attrs import frozen
from torch import Tensor

from camg.types import Estimate, Trajectory


@frozen(eq=False)
class Table:
    """R responses of N sampled tokens, trajectory after trajectory."""

    values: Tensor  # [N] float32: V before each token
    rewards: Tensor  # [R] float64
    lengths: Tensor  # [R] int64: tokens of each response
    responses: tuple[int, ...]  # of each trajectory
    tokens: tuple[int, ...]  # of each trajectory

    @classmethod
    def of(cls, trajectories: Sequence[Trajectory]) -> Table:
        """Concatenate; the table lies where the values lie."""
        values = torch.cat([item.values for item in trajectories]) if trajectories else torch.zeros(0)
        rewards = [reward for item in trajectories for reward in item.rewards]
        lengths = [length for item in trajectories for length in item.lengths]
        return cls(
            values=values,
            rewards=torch.tensor(rewards, dtype=torch.float64, device=values.device),
            lengths=torch.tensor(lengths, dtype=torch.int64, device=values.device),
            responses=tuple(len(item.lengths) for item in trajectories),
            tokens=tuple(sum(item.lengths) for item in trajectories),
        )

    def first_values(self) -> Tensor:
        """V of the state before each response's first token [R] float64."""
        return self.values[self.lengths.cumsum(0) - self.lengths].double()

    def spread(self, advantages: Tensor, returns: Tensor) -> list[Estimate]:
        """As :meth:`estimates`, from one advantage and return per response [R]: each token gets its response's."""
        both = torch.stack([advantages, returns]).float().repeat_interleave(self.lengths, dim=1)
        return self.estimates(*both)

    def estimates(self, advantages: Tensor, returns: Tensor) -> list[Estimate]:
        """Advantages and returns [N] as float32 records, one per trajectory."""
        parts = (torch.split(tensor.float(), self.tokens) for tensor in (advantages, returns))
        return [Estimate(advantages=one, returns=two) for one, two in zip(*parts, strict=True)]


def following(values: Tensor, sizes: Sequence[int]) -> Tensor:
    """The value one step later within each sequence [n] -> [n]; 0 after the last."""
    after = torch.zeros_like(values)
    after[:-1] = values[1:]
    ends = torch.tensor([size for size in sizes if size], dtype=torch.int64, device=values.device).cumsum(0) - 1
    after[ends] = 0.0
    return after
