"""What a ``shell_command`` costs: ``true`` through a box, plain bash, and one bubblewrap start per command.

    python benchmarks/bench_shell.py [--rounds 200] [--json]

The three are interleaved, so that other load on the machine meets all alike; medians and their ratios are printed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import time
from collections.abc import Callable

from camg.types import Limits
from camg_sandboxes.bwrap import BwrapConfig, BwrapSandbox, find_bwrap

FRESH = [
    *("--unshare-all", "--die-with-parent", "--new-session", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"),
    *("--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin"),
    *("--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "bash", "-c", "true"),
]


def milliseconds(call: Callable[[], object]) -> float:
    """Wall time of one call."""
    started = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - started)


def measure(rounds: int) -> dict[str, float]:
    """Median milliseconds of each way, after a tenth of the rounds as warm-up."""
    sandbox = BwrapSandbox(BwrapConfig())
    box = sandbox.open("bench", limits=Limits())
    ways: dict[str, Callable[[], object]] = {
        "box": lambda: box.run("true"),
        "bash": lambda: subprocess.run(["bash", "-c", "true"], check=True),
        "bwrap": lambda: subprocess.run([find_bwrap(), *FRESH], check=True),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    try:
        for round_ in range(rounds + rounds // 10):
            for name, call in ways.items():
                took = milliseconds(call)
                if round_ >= rounds // 10:
                    times[name].append(took)
    finally:
        box.close()
        sandbox.close()
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    medians = measure(options.rounds)
    if options.json:
        print(json.dumps(medians))
        return
    print(f"{'way':<34}{'median ms':>10}{'ratio':>8}")
    names = {"bash": "subprocess.run(bash -c true)", "box": "Box.run(true)", "bwrap": "one bubblewrap per command"}
    for name, title in names.items():
        print(f"{title:<34}{medians[name]:>10.2f}{medians[name] / medians['bash']:>8.2f}")


if __name__ == "__main__":
    main()
