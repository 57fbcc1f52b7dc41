"""What opening a box costs: empty, and over a tree of 40 MB, against copying that tree.

    python benchmarks/bench_workspace.py [--rounds 30] [--files 400]

``workspace`` is the time until the tree stands, writable, under its limits; ``box`` until its first command may run.
Interleaved; medians.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from camg.types import Limits, Workspace
from camg_sandboxes import bwrap

TREE_BYTES = 40_000_000


def build_tree(folder: Path, files: int) -> None:
    """``TREE_BYTES`` of incompressible bytes in ``files`` files, twenty to a folder."""
    for number in range(files):
        path = folder / f"package{number // 20}" / f"module{number}.bin"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(os.urandom(TREE_BYTES // files))


def measure(rounds: int, files: int) -> dict[str, float]:
    """Median milliseconds by name."""
    times: dict[str, list[float]] = defaultdict(list)
    standing = [0.0]
    first_message = bwrap._workspace

    def timed(label: str, control: bwrap.socket.socket) -> tuple[int, tuple[int, int]]:
        answer = first_message(label, control)
        standing[0] = time.perf_counter()
        return answer

    bwrap._workspace = timed
    sandbox = bwrap.BwrapSandbox(bwrap.BwrapConfig())
    with tempfile.TemporaryDirectory() as name:
        tree = Path(name, "tree")
        tree.mkdir()
        build_tree(tree, files)
        sandbox.open("warm", limits=Limits()).close()
        for _ in range(rounds):
            for title, base in (("empty", None), ("over the tree", tree)):
                started = time.perf_counter()
                box = sandbox.open("bench", limits=Limits(), workspace=Workspace(base=base))
                times[f"box, {title}"].append(time.perf_counter() - started)
                times[f"workspace, {title}"].append(standing[0] - started)
                started = time.perf_counter()
                box.close()
                times["close"].append(time.perf_counter() - started)
            started = time.perf_counter()
            shutil.copytree(tree, Path(name, "copy"))
            times["copy of the tree"].append(time.perf_counter() - started)
            shutil.rmtree(Path(name, "copy"))
    sandbox.close()
    return {title: 1000 * statistics.median(values) for title, values in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--files", type=int, default=400)
    options = parser.parse_args()
    print(f"{'what':<28}{'median ms':>10}")
    for title, median in measure(options.rounds, options.files).items():
        print(f"{title:<28}{median:>10.2f}")


if __name__ == "__main__":
    main()
