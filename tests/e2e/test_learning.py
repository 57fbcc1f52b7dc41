"""The README's command learns, and not without the gradient of memory actions. One seed, fewer updates than by default.

The three-seed study with the default budget is `benchmarks/study_learning.py`.
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
COMMAND = ["run", "--env", "shop", "--memory", "shell", "--estimator", "response-gae", "--updates", str(UPDATES)]


def run(folder: Path, *extra: str) -> dict[str, Any]:
    """The summary of the run's only cell."""
    program = [sys.executable, "-m", "camg.cli", *COMMAND, "--out", str(folder), "--quiet", *extra]
    subprocess.run(program, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    (cell,) = json.loads((folder / "summary.json").read_text())["cells"].values()
    assert cell["status"] == "finished"
    assert len(cell["curve"]) == UPDATES
    assert cell["faults"] == 0
    assert cell["final"]["environments"]["shop"]["episodes"] >= 200
    assert cell["policy_warm_start"] is True
    return cell


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_pocket_shop_is_learnt(tmp_path: Path) -> None:
    cell = run(tmp_path / "run")
    assert 0.03 <= cell["initial"]["complete"]["shop"] <= 0.20
    assert cell["final"]["complete"]["shop"] >= 0.80
    assert cell["final"]["success"]["shop"] >= 0.85
    assert cell["curve"][0]["complete"]["shop"] < 0.4 < cell["curve"][-1]["complete"]["shop"]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_it_is_not_learnt_without_the_gradient_of_memory_actions(tmp_path: Path) -> None:
    assert run(tmp_path / "run", "--no-memory-gradient")["final"]["complete"]["shop"] <= 0.40
