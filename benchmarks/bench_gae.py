"""GAE over tokens of 256 episodes of 4,096 tokens, beside a loop over every token and verl's function, in one run.

    python benchmarks/bench_gae.py [--runs 5] [--verl FOLDER_OR_WHEEL]

(a) is the recursion token by token in Python, in the two forms that are common: over the elements of tensors, and
over lists of numbers (unpacked before and packed after: tensors in, tensors out, as ours). (b) is the function
``compute_gae_advantage_return`` of ``verl.trainer.ppo.core_algos``, a loop over the columns of padded tensors [B, T],
which also whitens; it is timed with and without that. verl is optional: without it (b) is left out, with a message.
The function alone is taken out of its source, since the module imports the whole framework; its whitening is replaced
by one of the same formula; ``--verl`` names an unpacked package or a wheel.

Runs are interleaved; milliseconds are medians of CPU time in one thread, which other load on the machine changes
little (the loop over tensors takes many seconds, and runs once). All must agree, or the benchmark fails. The exit
status is that of two promises on full episodes: at least 20 times faster than (a) over tensors, and faster than (b).
Over lists (a) is far quicker, and no factor of 20 is to be had; its ratio is printed all the same. Ragged episodes
have 1 to 4,096 tokens.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import json
import random
import sys
import time
import types
import zipfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch import Tensor

from camg.types import Trajectory
from camg_estimators.config import GaeConfig
from camg_estimators.token_gae import TokenGae

ROWS, WIDTH, RESPONSE = 256, 4096, 32
GAMMA, LAM = 1.0, 0.95
SOURCE = "verl/trainer/ppo/core_algos.py"
FUNCTION = "compute_gae_advantage_return"


def over_tensors(rewards: list[Tensor], values: list[Tensor]) -> list[Tensor]:
    """The recursion of GAE over tokens on the elements of tensors [T] -> advantages [T]."""
    found = []
    for row, own in zip(rewards, values, strict=True):
        following = after = torch.zeros(())
        mine = torch.empty_like(row)
        for step in range(len(row) - 1, -1, -1):
            following = row[step] + GAMMA * after - own[step] + GAMMA * LAM * following
            after = own[step]
            mine[step] = following
        found.append(mine)
    return found


def over_lists(rewards: list[Tensor], values: list[Tensor]) -> list[Tensor]:
    """The same in Python numbers: tensors in, tensors out."""
    found = every_token([row.tolist() for row in rewards], [row.tolist() for row in values])
    return [torch.tensor(row) for row in found]


def every_token(rewards: list[list[float]], values: list[list[float]]) -> list[list[float]]:
    """The recursion of GAE over tokens in Python numbers -> advantages."""
    found = []
    for row, own in zip(rewards, values, strict=True):
        following = after = 0.0
        mine = []
        for reward, value in zip(reversed(row), reversed(own), strict=True):
            following = reward + GAMMA * after - value + GAMMA * LAM * following
            after = value
            mine.append(following)
        found.append(mine[::-1])
    return found


def verl_source(place: str | None) -> str | None:
    """The text of verl's module, from a wheel, a folder or the installed package; None where there is none."""
    if place is not None and zipfile.is_zipfile(place):
        return zipfile.ZipFile(place).read(SOURCE).decode()
    if place is not None:
        return (Path(place) / SOURCE).read_text(encoding="utf-8")
    found = importlib.util.find_spec("verl")  # of the top package: imports nothing
    if found is None or not found.submodule_search_locations:
        return None
    return (Path(found.submodule_search_locations[0]).parent / SOURCE).read_text(encoding="utf-8")


def verl_gae(source: str, whiten: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., tuple[Tensor, Tensor]]:
    """verl's function itself, without its registration, with ``whiten`` as the whitening that it calls."""
    (node,) = [n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef) and n.name == FUNCTION]
    node.decorator_list = []
    scope: dict[str, Any] = {"torch": torch, "verl_F": types.SimpleNamespace(masked_whiten=whiten)}
    exec(compile(ast.Module([node], []), SOURCE, "exec"), scope)
    function: Callable[..., tuple[Tensor, Tensor]] = scope[FUNCTION]
    return function


