"""Returns of episodes that share a task, as a table of one row per group."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from camg.types import Estimate, Trajectory
from camg_estimators.table import Table


def episode_returns(trajectories: Sequence[Trajectory]) -> tuple[Tensor, Tensor]:
    """The undiscounted return of each episode [E] float64, and which group it belongs to [E] int64, from 0 on."""
    returns = torch.tensor([sum(item.rewards) for item in trajectories], dtype=torch.float64)
    numbers = {group: index for index, group in enumerate(dict.fromkeys(item.group for item in trajectories))}
    return returns, torch.tensor([numbers[item.group] for item in trajectories], dtype=torch.int64)


def group_sum(values: Tensor, group: Tensor) -> Tensor:
    """The sum over each episode's group, at each episode: [E] -> [E]."""
    count = int(group.max()) + 1 if len(group) else 0
    return torch.zeros(count, dtype=values.dtype).index_add(0, group, values)[group]


def spread_over_episodes(trajectories: Sequence[Trajectory], advantages: Tensor, returns: Tensor) -> list[Estimate]:
    """Every sampled token of an episode gets its advantage and return [E]."""
    table = Table.of(trajectories)
    tokens = torch.tensor(table.tokens, dtype=torch.int64, device=table.values.device)
    both = torch.stack([advantages, returns]).to(table.values.device).float().repeat_interleave(tokens, dim=1)
    return table.estimates(*both)
