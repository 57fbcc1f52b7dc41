"""``camg tasks build coding`` and ``camg tasks check coding``, as a user calls them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from attrs import evolve
from click.testing import CliRunner, Result

from camg.errors import DataError, UsageError
from camg_coding import commands
from camg_coding.build import origins
from camg_coding.build.collection import collection, collections
from camg_coding.build.embedded import projects
from camg_coding.build.packages import Installed
from camg_coding.store import read_set, write_set

FILES = {
    "pair.py": (
        "def first(pair):\n    return pair[0]\n\n\n"
        "def swapped(pair):\n    left, right = pair\n    return right, left\n\n\n"
        "def gap(pair):\n    if pair[1] > pair[0]:\n        return pair[1] - pair[0]\n"
        "    else:\n        return pair[0] - pair[1]\n"
    ),
    "test_pair.py": (
        "from pair import first, gap, swapped\n\n\ndef test_first():\n    assert first((1, 2)) == 1\n\n\n"
        "def test_swapped():\n    assert swapped((1, 2)) == (2, 1)\n\n\ndef test_gap():\n    assert gap((1, 5)) == 4\n"
    ),
}

STRATEGIES = "func_pm_op_change,func_pm_remove_cond"


def call(command: object, *arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments), catch_exceptions=False, standalone_mode=False)  # type: ignore[arg-type]


@pytest.fixture
def project(tmp_path: Path, packages: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A plain folder; what its tests need is copied instead of downloaded."""
    folder = tmp_path / "pair"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    real = origins.repository

    def install(tree: Path, target: Path, *rest: object) -> Installed:
        shutil.copytree(packages, target, dirs_exist_ok=True)
        return Installed()

    monkeypatch.setattr(origins, "repository", lambda *given: evolve(real(*given), install=install))
    return folder


def test_build_and_check(project, tmp_path, sandbox):
    out = tmp_path / "set"
    built = CliRunner().invoke(
        commands.build,
        [
            "--repo",
            str(project),
            "--out",
            str(out),
            "--per-repo",
            "2",
            "--strategies",
            "func_pm_op_change,func_pm_remove_cond",
        ],
        catch_exceptions=False,
    )
    assert built.exit_code == 0
    assert "2 tasks in" in built.stdout
    assert f"--set coding.tasks={out}" in built.stdout
    assert "local__pair" in built.stdout
    assert "running its tests three times" in built.stderr
    tasks = read_set(out)
    assert len(tasks.instances) == 2
    again = call(commands.check, "--tasks", str(out), "--json", "--jobs", "2")
    assert again.exit_code == 0
    assert json.loads(again.stdout) == {"ok": True, "checked": 2, "faults": [], "tasks": str(out)}
    broken = [evolve(one, PASS_TO_PASS=["test_pair.py::test_gone"]) for one in tasks.instances.values()]
    write_set(out, broken, {})
    failed = CliRunner().invoke(commands.check, ["--tasks", str(out), "--limit", "1"], catch_exceptions=False)
    assert failed.exit_code == 1
    assert "test_gone" in failed.stdout
    assert "0 of 1 proven" in failed.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "Expected exactly one of --repo, --sdist, --collection, --rows, got none"),
        (["--sdist", "a==1", "--collection", "small"], "got --sdist and --collection"),
        (["--collection", "small", "--rev", "main"], "--rev goes with --repo, not with --collection"),
        (["--sdist", "a==1", "--sdist", "b==1", "--sha256", "0" * 64], "the digest of one --sdist"),
        (["--sdist", "a==1", "--statements-by", "http://x"], "belong together"),
        (["--rows", "x.jsonl", "--strategies", "combine_file"], "--strategies goes with"),
        (["--sdist", "a==1", "--held-out", "x"], "--held-out goes with --rows"),
    ],
)
def test_options_that_do_not_fit_are_refused(arguments, words):
    with pytest.raises(UsageError, match=words):
        call(commands.build, *arguments)


def test_what_is_not_there_is_named(tmp_path):
    with pytest.raises(DataError, match=r"Expected a collection \(small\), got 'large'"):
        call(commands.build, "--collection", "large", "--out", str(tmp_path / "set"))
    with pytest.raises(DataError, match="Expected a strategy"):
        call(commands.build, "--collection", "small", "--strategies", "nonsense", "--out", str(tmp_path / "set"))
    with pytest.raises(DataError, match=r"it has no set\.json"):
        call(commands.check, "--tasks", str(tmp_path))


def test_rows_are_imported(tmp_path):
    """One row that only an image can run, and one that is malformed."""
    row = {
        "instance_id": "owner__repo.12345678.func_pm_op_swap__abcdefgh",
        "repo": "swesmith/owner__repo.12345678",
        "patch": "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n",
        "FAIL_TO_PASS": ["tests/test_a.py::test_x"],
        "PASS_TO_PASS": ["tests/test_a.py::test_y"],
        "image_name": "registry/owner__repo",
        "problem_statement": "x is wrong.",
    }
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps(row) + "\n" + json.dumps({**row, "instance_id": "other", "FAIL_TO_PASS": []}) + "\n")
    result = CliRunner().invoke(
        commands.build, ["--rows", str(rows), "--out", str(tmp_path / "set"), "--json"], catch_exceptions=False
    )
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert report["tasks"] == 1
    assert "FAIL_TO_PASS" in result.stderr


def test_the_collection_is_pinned():
    assert collections() == ["small"]
    chosen = collection("small")
    assert len(chosen) >= 10
    assert all("==" in origin.label for origin in chosen)
    assert len({origin.identity for origin in chosen}) == len(chosen)


def test_every_embedded_project_is_found():
    assert len(projects()) == 6
