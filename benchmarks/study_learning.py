"""The learning study: pocket Shop over seeds, with and without the gradient of memory actions.

    python benchmarks/study_learning.py --out runs/study [--seeds 0 1 2] [--markdown docs/explanation/learning-study.md]

Each run is the README's command with another seed and nothing else changed. Exits 1 when a target is missed: from at
most 20 % to at least 90 % of held-out episodes with every session right, at most 40 % without memory gradients, each
run within five minutes on two cores. Run it on an otherwise idle machine: wall time is part of the result.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ENV = "shop"
VARIANTS = {"camg-rl": [], "no memory gradient": ["--no-memory-gradient"]}
TARGETS = {"initial": 0.20, "camg-rl": 0.90, "no memory gradient": 0.40, "seconds": 300.0}
COMMAND = ["camg", "run", "--env", ENV, "--memory", "shell", "--estimator", "response-gae"]


def run(seed: int, extra: list[str], folder: Path) -> dict[str, Any]:
    """One run in a process of its own; its summary with wall seconds, evaluations included."""
    began = time.monotonic()
    command = [*COMMAND, "--seed", str(seed), *extra, "--out", str(folder), "--quiet", "--json"]
    program = [sys.executable, "-m", "camg.cli", *command[1:]]
    done = subprocess.run(program, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} exited with {done.returncode}")
    summary = json.loads((folder / "summary.json").read_text())
    (cell,) = summary["cells"].values()
    return {
        "seed": seed,
        "command": " ".join(command[: command.index("--out")]),
        "initial": cell["initial"]["complete"][ENV],
        "final": cell["final"]["complete"][ENV],
        "final_success": cell["final"]["success"][ENV],
        "tasks": cell["final"]["environments"][ENV].get("episodes"),
        "episodes": cell["episodes"],
        "seconds": time.monotonic() - began,
        "curve": [round(point["complete"][ENV], 4) for point in cell["curve"]],
    }


def missed(rows: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Every target that a run misses, in words."""
    faults = []
    for variant, runs in rows.items():
        for result in runs:
            where = f"{variant}, seed {result['seed']}"
            if result["initial"] > TARGETS["initial"]:
                faults.append(f"{where}: starts at {result['initial']:.1%}")
            if variant == "camg-rl" and result["final"] < TARGETS[variant]:
                faults.append(f"{where}: ends at {result['final']:.1%}")
            if variant != "camg-rl" and result["final"] > TARGETS[variant]:
                faults.append(f"{where}: ends at {result['final']:.1%}")
            if result["seconds"] > TARGETS["seconds"]:
                faults.append(f"{where}: took {result['seconds']:.0f} s")
    return faults


def table(rows: dict[str, list[dict[str, Any]]]) -> str:
    """Markdown: before, after, and the training curve by fifths."""
    marks = (0.2, 0.4, 0.6, 0.8, 1.0)
    head = "| method | seed | before | " + " | ".join(f"{mark:.0%} of the run" for mark in marks)
    lines = [head + " | after | wall time |", "|" + "---|" * (len(marks) + 5)]
    for variant, runs in rows.items():
        for result in runs:
            curve, cells = result["curve"], []
            for mark in marks:
                end = max(1, round(mark * len(curve)))
                part = curve[max(0, end - 5) : end]
                cells.append(f"{sum(part) / len(part):.0%}")
            lines.append(
                f"| {variant} | {result['seed']} | {result['initial']:.1%} | "
                + " | ".join(cells)
                + f" | **{result['final']:.1%}** | {result['seconds']:.0f} s |"
            )
    return "\n".join(lines)


def main() -> None:
    """Run the study and print its table; write it where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for the runs")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--markdown", type=Path, help="replace what stands between the study marks of this file")
    options = parser.parse_args()
    rows: dict[str, list[dict[str, Any]]] = {variant: [] for variant in VARIANTS}
    for seed in options.seeds:  # interleaved, so that a slow spell of the machine meets both variants
        for variant, extra in VARIANTS.items():
            folder = options.out / f"{variant.replace(' ', '-')}-{seed}"
            result = run(seed, extra, folder)
            rows[variant].append(result)
            print(f"{variant}, seed {seed}: {result['initial']:.1%} -> {result['final']:.1%}", file=sys.stderr)
    text = table(rows)
    print(text)
    (options.out / "study.json").write_text(
        json.dumps({"cores": os.cpu_count(), "machine": platform.machine(), "rows": rows}, indent=1)
    )
    if options.markdown:
        before, _, rest = options.markdown.read_text().partition("<!-- study -->\n")
        after = rest.partition("<!-- /study -->")[2]
        options.markdown.write_text(f"{before}<!-- study -->\n{text}\n<!-- /study -->{after}")
    if faults := missed(rows):
        sys.exit("targets missed:\n  " + "\n  ".join(faults))


if __name__ == "__main__":
    main()
