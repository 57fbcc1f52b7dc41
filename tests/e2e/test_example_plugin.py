"""The example distribution installs beside ``camg``, shows in ``camg plugins``, and trains by the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from camg.episode.actions import BRACKET
from camg.errors import DataError
from camg.specs import NoConfig
from camg.testing import check_environment, check_estimator
from camg.types import Action, EndReason, Trajectory
from camg_shell.config import ShellConfig
from camg_shell.memory import ShellMemory

EXAMPLE = Path(__file__).parents[2] / "examples" / "camg-example-env"
CAMG = str(Path(sys.executable).with_name("camg"))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of its own that holds the installed distribution (metadata and all), as a virtual environment would."""
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--no-build-isolation", "--no-index", "--target", str(target), str(EXAMPLE)]
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    return target


def run(installed: Path, *arguments: str, cwd: Path, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """``camg …`` in a process of its own, with the example installed."""
    env = {**os.environ, "PYTHONPATH": str(installed), "OMP_NUM_THREADS": "1"}
    return subprocess.run([CAMG, *arguments], cwd=cwd, env=env, capture_output=True, text=True, timeout=timeout)


def camg_json(installed: Path, *arguments: str, cwd: Path, timeout: float = 120) -> Any:
    done = run(installed, *arguments, "--json", cwd=cwd, timeout=timeout)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def importable(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(installed))


def test_plugins_names_distribution_and_components(installed: Path, tmp_path: Path) -> None:
    text = json.dumps(camg_json(installed, "plugins", cwd=tmp_path))
    for word in ("camg-example-env", "example-env", "vault", "leave-one-out"):
        assert word in text
    without = subprocess.run([CAMG, "plugins", "--json"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert without.returncode == 0
    assert "vault" not in without.stdout


@pytest.mark.usefixtures("importable")
def test_splits_are_disjoint_and_share_their_words() -> None:
    from camg_example_env.config import VaultConfig
    from camg_example_env.vault import Vault, codes

    vault = Vault(VaultConfig())
    train, held_out = set(codes("train")), set(codes("eval"))
    assert len(train) == 240
    assert len(held_out) == 16
    assert not train & held_out
    assert {code.split()[0] for code in train} == {code.split()[0] for code in held_out}
    assert {vault.task(name).payload["code"] for name in vault.task_ids("eval")} == held_out
    with pytest.raises(DataError, match=r"vault\.train\.red-owl"):
        vault.task("vault.train.red-horse")
    with pytest.raises(DataError, match="'train' or 'eval'"):
        vault.task_ids("test")


@pytest.mark.usefixtures("importable")
def test_rewards_of_a_session() -> None:
    from camg_example_env.config import VaultConfig
    from camg_example_env.vault import Vault

    vault = Vault(VaultConfig(days=2))
    session = vault.open(vault.task("vault.train.red-owl"), box=None, boxes=None)  # type: ignore[arg-type]
    assert "red owl" in session.brief()
    first = session.step(Action("open", {"code": "red owl"}))
    assert (first.reward, first.boundary, first.terminated) == (0.5, True, False)
    closed = session.step(Action("open", {"code": "red owl"}))
    assert closed.invalid
    assert closed.reward < 0
    assert "red owl" not in session.cross()
    fault = session.after_action(Action(None, fault="no_action"), closed, None)
    assert fault.reward == closed.reward
    last = session.step(Action("open", {"code": "Red Owl "}))
    assert (last.reward, last.boundary, last.terminated) == (0.5, False, True)
    reward, outcome = session.finish(EndReason.TERMINATED)
    assert (reward, outcome.success, outcome.complete) == (0.0, 1.0, True)


@pytest.mark.usefixtures("importable")
def test_conformance() -> None:
    """The checks for plugin authors, with whole episodes that the oracle solves through its memory file."""
    from camg_example_env.config import VaultConfig
    from camg_example_env.leave_one_out import LeaveOneOut
    from camg_example_env.scripts import oracle
    from camg_example_env.vault import Vault

    check_environment(Vault(VaultConfig(days=4)), oracle=oracle, memory=ShellMemory(ShellConfig()))
    check_estimator(LeaveOneOut(NoConfig()))


@pytest.mark.usefixtures("importable")
def test_leave_one_out_by_hand() -> None:
    from camg_example_env.leave_one_out import LeaveOneOut

    def trajectory(number: int, rewards: tuple[float, ...], lengths: tuple[int, ...]) -> Trajectory:
        return Trajectory(episode=number, env="vault", group=0, rewards=rewards, lengths=lengths, values=None)

    batch = [trajectory(0, (0.5, 0.5), (2, 1)), trajectory(1, (0.5,), (3,)), trajectory(2, (0.0,), (1,))]
    estimates = LeaveOneOut(NoConfig()).estimate(batch)
    # returns 1, 0.5, 0: 1 - (0.5 + 0) / 2 = 0.75; 0.5 - (1 + 0) / 2 = 0; 0 - (1 + 0.5) / 2 = -0.75
    assert [e.advantages.tolist() for e in estimates] == [[0.75] * 3, [0.0] * 3, [-0.75]]
    assert [e.returns.tolist() for e in estimates] == [[1.0] * 3, [0.5] * 3, [0.0]]
    assert LeaveOneOut(NoConfig()).estimate(batch[:1])[0].advantages.tolist() == [1.0] * 3


@pytest.mark.usefixtures("importable")
def test_demonstrations_are_imperfect_and_parse() -> None:
    from camg_example_env.config import VaultConfig
    from camg_example_env.scripts import demonstrator
    from camg_example_env.vault import Vault

    vault = Vault(VaultConfig())
    notes = []
    for seed, name in enumerate(vault.task_ids("train")):
        task = vault.task(name)
        text = demonstrator(task, seed, BRACKET)("Day 1. … The day ends. Save the code and the day to …")
        notes.append(str(task.payload["code"]) in text)
        assert text.startswith("shell_command: ")
    assert 0.1 < sum(notes) / len(notes) < 0.8


@pytest.mark.slow
def test_a_run_of_both_trains_a_model(installed: Path, tmp_path: Path) -> None:
    """Environment, estimator and a tiny model: two updates by the command line, whose gradients come from rewards."""
    env = {**os.environ, "PYTHONPATH": str(installed), "OMP_NUM_THREADS": "1"}
    model = tmp_path / "tiny"
    subprocess.run([sys.executable, str(EXAMPLE / "make_tiny_model.py"), str(model)], check=True, env=env, timeout=120)
    options = ["--env", "vault", "--memory", "shell", "--estimator", "leave-one-out", "--policy", "torch"]
    options += ["--set", f"torch.model={model}", "--updates", "2", "--episodes", "16", "--out", str(tmp_path / "run")]
    options += ["--set", "rollout.response_tokens=16", "--set", "rollout.prompt_tokens=4096"]
    options += ["--set", "evaluation.tasks=4", "--set", "learner.actor_lr=1e-3"]
    summary = camg_json(installed, "run", *options, cwd=tmp_path, timeout=240)
    (cell,) = summary["cells"].values()
    assert cell["updates"] == 2
    assert set(cell["final"]["success"]) == {"vault"}
    (metrics,) = tmp_path.glob("run/cells/*/metrics.jsonl")
    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    assert [line["update"] for line in lines] == [1, 2]
    assert [len(line["episodes"]) for line in lines] == [16, 16]
    # most responses are well-formed, so that what follows from them differs from episode to episode
    assert all(line["metrics"]["responses/invalid"] < 0.9 for line in lines)
    assert sum(line["metrics"]["grad/actor"] for line in lines) > 0
