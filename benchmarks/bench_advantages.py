"""Estimators and the advantage pipeline against the usual loop over a padded [B, T] tensor.

    python benchmarks/bench_advantages.py [--runs 5]

The loop is how GAE over tokens is commonly written: from the last column to the first, one vector of B at a time. Runs
are interleaved; milliseconds are medians of CPU time in one thread, which other load on the machine changes little;
``speedup`` is the loop's time over ours. Sizes: 8 x 512, 64 x 1,024 and 256 x 4,096 sampled tokens, in responses of 32.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from statistics import median

import torch
from torch import Tensor

from camg.learn.advantages import pipeline
from camg.types import Trajectory
from camg_estimators.config import GaeConfig, ReturnConfig
from camg_estimators.reinforce import Reinforce
from camg_estimators.response_gae import ResponseGae
from camg_estimators.token_gae import TokenGae

SIZES = ((8, 512), (64, 1024), (256, 4096))
RESPONSE = 32
GAMMA, LAM = 1.0, 0.95


def loop(rewards: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """GAE over tokens, rewards and values [B, T] -> advantages, returns [B, T]."""
    following = after = torch.zeros(len(rewards))
    columns = []
    for step in range(rewards.shape[1] - 1, -1, -1):
        following = rewards[:, step] + GAMMA * after - values[:, step] + GAMMA * LAM * following
        after = values[:, step]
        columns.append(following)
    advantages = torch.stack(columns[::-1], dim=1)
    return advantages, advantages + values


def batch(rows: int, width: int) -> tuple[list[Trajectory], Tensor, Tensor]:
    """The same data as trajectories and as padded tensors."""
    torch.manual_seed(0)
    values, rewards = torch.randn(rows, width), torch.zeros(rows, width)
    rewards[:, RESPONSE - 1 :: RESPONSE] = torch.randn(rows, width // RESPONSE)
    lengths = (RESPONSE,) * (width // RESPONSE)
    items = [
        Trajectory(
            episode=row,
            env="ab"[row % 2],
            group=0,
            rewards=tuple(rewards[row, RESPONSE - 1 :: RESPONSE].tolist()),
            lengths=lengths,
            values=values[row],
        )
        for row in range(rows)
    ]
    return items, rewards, values


def milliseconds(call: Callable[[], object]) -> float:
    """CPU time of one call."""
    start = time.process_time()
    call()
    return 1000 * (time.process_time() - start)


def measure(rows: int, width: int, runs: int) -> dict[str, float]:
    """Median milliseconds of each way, and of the pipeline over the same tokens."""
    items, rewards, values = batch(rows, width)
    token = TokenGae(GaeConfig(gamma=GAMMA, lam=LAM))
    environments = (torch.arange(rows) % 2).repeat_interleave(width)
    mask = torch.ones(rows * width, dtype=torch.bool)
    calls: dict[str, Callable[[], object]] = {
        "loop": lambda: loop(rewards, values),
        "token-gae": lambda: token.estimate(items),
        "response-gae": lambda: ResponseGae(GaeConfig(gamma=GAMMA, lam=LAM)).estimate(items),
        "response-gae of the paper": lambda: ResponseGae(GaeConfig()).estimate(items),
        "reinforce": lambda: Reinforce(ReturnConfig()).estimate(items),
        "pipeline": lambda: pipeline(values.view(-1), environments, mask, count=2),
    }
    mine = torch.stack([estimate.advantages for estimate in token.estimate(items)])
    torch.testing.assert_close(mine, loop(rewards, values)[0], rtol=1e-4, atol=1e-4)
    times: dict[str, list[float]] = {name: [] for name in calls}
    for run in range(runs + 1):
        for name, call in calls.items():
            took = milliseconds(call)
            if run:
                times[name].append(took)
    return {name: median(values) for name, values in times.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    results = {}
    for rows, width in SIZES:
        found = measure(rows, width, options.runs)
        results[f"{rows}x{width}"] = {
            "milliseconds": found,
            "speedup": {name: found["loop"] / value for name, value in found.items() if name != "loop"},
        }
    print(json.dumps(results, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
