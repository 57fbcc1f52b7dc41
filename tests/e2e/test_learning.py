"""The README's commands learn, and not without the gradient of memory actions. One seed, fewer updates than by default.

The three-seed studies with the default budget are made by `benchmarks/study_learning.py`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

UPDATES = 60


def run(folder: Path, *envs: str, updates: int = UPDATES, options: tuple[str, ...] = ()) -> dict[str, Any]:
    """The summary of the run's only cell."""
    named = [word for env in envs for word in ("--env", env)]
    command = ["run", *named, "--memory", "shell", "--estimator", "response-gae", "--updates", str(updates), *options]
    program = [sys.executable, "-m", "camg.cli", *command, "--out", str(folder), "--quiet"]
    subprocess.run(program, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    (cell,) = json.loads((folder / "summary.json").read_text())["cells"].values()
    assert cell["status"] == "finished"
    assert len(cell["curve"]) == updates
    assert cell["faults"] == 0
    assert all(cell["final"]["environments"][env]["episodes"] >= 200 for env in envs)
    assert cell["policy_warm_start"] is True
    return cell


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_pocket_shop_is_learnt(tmp_path: Path) -> None:
    cell = run(tmp_path / "run", "shop")
    assert 0.02 <= cell["initial"]["complete"]["shop"] <= 0.20
    assert cell["final"]["complete"]["shop"] >= 0.80
    assert cell["final"]["success"]["shop"] >= 0.85
    assert cell["curve"][0]["complete"]["shop"] < 0.4 < cell["curve"][-1]["complete"]["shop"]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_it_is_not_learnt_without_the_gradient_of_memory_actions(tmp_path: Path) -> None:
    cell = run(tmp_path / "run", "shop", updates=40, options=("--no-memory-gradient",))
    assert cell["final"]["complete"]["shop"] <= 0.40


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_pocket_coding_is_learnt(tmp_path: Path) -> None:
    cell = run(tmp_path / "run", "coding", updates=50)
    first, last = (cell[name]["complete"]["coding"] for name in ("initial", "final"))
    assert 0.01 <= first <= 0.20
    assert last >= max(0.60, 2 * first)
    assert sum(cell["final"]["environments"]["coding"]["failures"].values()) == round(256 * (1 - last))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_one_policy_learns_both(tmp_path: Path) -> None:
    cell = run(tmp_path / "run", "shop", "coding", updates=30)
    for env in ("shop", "coding"):
        first, last = (cell[name]["complete"][env] for name in ("initial", "final"))
        assert last >= first + 0.10, env
