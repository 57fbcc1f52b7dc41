"""Chunked linear log-probs against plain log_softmax + gather: time and memory of forward and backward.

    python benchmarks/bench_logprobs.py [--tokens 1024] [--width 256] [--runs 3]

At the vocabulary of Qwen (151,936). Time: CPU time in one thread, interleaved runs in one process, ratio of medians
(target at most 1.5). Memory: each variant in a process of its own, peak resident set above what inputs take (target at
most 1/6); both make the gradient of the output weight, which counts in both.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median

import torch
from torch import Tensor

from camg.learn.logprobs import token_logprobs

TIME_TARGET, MEMORY_TARGET = 1.5, 1 / 6


def plain(hidden: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
    """As it is usually written: a [tokens, vocabulary] tensor of logits and one of log-probs."""
    return torch.log_softmax(hidden @ weight.T, dim=-1).gather(1, targets[:, None]).squeeze(1)


def chunked(hidden: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
    """The learner's own."""
    return token_logprobs(hidden, weight, targets)[0]


VARIANTS: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {"plain": plain, "chunked": chunked}


def inputs(tokens: int, width: int, vocabulary: int) -> tuple[Tensor, Tensor, Tensor]:
    """hidden [N, H], weight [V, H], targets [N]."""
    torch.manual_seed(0)
    hidden = torch.randn(tokens, width, requires_grad=True)
    weight = (torch.randn(vocabulary, width) / width**0.5).requires_grad_()
    return hidden, weight, torch.randint(vocabulary, (tokens,))


def once(name: str, hidden: Tensor, weight: Tensor, targets: Tensor) -> float:
    """CPU seconds of one forward and backward pass."""
    hidden.grad = weight.grad = None
    start = time.process_time()
    VARIANTS[name](hidden, weight, targets).sum().backward()
    return time.process_time() - start


def resident(field: str) -> int:
    """A figure of this process in bytes: ``VmRSS`` now, ``VmHWM`` at its peak."""
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith(field))
    return int(line.split()[1]) * 1024


def peak(name: str, tokens: int, width: int, vocabulary: int) -> int:
    """Bytes by which one pass raises the resident set at its peak. Run in a fresh process."""
    once(name, *inputs(8, width, 64))  # libraries and thread pools
    given = inputs(tokens, width, vocabulary)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak starts anew
    before = resident("VmRSS")
    once(name, *given)
    return resident("VmHWM") - before


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=1024)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--vocabulary", type=int, default=151_936)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--peak-of", choices=VARIANTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    size = (options.tokens, options.width, options.vocabulary)
    if options.peak_of:
        print(peak(options.peak_of, *size))
        return 0

    peaks = {}
    for name in VARIANTS:
        command = [sys.executable, __file__, "--peak-of", name, "--tokens", str(size[0]), "--width", str(size[1])]
        command += ["--vocabulary", str(size[2])]
        peaks[name] = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    given = inputs(*size)
    seconds: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for _ in range(options.runs):
        for name in VARIANTS:
            seconds[name].append(once(name, *given))
    difference = float((plain(*given) - chunked(*given)).detach().abs().max())

    result = {
        "tokens": size[0],
        "width": size[1],
        "vocabulary": size[2],
        "seconds": {name: median(values) for name, values in seconds.items()},
        "peak_mib": {name: value / 2**20 for name, value in peaks.items()},
        "time_ratio": median(seconds["chunked"]) / median(seconds["plain"]),
        "memory_ratio": peaks["chunked"] / peaks["plain"],
        "largest_difference": difference,
    }
    print(json.dumps(result, indent=2))
    return int(result["time_ratio"] > TIME_TARGET or result["memory_ratio"] > MEMORY_TARGET)


if __name__ == "__main__":
    sys.exit(main())
