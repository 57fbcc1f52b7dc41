"""Sweeps from the command line: the grid and what is refused, cells side by side, kills, failures, the comparison."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from camg import supervise
from camg.cli import run_cli

DATA = Path(__file__).parent / "data"
TOY = ["--env", "toy", "--policy", "scripted", "--updates", "0"]
PROCESS = ["--sandbox", "process", "--i-know-this-is-not-isolated"]
DEADLINE = 180.0


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Run in an empty folder, with the plugin of tests/core/data, also in the children of a sweep."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(DATA))
    for name in [name for name in os.environ if name.startswith("CAMG_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("CAMG_PLUGINS", "camg_toy_plugin")
    monkeypatch.setenv("PYTHONPATH", str(DATA))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("COLUMNS", "120")


def camg(capsys, *arguments: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = run_cli(arguments)
    out, err = capsys.readouterr()
    return code, out, err


def grid(capsys, *arguments: str) -> dict:
    code, out, err = camg(capsys, "sweep", *TOY, *PROCESS, *arguments, "--dry-run", "--json")
    assert code == 0, err
    return json.loads(out)


# ---------------------------------------------------------------- the grid
def test_seeds_count_from_zero_beside_those_that_are_named(capsys):
    found = grid(capsys, "--seeds", "3", "--seed", "7", "--seed", "1")
    assert [cell["values"]["run.seed"] for cell in found["cells"].values()] == [0, 1, 2, 7]


def test_equal_cells_are_run_once_and_said_in_one_line(capsys):
    clip = "learner.clip=0.2,0.3,0.2"  # 0.2 is the default: the cell without a change is the first of these
    code, out, err = camg(capsys, "sweep", *TOY, *PROCESS, "--seeds", "2", "--sweep", clip, "--dry-run", "--json")
    assert code == 0
    found = json.loads(out)
    assert [(c["values"]["run.seed"], c["values"]["learner.clip"]) for c in found["cells"].values()] == [
        (0, 0.2),
        (0, 0.3),
        (1, 0.2),
        (1, 0.3),
    ]
    assert len(found["merged"]) == 2
    (line,) = err.splitlines()
    assert line.startswith("camg: 6 combinations are 4 cells")


def test_options_of_components_that_only_some_cells_have(capsys):
    """A baseline brings its memory and estimator; an option of one is no mistake in the cells of the others."""
    code, out, err = camg(
        capsys, "sweep", *PROCESS, "--policy", "scripted", "--updates", "0", "--sweep", "env=shop,toy", "--sweep",
        "toy.size=2,3", "--dry-run", "--json",
    )  # fmt: skip
    assert code == 0, err
    assert [c["values"].get("toy.size") for c in json.loads(out)["cells"].values()] == [None, 2, 3]
    assert "3 combinations" not in err
    assert "equal to one before" in err
    code, _, err = camg(capsys, "sweep", *TOY, *PROCESS, "--seeds", "2", "--set", "shop.sessions=2", "--dry-run")
    assert code == 2
    assert "this run does not use 'shop'" in err


IMPOSSIBLE = ["--env", "toy", "--policy", "scripted", "--policy", "toy-broken", "--sandbox", "toy-absent", *PROCESS]


def test_every_reason_of_every_cell_is_named_before_anything_runs(capsys, tmp_path):
    """Broken component, policy that cannot be trained, sandbox that is not there; each with its cells, in one error."""
    code, out, err = camg(capsys, "sweep", *IMPOSSIBLE, "--seeds", "2", "--updates", "1")
    assert (code, out) == (2, "")
    assert "8 of 8 cells cannot run, so nothing was begun" in err
    assert err.count("cannot be trained") == 1, "a reason is said once, with every cell that it stops"
    assert "(scripted, toy-absent), (scripted, process): This cannot run" in err
    assert "(scripted, toy-absent): The sandbox 'toy-absent' cannot run here: no kernel" in err
    assert "(toy-broken, toy-absent), (toy-broken, process): The policy 'toy-broken'" in err
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_shows_the_grid_and_why_cells_are_impossible(capsys, tmp_path):
    code, out, _ = camg(capsys, "sweep", *IMPOSSIBLE, "--updates", "0", "--seeds", "2", "--dry-run")
    assert code == 4, "the code of the first reason"
    rows = [line.split() for line in out.splitlines()[:9]]
    assert rows[0] == ["cell", "policy", "sandbox", "run.seed"]
    assert [row[0] == "!" for row in rows[1:]] == [True, True, False, False, True, True, True, True]
    assert "6 of 8 cells cannot run:" in out
    code, out, _ = camg(capsys, "sweep", *IMPOSSIBLE, "--updates", "0", "--dry-run", "--json")
    found = json.loads(out)
    assert [cell["axes"]["policy"] for cell in found["impossible"]] == ["scripted", "toy-broken", "toy-broken"]
    assert "no kernel" in found["impossible"][0]["reasons"][0]
    assert list(tmp_path.iterdir()) == []


def test_what_a_baseline_brings_is_shown(capsys):
    baselines = ["--baseline", "camg-rl", "--baseline", "no-memory-gradient"]
    code, out, _ = camg(capsys, "sweep", *TOY, *PROCESS, *baselines, "--dry-run")
    assert code == 0
    assert "no-memory-gradient, beside the first: learner.no_memory_gradient true" in " ".join(out.split())


def test_a_command_line_that_undoes_a_baseline_is_told(capsys):
    """``--updates`` beside ``--baseline frozen`` trains it: precedence is as everywhere, but no one must miss it."""
    both = ["--env", "toy", *PROCESS, "--baseline", "frozen", "--baseline", "camg-rl", "--seeds", "2"]
    code, _, err = camg(capsys, "sweep", *both, "--updates", "3", "--dry-run")
    assert code == 0
    assert err == ("camg: the baseline frozen has run.updates = 0, but the command line says 3, which wins\n")
    assert camg(capsys, "sweep", *both, "--updates", "0", "--dry-run")[2] == ""


# ---------------------------------------------------------------- side by side
def test_cells_side_by_side_and_one_that_fails(capsys, monkeypatch):
    """Two processes; a failed cell stops no other and is N/A; then only it is run again."""
    sweep = ["sweep", *TOY, *PROCESS, "--sweep", "toy.fails=false,true", "--jobs", "2", "--out", "s"]
    monkeypatch.setattr("camg.cli.jobs.LINE_SECONDS", 0.5)
    code, out, err = camg(capsys, *sweep, "--json")
    assert code == 1
    found = json.loads(out)
    assert [cell["status"] for cell in found["cells"].values()] == ["finished", "failed"]
    lines = [line for line in err.splitlines() if "cells done; " not in line]
    assert "0 of 2 cells done; default (" in err, "now and then, where all stand"
    assert "; fails (" in err
    assert sum(line.endswith(": begins") for line in lines) == 2
    assert sum("finished in" in line and "toy 50.0 %" in line for line in lines) == 1
    assert sum("The toys are lost." in line for line in lines) == 1
    assert len(lines) == 5, f"one line for each begin, end and error, nothing else: {err}"
    whole, lacking = found["comparison"]["methods"]
    assert (whole["seeds"], whole["success"]["toy"]["value"]) == (["0"], 0.5)
    assert (lacking["success"]["toy"]["value"], lacking["success"]["toy"]["difference"]) == (None, None)
    assert [reason[:13] for reason in lacking["lacks"]] == ["seed 0 failed"]

    done = next(digest for digest, cell in found["cells"].items() if cell["status"] == "finished")
    before = (Path("s/cells") / done / "summary.json").stat().st_mtime_ns
    code, out, err = camg(capsys, "sweep", "--resume", "--out", "s", "--jobs", "2")
    assert code == 1
    assert err.count("was finished already") == 1
    assert err.count(": begins") == 1
    assert (Path("s/cells") / done / "summary.json").stat().st_mtime_ns == before
    assert any(line.split()[:2] == ["fails", "N/A"] for line in out.splitlines())
    for suffix in ("json", "csv", "png", "svg"):
        assert Path(f"s/comparison.{suffix}").stat().st_size > 100

    code, report, _ = camg(capsys, "report", "s", "--no-figure")
    assert code == 0
    table = out[out.index("Success on held-out") : out.index("N/A: ")]
    assert table in report, "the report of a sweep prints the same table"
    assert json.loads(camg(capsys, "report", "s", "--json", "--no-figure")[1])["comparison"]["reference"] == "default"


def start(*arguments: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "camg.cli", "sweep", *TOY, *PROCESS, *arguments], stderr=subprocess.PIPE, text=True
    )


def wait_for(condition, process: subprocess.Popen) -> None:
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.05)


def finished() -> list[Path]:
    return [path for path in Path("s/cells").glob("*/summary.json") if '"finished"' in path.read_text()]


def running() -> list[int]:
    """Processes of cells in this folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            command = (path / "cmdline").read_bytes().decode(errors="replace")
            here = os.readlink(path / "cwd") == str(Path.cwd())
            state = (path / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if here and "camg.cli.cell" in command and state != "Z":
            found.append(int(path.name))
    return found


@pytest.mark.parametrize(
    ("pause", "times"), [("2", 1), pytest.param("60", 2, marks=pytest.mark.slow)], ids=["drained", "at-once"]
)
def test_ctrl_c_ends_every_cell_and_exits_130(pause, times):
    """Once: what is in flight is awaited. Twice: it is not. What is finished stays, no process does."""
    pauses = f"toy.pause=0.001,{pause}"
    sweep = start("--sync", "--sweep", pauses, "--seeds", "2", "--jobs", "2", "--out", "s")
    try:
        wait_for(lambda: finished() and len(running()) == 2, sweep)
        kept = {path: path.stat().st_mtime_ns for path in finished()}
        for _ in range(times):
            sweep.send_signal(signal.SIGINT)
            time.sleep(0.5)
        assert sweep.wait(DEADLINE if times == 1 else 20) == 130
    finally:
        sweep.kill()
    assert "camg sweep --resume --out s --jobs 2" in sweep.stderr.read()
    summary = json.loads(Path("s/summary.json").read_text())
    assert (summary["status"], len(summary["cells"])) == ("interrupted", 4)
    assert running() == []
    assert all(path.stat().st_mtime_ns == before for path, before in kept.items())


def test_a_killed_sweep_goes_on_with_what_is_missing(capsys):
    """Kill -9: the cells' processes end with the sweep, and a resumed one runs only what had not finished."""
    arguments = ["--sync", "--seeds", "3", "--sweep", "toy.pause=0.2", "--out", "s"]
    sweep = start(*arguments, "--jobs", "2")
    try:
        wait_for(lambda: len(finished()) >= 1, sweep)
        sweep.kill()
        sweep.wait(DEADLINE)
    finally:
        sweep.kill()
    deadline = time.monotonic() + DEADLINE
    while running() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert running() == []
    kept = {path: path.stat().st_mtime_ns for path in finished()}
    code, out, err = camg(capsys, "sweep", *TOY, *PROCESS, *arguments, "--jobs", "2", "--resume", "--json")
    assert code == 0, err
    assert [cell["status"] for cell in json.loads(out)["cells"].values()] == ["finished"] * 3
    assert all(path.stat().st_mtime_ns == before for path, before in kept.items())
    assert err.count("was finished already") == len(kept)
    assert err.count(": begins") == 3 - len(kept)


def test_a_bug_in_a_cell_stops_no_other(capsys, monkeypatch):
    """One after another in this process: what is no handled error keeps its traceback, and the next cell is run."""

    def run_cell(cell, config, registry, *, sync, resume, reporters):
        if config.run.seed == 0:
            raise ZeroDivisionError("a bug")
        return {"status": "finished", "final": {"success": {}, "complete": {}}}

    monkeypatch.setattr(supervise, "run_cell", run_cell)
    code, _, err = camg(capsys, "sweep", *TOY, *PROCESS, "--seeds", "2", "--out", "s", "--quiet")
    assert code == 1
    assert "Traceback" in err
    cells = json.loads(Path("s/summary.json").read_text())["cells"].values()
    assert [(cell["status"], cell.get("error")) for cell in cells] == [
        ("failed", "ZeroDivisionError: a bug"),
        ("finished", None),
    ]


# ---------------------------------------------------------------- with the embedded policy
@pytest.mark.slow
def test_side_by_side_is_the_same_as_one_after_another(capsys):
    """Trained cells in lock-step: the same comparison to the last bit, frozen cells with their only evaluation."""
    tiny = ["--env", "shop", "--episodes", "4", "--set", "evaluation.tasks=4", "--sync", "--seeds", "2"]
    methods = ["--baseline", "camg-rl", "--sweep", "run.updates=1,0"]
    found = []
    for jobs in ("1", "2"):
        code, out, err = camg(
            capsys, "sweep", *tiny, *methods, "--jobs", jobs, "--out", f"j{jobs}", "--quiet", "--json"
        )
        assert code == 0, err
        found.append({**json.loads(out)["comparison"], "files": None})
    assert found[0] == found[1]
    trained, frozen = found[0]["methods"]
    assert (trained["label"], frozen["label"]) == ("updates 1", "updates 0")
    assert frozen["success"]["shop"]["value"] is not None
    assert set(trained["success"]["shop"]["by_seed"]) == {"0", "1"}