def whitened(values: Tensor, mask: Tensor) -> Tensor:
    """Masked whitening as its formula says: (x - mean) / sqrt(variance + 1e-8), unbiased variance, over the mask."""
    count = mask.sum()
    mean = (values * mask).sum() / count
    variance = ((values - mean).square() * mask).sum() / (count - 1)
    return (values - mean) * torch.rsqrt(variance + 1e-8)


def batch(sizes: list[int]) -> tuple[list[Trajectory], Tensor, Tensor, Tensor]:
    """The same data as trajectories and as padded rewards, values and mask [B, T]; a reward every 32 tokens."""
    torch.manual_seed(0)
    width = max(sizes)
    mask = (torch.arange(width) < torch.tensor(sizes)[:, None]).float()
    values, rewards = torch.randn(len(sizes), width) * mask, torch.zeros(len(sizes), width)
    items = []
    for row, size in enumerate(sizes):
        lengths = [RESPONSE] * (size // RESPONSE) + [size % RESPONSE] * (size % RESPONSE > 0)
        ends = torch.tensor(lengths).cumsum(0) - 1
        rewards[row, ends] = torch.randn(len(ends))
        paid = tuple(rewards[row, ends].tolist())
        items.append(Trajectory(row, "e", 0, paid, tuple(lengths), values[row, :size].clone()))
    return items, rewards, values, mask


def timed(function: Callable[[], Any]) -> float:
    """CPU milliseconds of one call."""
    start = time.process_time()
    function()
    return 1e3 * (time.process_time() - start)


def measure(sizes: list[int], runs: int, source: str | None) -> dict[str, float]:
    """One row: median milliseconds of each, after they have been found to agree."""
    items, rewards, values, mask = batch(sizes)
    estimator = TokenGae(GaeConfig(gamma=GAMMA, lam=LAM))
    paid = [rewards[row, :size].clone() for row, size in enumerate(sizes)]
    seen = [values[row, :size].clone() for row, size in enumerate(sizes)]
    candidates: dict[str, Callable[[], Any]] = {
        "camg": lambda: estimator.estimate(items),
        "loop over lists": lambda: over_lists(paid, seen),
    }
    expected = over_lists(paid, seen)
    start = time.process_time()
    slow = over_tensors(paid, seen)
    once = 1e3 * (time.process_time() - start)  # a run of many seconds: once is enough
    for found, other, row in zip(estimator.estimate(items), slow, expected, strict=True):
        torch.testing.assert_close(found.advantages, row, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(other, row, rtol=1e-3, atol=1e-3)
    if source is not None:
        plain, whole = verl_gae(source, lambda x, mask: x), verl_gae(source, whitened)
        theirs, _ = plain(rewards, values, mask, GAMMA, LAM)
        for row, wanted in enumerate(expected):
            torch.testing.assert_close(theirs[row, : sizes[row]], wanted, rtol=1e-3, atol=1e-3)
        candidates["verl"] = lambda: whole(rewards, values, mask, GAMMA, LAM)
        candidates["verl, no whitening"] = lambda: plain(rewards, values, mask, GAMMA, LAM)
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(runs):
        for name, function in candidates.items():
            times[name].append(timed(function))
    return {name: median(found) for name, found in times.items()} | {"loop over tensors": once}


def main() -> int:
    """Print both rows; 1 if a promise about the full row is not kept."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--verl", metavar="FOLDER_OR_WHEEL", help="where verl lies, if it is not installed")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    source = verl_source(options.verl)
    if source is None:
        print("verl is not installed: left out (--verl names an unpacked package or a wheel).", file=sys.stderr)
    draw = random.Random(0)
    cases = {"full": [WIDTH] * ROWS, "ragged": [draw.randint(1, WIDTH) for _ in range(ROWS)]}
    rows = {name: measure(sizes, options.runs, source) for name, sizes in cases.items()}
    if options.json:
        print(json.dumps(rows, indent=2))
    else:
        for case, row in rows.items():
            for name, found in row.items():
                ratio = f"  {found / row['camg']:8.1f} x ours" if name != "camg" else ""
                print(f"{case:7} {name:20} {found:10.1f} ms{ratio}")
    full = rows["full"]
    kept = full["loop over tensors"] >= 20 * full["camg"] and all(
        found > full["camg"] for name, found in full.items() if "verl" in name
    )
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
