"""The learning study: pocket tasks over seeds, with and without the gradient of memory actions.

    python benchmarks/study_learning.py --out runs/study [--env shop] [--seeds 0 1 2] [--markdown FILE]

Each run is `camg run` with another seed and nothing else changed; `--env` repeats and means one joint run. Exits 1 when
a target of :data:`TARGETS` is missed. Run it on two otherwise idle cores: wall time is part of the result.
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

VARIANTS = {"camg-rl": [], "no memory gradient": ["--no-memory-gradient"]}
TARGETS: dict[tuple[str, ...], dict[str, float]] = {
    ("shop",): {"initial": 0.20, "final": 0.90, "control": 0.40, "seconds": 300.0},
    ("coding",): {"initial": 0.30, "final": 0.60, "seconds": 900.0},
}
"""By environments: most before, least after, most without memory gradients, most wall seconds of one run."""


def run(envs: list[str], seed: int, extra: list[str], folder: Path) -> list[dict[str, Any]]:
    """One run in a process of its own; a row for each environment, with wall seconds, evaluations included."""
    began = time.monotonic()
    named = [word for env in envs for word in ("--env", env)]
    command = ["camg", "run", *named, "--memory", "shell", "--estimator", "response-gae", "--seed", str(seed), *extra]
    program = [sys.executable, "-m", "camg.cli", *command[1:], "--out", str(folder), "--quiet", "--json"]
    done = subprocess.run(program, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} exited with {done.returncode}")
    summary = json.loads((folder / "summary.json").read_text())
    (cell,) = summary["cells"].values()
    return [
        {
            "env": env,
            "seed": seed,
            "command": " ".join(command),
            "initial": cell["initial"]["complete"][env],
            "final": cell["final"]["complete"][env],
            "final_success": cell["final"]["success"][env],
            "tasks": cell["final"]["environments"][env].get("episodes"),
            "failures": cell["final"]["environments"][env].get("failures"),
            "episodes": cell["episodes"],
            "seconds": time.monotonic() - began,
            "curve": [round(point["complete"][env], 4) for point in cell["curve"] if env in point["complete"]],
        }
        for env in envs
    ]


def missed(envs: tuple[str, ...], rows: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Every target that a run misses, in words."""
    targets, faults = TARGETS.get(envs, {}), []
    for variant, runs in rows.items():
        for result in runs:
            where, final = f"{variant}, seed {result['seed']}", result["final"]
            if result["initial"] > targets.get("initial", 1.0):
                faults.append(f"{where}: starts at {result['initial']:.1%}")
            least = max(targets.get("final", 0.0), 2 * result["initial"] if targets else 0.0)
            if variant == "camg-rl" and final < least:
                faults.append(f"{where}: ends at {final:.1%}")
            if variant != "camg-rl" and final > targets.get("control", 1.0):
                faults.append(f"{where}: ends at {final:.1%}")
            if result["seconds"] > targets.get("seconds", float("inf")):
                faults.append(f"{where}: took {result['seconds']:.0f} s")
    return faults


def table(rows: dict[str, list[dict[str, Any]]]) -> str:
    """Markdown: before, after, and the training curve by fifths."""
    marks = (0.2, 0.4, 0.6, 0.8, 1.0)
    head = "| method | env | seed | before | " + " | ".join(f"{mark:.0%} of the run" for mark in marks)
    lines = [head + " | after | wall time |", "|" + "---|" * (len(marks) + 6)]
    for variant, runs in rows.items():
        for result in runs:
            curve, cells = result["curve"], []
            for mark in marks:
                end = max(1, round(mark * len(curve)))
                part = curve[max(0, end - 5) : end]
                cells.append(f"{sum(part) / len(part):.0%}")
            lines.append(
                f"| {variant} | {result['env']} | {result['seed']} | {result['initial']:.1%} | "
                + " | ".join(cells)
                + f" | **{result['final']:.1%}** | {result['seconds']:.0f} s |"
            )
    return "\n".join(lines)


def main() -> None:
    """Run the study and print its table; write it where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for the runs")
    parser.add_argument("--env", action="append", dest="envs", help="repeat for a joint run (default: shop)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), choices=list(VARIANTS))
    parser.add_argument("--markdown", type=Path, help="replace what stands between this study's marks in this file")
    options = parser.parse_args()
    envs = options.envs or ["shop"]
    name = "-".join(envs)
    rows: dict[str, list[dict[str, Any]]] = {variant: [] for variant in options.variants}
    for seed in options.seeds:  # interleaved, so that a slow spell of the machine meets all variants
        for variant in options.variants:
            folder = options.out / f"{name}-{variant.replace(' ', '-')}-{seed}"
            for result in run(envs, seed, VARIANTS[variant], folder):
                rows[variant].append(result)
                what = f"{variant}, {result['env']}, seed {seed}"
                print(f"{what}: {result['initial']:.1%} -> {result['final']:.1%}", file=sys.stderr)
    text = table(rows)
    print(text)
    (options.out / f"{name}.json").write_text(
        json.dumps({"cores": os.cpu_count(), "machine": platform.machine(), "rows": rows}, indent=1)
    )
    if options.markdown:
        mark = f"<!-- study {name} -->\n"
        before, _, rest = options.markdown.read_text().partition(mark)
        after = rest.partition("<!-- /study -->")[2]
        options.markdown.write_text(f"{before}{mark}{text}\n<!-- /study -->{after}")
    if faults := missed(tuple(envs), rows):
        sys.exit("targets missed:\n  " + "\n  ".join(faults))


if __name__ == "__main__":
    main()
