"""Asynchronous rollout against ``--sync``: episodes per second, as ratios in one run.

Two cases, on the corridor of the tests (tests/e2e/support): episodes that *wait* for a skewed time, as tools and
judges do, and episodes that only burn CPU, where two processes on two cores are all that can be gained. Start-up is
left out: the clock runs from the first update to the last. Usage: ``python benchmarks/bench_async.py [--repeat 3]``.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

SUPPORT = Path(__file__).resolve().parents[1] / "tests" / "e2e" / "support"
CASES: dict[str, dict[str, Any]] = {
    "waiting, skewed": {"corridor.sleep": 0.25, "corridor.skew": 1.5},
    "waiting, all alike": {"corridor.sleep": 0.25},
    "CPU-bound": {"corridor.burn": 0.02},
}


def throughput(settings: dict[str, Any], *, sync: bool) -> float:
    """Episodes per second between the first update and the last."""
    from camg.config import resolve_config
    from camg.plugins import load_registry
    from camg.supervise import run_cell
    from camg.supervise.metrics import read_reports

    registry = load_registry(quiet=True)
    values = {
        "env": ["corridor"],
        "policy": "tiny",
        "sandbox": "dummy",
        "corridor.tasks": 500,
        "run.updates": 14,
        "run.episodes": 16,
        "rollout.slots": 16,
        "rollout.warmup": 16,
        "rollout.prompt_tokens": 2000,
        "rollout.response_tokens": 8,
        "evaluation.tasks": 0,
    }
    config = resolve_config(registry, command_line=values | settings, environ={})
    with tempfile.TemporaryDirectory() as folder:
        run_cell(Path(folder) / "cell", config, registry, sync=sync)
        reports = read_reports(Path(folder) / "cell" / "metrics.jsonl")
    seconds = reports[-1].time["elapsed"] - reports[0].time["elapsed"]
    return sum(len(report.episodes) for report in reports[1:]) / seconds


def main() -> None:
    """Run the cases, interleaved, and print medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    repeat = parser.parse_args().repeat
    os.environ |= {"CAMG_PLUGINS": "corridor", "PYTHONPATH": str(SUPPORT), "OMP_NUM_THREADS": "1"}
    os.environ["CAMG_DISABLE_PLUGINS"] = "shop,policies,sandboxes,reporters,baselines"
    sys.path.insert(0, str(SUPPORT))
    print(f"{'case':<20} {'sync':>10} {'async':>10} {'ratio':>7}   episodes/s, median of {repeat}")
    for name, settings in CASES.items():
        pairs = [(throughput(settings, sync=True), throughput(settings, sync=False)) for _ in range(repeat)]
        sync, asynchronous = (statistics.median(side) for side in zip(*pairs, strict=True))
        ratio = statistics.median(second / first for first, second in pairs)
        print(f"{name:<20} {sync:>10.1f} {asynchronous:>10.1f} {ratio:>6.2f}x", flush=True)


if __name__ == "__main__":
    main()
