"""The learner on a CUDA device does what it does on the CPU (``tox -e gpu``; skipped where there is no device)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

EXAMPLE = Path(__file__).parents[2] / "examples" / "camg-example-env"
CAMG = str(Path(sys.executable).with_name("camg"))


def first_update(folder: Path, model: Path, device: str) -> dict[str, float]:
    """The metrics of the first update of a lock-step run; the episodes are sampled on the CPU either way."""
    options = ["--env", "vault", "--estimator", "leave-one-out", "--policy", "torch", "--sync", "--quiet"]
    options += ["--updates", "1", "--episodes", "16", "--out", str(folder / device.replace(":", "-"))]
    for setting in (
        f"torch.model={model}",
        f"learner.device={device}",
        "rollout.response_tokens=16",
        "rollout.prompt_tokens=4096",
        "evaluation.tasks=0",
    ):
        options += ["--set", setting]
    subprocess.run([CAMG, "run", *options], check=True, env=environment(), timeout=280)
    (metrics,) = (folder / device.replace(":", "-")).glob("cells/*/metrics.jsonl")
    values: dict[str, float] = json.loads(metrics.read_text().splitlines()[0])["metrics"]
    return values


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(EXAMPLE), "CAMG_PLUGINS": "camg_example_env", "OMP_NUM_THREADS": "1"}


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_an_update_on_cuda_equals_one_on_the_cpu(tmp_path: Path) -> None:
    model = tmp_path / "tiny"
    subprocess.run([sys.executable, str(EXAMPLE / "make_tiny_model.py"), str(model)], check=True, env=environment())
    cpu, cuda = (first_update(tmp_path, model, device) for device in ("cpu", "cuda:0"))
    assert cpu["tokens/actor"] == cuda["tokens/actor"] > 0
    assert cuda["return/mean"] == pytest.approx(cpu["return/mean"])
    for name in ("grad/actor", "ratio/mean", "entropy", "advantage/max"):
        assert cuda[name] == pytest.approx(cpu[name], rel=1e-3, abs=1e-5), name
    assert cuda["mismatch/abs_max"] < 1e-3
