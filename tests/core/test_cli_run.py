"""Runs from the command line: their directory, resuming, evaluation, replay, report."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import attrs
import pytest

from camg import supervise
from camg.cli import run_cli
from camg.cli.execute import lacks_result
from camg.cli.summary import outcome_lines
from camg.config import open_run, resolve_config
from camg.config.rundir import read_manifest
from camg.errors import CamgError, CorruptState, Interrupted, RunDirectoryError
from camg.plugins import load_registry
from camg.report.figures import moving_mean
from camg.report.load import load_runs
from camg.report.replay import render
from camg.report.tables import WARM_START, rows
from camg.supervise.metrics import append_report
from camg.types import (
    Action,
    EndReason,
    Episode,
    FileState,
    Observation,
    Outcome,
    Segment,
    StopReason,
    Turn,
    UpdateReport,
)

DATA = Path(__file__).parent / "data"
TOY = [
    "--env",
    "toy",
    "--policy",
    "scripted",
    "--updates",
    "0",
    "--sandbox",
    "process",
    "--i-know-this-is-not-isolated",
]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Run in an empty folder, with the plugin of tests/core/data, also in the children of a run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(DATA))
    for name in [name for name in os.environ if name.startswith("CAMG_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("CAMG_PLUGINS", "camg_toy_plugin")
    monkeypatch.setenv("PYTHONPATH", str(DATA))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def camg(capsys, *arguments: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = run_cli(arguments)
    out, err = capsys.readouterr()
    return code, out, err


# ---------------------------------------------------------------- one real run, looked at from all sides
def test_a_run_its_evaluation_replay_and_report(capsys, tmp_path):
    code, out, err = camg(capsys, "run", *TOY, "--out", "one")
    assert code == 0, err
    assert "toy: success 50.0 %, wholly solved 50.0 %" in out
    assert "camg report one" in out
    assert "evaluate initial" in err
    manifest = read_manifest(Path("one"))
    (digest,) = manifest["cells"]
    assert manifest["cells"][digest]["sources"]["policy"] == "command line"
    assert any(row["distribution"] == "camg" for row in manifest["plugins"])
    assert manifest["machine"]["python"]
    summary = json.loads(Path("one/summary.json").read_text())
    assert summary["status"] == "finished"
    assert summary["cells"][digest]["final"]["complete"] == {"toy": 0.5}

    code, out, _ = camg(capsys, "run", *TOY, "--out", "one", "--resume", "--json", "--quiet")
    assert code == 0
    assert json.loads(out)["cells"][digest]["final"] == summary["cells"][digest]["final"]
    code, _, err = camg(capsys, "run", *TOY, "--out", "one")
    assert code == 2
    assert "one exists already" in err
    code, _, err = camg(capsys, "run", "--resume", "--out", "one", "--seed", "3")
    assert code == 2
    assert "run.seed is 0 there, 3 here" in err
    code, _, err = camg(capsys, "run", *TOY, "--out", "one/summary.json/two")
    assert code == 4
    assert "Cannot make the run's directory" in err

    code, out, _ = camg(capsys, "replay", "one", "1", "--evaluation", "initial")
    assert code == 0
    for words in ("episode 1: toy.1", "> say[x]", "< well", "not wholly solved: success 0.00"):
        assert words in out
    code, out, _ = camg(capsys, "replay", "one", "0", "--evaluation", "initial", "--prompts")
    assert "Say 0." in out
    code, out, _ = camg(capsys, "replay", "one", "0", "--evaluation", "initial", "--json")
    assert json.loads(out)["task"] == "toy.0"
    damaged = next(Path("one").rglob("00000002.json.gz"))
    damaged.write_bytes(damaged.read_bytes()[:40])
    for number, evaluation, words in (
        ("9", "initial", "Expected one of those that are complete (4 from 0 to 3)"),
        ("0", "other", "Expected one of initial"),
        ("2", "initial", "00000002.json.gz cannot be read"),
    ):
        code, out, err = camg(capsys, "replay", "one", number, "--evaluation", evaluation)
        assert (code in (1, 2), out) == (True, "")
        assert words in err

    code, out, _ = camg(capsys, "eval", "one", "--json", "--quiet", "--tasks", "2")
    assert code == 0
    found = json.loads(out)
    assert (found["temperature"], found["complete"], found["weights"]) == (0.0, {"toy": 0.5}, "untrained")
    assert found["environments"]["toy"]["complete"]["low"] > 0
    assert "wholly solved" in camg(capsys, "eval", "one")[1]

    code, out, _ = camg(capsys, "report", "one")
    assert code == 0
    assert "50.0 %" in out
    assert Path("one/report.png").stat().st_size > 5_000
    assert "<svg" in Path("one/report.svg").read_text()


# ---------------------------------------------------------------- without a real cell
@pytest.fixture
def cells(monkeypatch):
    """Replace the running of a cell; returns what it was asked for. ``cells.outcome(config)`` may raise."""
    asked = []

    def run_cell(cell, config, registry, *, sync, resume, reporters):
        asked.append((cell, config, sync, resume, [type(reporter).__name__ for reporter in reporters]))
        run_cell.outcome(config)
        return {"status": "finished", "updates": config.run.updates, "final": {"success": {}, "complete": {}}}

    run_cell.outcome = lambda config: None
    run_cell.asked = asked
    monkeypatch.setattr(supervise, "run_cell", run_cell)
    return run_cell


def test_the_folder_is_named_by_date_content_and_hash(capsys, cells):
    assert camg(capsys, "run", *TOY)[0] == 0
    (run,) = Path("runs").iterdir()
    (cell, config, sync, resume, reporters) = cells.asked[0]
    assert run.name.endswith(f"-toy-shell-response-gae-scripted-{config.digest()}")
    assert run.name[:2] == "20"
    assert cell == run / "cells" / config.digest()
    assert (sync, resume, reporters) == (False, False, ["PlainProgress"])
    assert camg(capsys, "run", *TOY, "--resume", "--quiet")[0] == 0
    assert cells.asked[1][3:] == (True, [])
    assert camg(capsys, "run", *TOY, "--name", "My First", "--sync")[0] == 0
    assert cells.asked[2][2] is True
    assert any("-my-first-" in path.name for path in Path("runs").iterdir())
    code, _, err = camg(capsys, "run", *TOY, "--resume", "--set", "toy.size=3")
    assert code == 2
    assert "toy.size is 4 there, 3 here" in err


def test_resume_by_folder_needs_no_other_option(capsys, cells):
    camg(capsys, "run", *TOY, "--out", "mine", "--set", "learner.clip=0.3")
    assert camg(capsys, "run", "--resume", "--out", "mine")[0] == 0
    assert cells.asked[1][1] == cells.asked[0][1]


def test_a_changed_configuration_is_named(capsys, cells):
    assert camg(capsys, "run", *TOY, "--out", "one")[0] == 0
    file = next(Path("one").rglob("config.toml"))
    file.write_text(file.read_text().replace("seed = 0", "seed = 5"))
    code, _, err = camg(capsys, "run", "--resume", "--out", "one")
    assert code == 2
    assert f"{file} was changed after the run began" in err


def test_weights_that_are_not_there_are_named(capsys, cells):
    assert camg(capsys, "run", *TOY, "--out", "one")[0] == 0
    folder = next(Path("one").glob("cells/*")) / "weights"
    folder.mkdir()
    for version in (2, 3):
        (folder / f"weights-{version:08d}.safetensors").touch()
    code, _, err = camg(capsys, "eval", "one", "--version", "77")
    assert code == 2
    assert "no weights 77" in err
    assert "one of 2, 3." in err


def test_held_out_episodes_that_could_not_be_run_are_told():
    last = {"success": {"toy": None}, "complete": {"toy": None}, "environments": {"toy": {"faults": 2}}}
    assert "2 held-out episodes could not be run" in outcome_lines({"updates": 0, "final": last})[0]
    assert lacks_result({"final": last}), "the exit code is 1 then, as that of camg eval"
    assert not lacks_result({"final": {"success": {"toy": 0.0}}})
    assert not lacks_result({"final": {"success": {}}})


def test_a_replay_shows_names_of_files_in_one_line():
    said = {"text": "", "action": Action("x"), "observation": Observation("")}
    turn = Turn(0, 0, 0, (), (), StopReason.EOS, 0, **said, manifest_after={"a\n\x1b[2J": FileState("file")})
    episode = Episode(0, "t", "e", "s", 0, (Segment((), ()),), (turn,), Outcome(0.0, False), EndReason.TERMINATED)
    assert all(text.isprintable() for _, text in render(episode))


def test_dry_runs_write_nothing_and_name_sources(capsys, cells, tmp_path):
    code, out, _ = camg(capsys, "run", *TOY, "--dry-run")
    assert code == 0
    assert any(line.split() == ["policy", '"scripted"', "command", "line"] for line in out.splitlines())
    code, out, _ = camg(capsys, "sweep", *TOY, "--sweep", "run.seed=0,1", "--sweep", "toy.size=2,3", "--dry-run")
    assert "4 cells" in out
    code, out, _ = camg(capsys, "sweep", *TOY, "--sweep", "run.seed=0,1", "--dry-run", "--json")
    assert [cell["values"]["run.seed"] for cell in json.loads(out)["cells"].values()] == [0, 1]
    assert cells.asked == []
    assert list(tmp_path.iterdir()) == []


def test_a_sweep_multiplies_and_goes_on_after_a_failure(capsys, cells):
    def outcome(config):
        if config.run.seed == 1:
            raise CamgError("it fell")

    cells.outcome = outcome
    code, _, err = camg(capsys, "sweep", *TOY, "--seed", "0", "--seed", "1", "--sweep", "toy.size=2,3", "--out", "s")
    assert code == 1
    seen = [(config.run.seed, config.component("environment", "toy").size) for _, config, *_ in cells.asked]
    assert seen == [(0, 2), (0, 3), (1, 2), (1, 3)]
    assert err.count("it fell") == 2
    summary = json.loads(Path("s/summary.json").read_text())
    assert [cell["status"] for cell in summary["cells"].values()] == ["finished", "finished", "failed", "failed"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--seed", "0", "--sweep", "run.seed=1"], "gives it already"),
        (["--sweep", "toy.sise=1"], "Did you mean 'toy.size'"),
        (["--estimator", "token-gae", "--sweep", "learner.clip=0.2"], ""),
    ],
)
def test_wrong_sweeps_are_named(capsys, cells, arguments, words):
    code, _, err = camg(capsys, "sweep", *TOY, *arguments, "--dry-run")
    assert code == (2 if words else 0)
    assert words in err


def test_a_single_failure_keeps_its_exit_code_and_is_recorded(capsys, cells):
    def outcome(config):
        raise CorruptState("the queue is torn")

    cells.outcome = outcome
    code, out, err = camg(capsys, "run", *TOY, "--out", "x")
    assert (code, out) == (1, "")
    assert "the queue is torn" in err
    (cell,) = json.loads(Path("x/summary.json").read_text())["cells"].values()
    assert (cell["status"], cell["error"]) == ("failed", "the queue is torn")


def test_an_interruption_exits_130_and_says_how_to_go_on(capsys, cells):
    def outcome(config):
        raise Interrupted("drained")

    cells.outcome = outcome
    code, _, err = camg(capsys, "run", *TOY, "--out", "x")
    assert code == 130
    assert "camg run --resume --out x" in err
    assert json.loads(Path("x/summary.json").read_text())["status"] == "interrupted"


# ---------------------------------------------------------------- the directory itself
@pytest.fixture
def toy():
    registry = load_registry(quiet=True)
    return registry, resolve_config(registry, command_line={"env": ["toy"]}, environ={})


def test_one_process_holds_a_run(toy, tmp_path):
    registry, config = toy
    run = open_run([config], registry, argv=[], out=tmp_path / "r")
    with pytest.raises(RunDirectoryError, match="in use by another process"):
        open_run([config], registry, argv=[], out=tmp_path / "r", resume=True)
    run.close()
    open_run([config], registry, argv=[], out=tmp_path / "r", resume=True).close()


def test_of_many_beginners_one_wins(toy, tmp_path):
    registry, config = toy
    results = []

    def begin():
        try:
            results.append(open_run([config], registry, argv=[], out=tmp_path / "r"))
        except CamgError as problem:
            results.append(problem)

    threads = [threading.Thread(target=begin) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    losers = [result for result in results if isinstance(result, CamgError)]
    assert len(losers) == 7
    assert {type(loser) for loser in losers} == {RunDirectoryError}
    assert [path.name for path in tmp_path.iterdir()] == ["r"]
    assert read_manifest(tmp_path / "r")["cells"].keys() == {config.digest()}


def test_an_empty_folder_may_be_used_and_a_full_one_not(toy, tmp_path):
    registry, config = toy
    (tmp_path / "empty").mkdir()
    open_run([config], registry, argv=[], out=tmp_path / "empty").close()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("precious")
    with pytest.raises(RunDirectoryError, match="exists already"):
        open_run([config], registry, argv=[], out=tmp_path / "full")
    assert (tmp_path / "full" / "thesis.tex").read_text() == "precious"


def test_a_torn_manifest_is_corrupt_and_stays(toy, tmp_path):
    registry, config = toy
    open_run([config], registry, argv=[], out=tmp_path / "r").close()
    file = tmp_path / "r" / "manifest.json"
    file.write_text(file.read_text()[:100])
    with pytest.raises(CorruptState, match=r"manifest\.json"):
        open_run([config], registry, argv=[], out=tmp_path / "r", resume=True)
    assert len(file.read_text()) == 100


# ---------------------------------------------------------------- report
def made_up(registry, out: Path, seed: int, *, policy: str = "pocket", updates: int = 12) -> Path:
    """A run with figures that we know: success climbs from 0.1 by 0.05 with each update."""
    config = resolve_config(registry, command_line={"env": ["toy"], "run.seed": seed, "policy": policy}, environ={})
    run = open_run([config], registry, argv=[], out=out)
    cell = run.cells[config.digest()]
    for update in range(1, updates + 1):
        metrics = {"success/toy": 0.1 + 0.05 * update, "complete/toy": 0.05 * update}
        append_report(cell / "metrics.jsonl", UpdateReport(update, update, (1, 2), metrics, {"elapsed": 10.0 * update}))
    held_out = {"success": {"toy": 0.7}, "complete": {"toy": 0.6}, "update": updates}
    held_out["environments"] = {"toy": {"complete": {"estimate": 0.6, "low": 0.5, "high": 0.7}}}
    first = {"success": {"toy": 0.1}, "complete": {"toy": 0.05}, "update": 0}
    summary = {"status": "finished", "policy_warm_start": policy == "pocket", "initial": first, "final": held_out}
    (cell / "summary.json").write_text(json.dumps({**summary, "evaluations": [first, held_out]}))
    run.close()
    return out


def test_the_table_holds_the_figures(toy, tmp_path, capsys):
    made_up(toy[0], tmp_path / "a", 0)
    (row,) = rows(load_runs([tmp_path / "a"]))
    assert row["training.success"] == pytest.approx(0.1 + 0.05 * 10)
    assert (row["initial.complete"], row["final.complete"]) == (0.05, 0.6)
    assert row["final.complete.interval"] == [0.5, 0.7]
    assert (row["episodes"], row["seconds"], row["policy_warm_start"]) == (24, 120.0, True)
    code, out, _ = camg(capsys, "report", "a")
    assert code == 0
    for words in ("12 updates, 24 episodes, 2 min 00 s", "50.0 % to 70.0 %", WARM_START, "a/report.png"):
        assert words in out
    svg = (tmp_path / "a" / "report.svg").read_text()
    for words in ("toy: wholly solved", "warm-started on imperfect demonstrations", "held-out tasks"):
        assert words in svg


def test_the_same_run_gives_the_same_figure(toy, tmp_path, capsys):
    made_up(toy[0], tmp_path / "a", 0)
    camg(capsys, "report", "a", "--out", "one")
    camg(capsys, "report", "a", "--out", "two")
    assert Path("one.svg").read_bytes() == Path("two.svg").read_bytes()


def test_several_runs_are_told_apart_by_what_differs(toy, tmp_path, capsys):
    paths = [made_up(toy[0], tmp_path / f"s{seed}", seed) for seed in (0, 1)]
    assert [cell.label for cell in load_runs(paths)] == ["seed 0", "seed 1"]
    _, out, _ = camg(capsys, "report", "s0", "s1", "--json", "--out", "both")
    found = json.loads(out)
    assert [row["label"] for row in found["cells"]] == ["seed 0", "seed 1"]
    assert found["figures"] == ["both.png", "both.svg"]
    svg = Path("both.svg").read_text()
    assert "seed 0" in svg
    assert "seed 1" in svg


def test_a_report_shows_what_there_is(toy, tmp_path, capsys):
    run = made_up(toy[0], tmp_path / "a", 0, policy="scripted", updates=3)
    (cell,) = (run / "cells").iterdir()
    with (cell / "metrics.jsonl").open("a") as stream:
        stream.write('{"update": 4, "metr')  # torn by a kill
    (cell / "summary.json").write_text("{")
    code, out, _ = camg(capsys, "report", "a")
    assert code == 0
    assert "3 updates" in out
    assert "(not finished)" in out
    assert WARM_START not in out


def test_the_moving_mean():
    assert moving_mean([1, 2, 3, 4], width=2) == [1, 1.5, 2.5, 3.5]
    assert moving_mean([]) == []


def test_configs_are_frozen(toy):
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        toy[1].memory = "other"


def test_a_replay_shows_a_unified_diff_in_its_colours():
    from camg.report.replay import text_or_diff

    diff = "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n kept\n-old\n+new\x1b[2J"
    assert list(text_or_diff(diff)) == [
        ("title", "   --- a/x.py"),
        ("title", "   +++ b/x.py"),
        ("note", "   @@ -1,2 +1,2 @@"),
        ("plain", "    kept"),
        ("removed", "   -old"),
        ("added", "   +new\\x1b[2J"),
    ]
    assert {style for style, _ in text_or_diff("+ a list\n- of things")} == {"seen"}
