"""Imported rows that run here: repositories built at the rows' commits, tasks proven in real boxes, the rest named."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from camg.errors import DataError
from camg_coding.build.packages import Installed, copy_distributions
from camg_coding.build.sources import Source
from camg_coding.importers import import_rows, read_held_out, repository_option
from camg_coding.prepare import public_tree
from camg_coding.splits import split
from camg_coding.store import read_set

DATA = Path(__file__).parent / "data"

KETTLE = {
    "kettle/__init__.py": "",
    "kettle/heat.py": '"""Invented: when does the water boil?"""\n\n\ndef boils(celsius):\n    return celsius >= 100\n',
    "kettle/lid.py": "def closed():\n    return True\n",
    "tests/test_heat.py": "import pytest\n\nfrom kettle.heat import boils\n\n\n"
    "def test_boils_at_a_hundred():\n    assert boils(100)\n\n\n"
    '@pytest.mark.parametrize("celsius", [pytest.param(0, id="ice [0]")])\n'
    "def test_cold(celsius):\n    assert not boils(celsius)\n",
    "tests/test_lid.py": "from kettle.lid import closed\n\n\n"
    "class TestLid:\n    def test_closed(self):\n        assert closed()\n",
}
PANTRY = {
    "src/pantry/__init__.py": "",
    "src/pantry/shelf.py": 'class Shelf:\n    """Invented: jars in a row."""\n\n    def __init__(self, jars):\n'
    "        self.jars = jars\n\n    def first(self):\n        return self.jars[1]\n",
    "tests/test_shelf.py": "from pantry.shelf import Shelf\n\n\ndef test_empty():\n    assert not Shelf([]).jars\n",
}
FIX = """diff --git a/src/pantry/shelf.py b/src/pantry/shelf.py
--- a/src/pantry/shelf.py
+++ b/src/pantry/shelf.py
@@ -7,2 +7,2 @@ class Shelf:
     def first(self):
-        return self.jars[1]
+        return self.jars[0]
"""
TESTS = """diff --git a/tests/test_shelf.py b/tests/test_shelf.py
--- a/tests/test_shelf.py
+++ b/tests/test_shelf.py
@@ -4,2 +4,6 @@ from pantry.shelf import Shelf
 def test_empty():
     assert not Shelf([]).jars
+
+
+def test_first():
+    assert Shelf(["plum", "fig"]).first() == "plum"
"""


def git(folder: Path, *arguments: str) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    command = ["git", *who, "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout.strip()


def commit(folder: Path, files: Mapping[str, str]) -> str:
    """Commit ``files`` in a repository; its id."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    if not (folder / ".git").exists():
        git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "state")
    return git(folder, "rev-parse", "HEAD")


def offline(tree: Path, packages: Path, source: Source, requirements: Sequence[str], say: object) -> Installed:
    """Without pip: pytest comes from the running interpreter."""
    return Installed(requirements=copy_distributions(["pytest", *requirements], packages))


def smith_rows(commit: str) -> list[dict[str, Any]]:
    text = (DATA / "swe_smith_rows.jsonl").read_text().replace("0a1b2c3d", commit[:8])
    rows = [json.loads(line) for line in text.splitlines()]
    rows[1]["base_commit"] = commit  # whole, where the others have it in short, in their names
    return rows


@pytest.fixture
def kettle(tmp_path: Path) -> tuple[Path, str]:
    """The repository of the SWE-smith rows, which has moved on since: rows must be built at their own commit."""
    folder = tmp_path / "kettle"
    wanted = commit(folder, KETTLE)
    commit(folder, {"kettle/heat.py": "def boils(kelvin):\n    return kelvin > 373\n"})
    return folder, wanted


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def write(*rows: Any, name: str = "rows.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return write


@pytest.mark.slow
def test_smith_rows_are_built_at_their_commit_and_proven(
    kettle: tuple[Path, str], write: Callable[..., Path], tmp_path: Path
) -> None:
    folder, wanted = kettle
    good, inverted, _ = smith_rows(wanted)
    harmless = {
        **good,
        "instance_id": good["instance_id"].replace("q3w4", "aaaa"),
        "patch": good["patch"].replace("+    return celsius > 100", "+    return 100 <= celsius"),
    }
    elsewhere = {
        **good,
        "instance_id": good["instance_id"].replace("q3w4", "bbbb"),
        "patch": good["patch"].replace("celsius >= 100", "celsius == 100"),
    }
    renamed = {
        **good,
        "instance_id": good["instance_id"].replace("q3w4", "cccc"),
        "PASS_TO_PASS": ["tests/test_lid.py::TestLid::test_gone"],
    }
    hangs = {
        **good,
        "instance_id": good["instance_id"].replace("q3w4", "dddd"),
        "patch": good["patch"].replace("+    return celsius > 100", "+    __import__('os')._exit(0)"),
    }
    said: list[str] = []
    out = tmp_path / "set"
    path = write(good, inverted, harmless, elsewhere, renamed, hangs)
    done = import_rows(
        path, out, repositories={"TeaHouse/Kettle.git": folder}, say=said.append, install=offline, jobs=2
    )
    assert [instance.instance_id for instance in done.instances] == [good["instance_id"], inverted["instance_id"]]
    assert [(fault.row, fault.reason) for fault in done.rejected] == [
        (3, "a FAIL_TO_PASS test passes without the repair"),
        (4, "patch does not apply"),
        (5, "a listed test does not pass with the repair"),
        (6, "the suite does not end without the repair"),
    ]
    assert "test_gone" in done.rejected[2].detail
    assert list(done.counts.items())[:4] == [("rows", 6), ("tasks", 2), ("proven here", 2), ("to run by image", 0)]
    # what the environment reads
    tasks = read_set(out)
    assert list(tasks.instances) == [good["instance_id"], inverted["instance_id"]]
    [profile] = tasks.profiles.values()
    assert profile.key == f"teahouse__kettle.{wanted[:8]}"
    assert tasks.about["yield"] == done.counts
    assert {path.name for path in (out / "prepared").iterdir()} == set(tasks.instances)
    tree = public_tree(tasks, tasks.instances[good["instance_id"]], git=False)
    assert "celsius > 100" in (tree / "kettle/heat.py").read_text()
    assert not (tree / "tests/test_heat.py").exists()  # hidden: it holds a test that must fail
    assert len(split(tasks, 0, 0.25)["train"]) == 2
    named = [json.loads(line) for line in (out / "rejected.jsonl").read_text().splitlines()]
    assert [fault["instance_id"] for fault in named] == [fault.instance_id for fault in done.rejected]


@pytest.mark.slow
def test_bench_rows_get_a_tree_for_each_commit(write: Callable[..., Path], tmp_path: Path) -> None:
    folder = tmp_path / "pantry"
    first = commit(folder, PANTRY)
    second = commit(folder, {"README": "moved on"})
    base = json.loads((DATA / "swe_bench_rows.json").read_text())[0]
    row = {**base, "base_commit": first, "patch": FIX, "test_patch": TESTS}
    later = {**row, "instance_id": "larder__pantry-42", "base_commit": second}
    done = import_rows(
        write(row, later), tmp_path / "set", repositories={"larder/pantry": folder}, install=offline, jobs=2
    )
    assert [instance.profile for instance in done.instances] == [
        f"larder__pantry.{first[:8]}",
        f"larder__pantry.{second[:8]}",
    ]
    assert not done.rejected
    tasks = read_set(tmp_path / "set")
    tree = public_tree(tasks, done.instances[0], git=False)
    assert "jars[1]" in (tree / "src/pantry/shelf.py").read_text()
    assert "test_first" not in (tree / "tests/test_shelf.py").read_text()


def test_a_repository_that_cannot_be_built_leaves_its_rows_to_their_image(
    kettle: tuple[Path, str], write: Callable[..., Path], tmp_path: Path
) -> None:
    good, other, _ = smith_rows("00112233")  # a commit that the checkout does not have
    said: list[str] = []
    done = import_rows(
        write(good, {**other, "image_name": ""}, {**good, "instance_id": other["instance_id"] + "x", "image_name": ""}),
        tmp_path / "set",
        format="swe-smith",
        repositories={"teahouse/kettle": kettle[0]},
        say=said.append,
        install=offline,
    )
    assert [instance.profile for instance in done.instances] == [""]
    assert done.counts["to run by image"] == 1
    assert {fault.reason for fault in done.rejected} == {"not executable"}
    assert "00112233" in done.rejected[0].detail
    assert any("cannot be built" in line for line in said)


# ---------------------------------------------------------------- without a repository
def test_rows_wait_for_their_image_or_are_not_executable(write: Callable[..., Path], tmp_path: Path) -> None:
    good, other, _ = smith_rows("0a1b2c3d")
    bench = json.loads((DATA / "swe_bench_rows.json").read_text())
    done = import_rows(write(good, {**other, "image_name": None}, *bench), tmp_path / "set")
    assert [(fault.row, fault.reason) for fault in done.rejected] == [(2, "not executable"), (4, "not executable")]
    assert "teahouse/kettle is not at hand" in done.rejected[0].detail
    assert "is no node id of pytest" in done.rejected[1].detail
    tasks = read_set(tmp_path / "set")
    assert {instance.image_name for instance in tasks.instances.values()} == {
        good["image_name"],
        "swebench/sweb.eval.x86_64.larder_1776_pantry-41:latest",
    }
    with pytest.raises(DataError, match="was not built"):
        tasks.profile(next(iter(tasks.instances.values())))


def test_held_out_repositories_are_left_out_and_forks_named(write: Callable[..., Path], tmp_path: Path) -> None:
    good, other, _ = smith_rows("0a1b2c3d")
    fork = {**other, "repo": "somebody/kettle", "instance_id": "somebody__kettle.0a1b2c3d.combine_file__11112222"}
    bench = json.loads((DATA / "swe_bench_rows.json").read_text())[0]
    said: list[str] = []
    listed = tmp_path / "held-out.txt"
    listed.write_text("# ours\nhttps://github.com/TeaHouse/kettle.git  # figures are reported on it\n\n")
    done = import_rows(write(good, fork, bench), tmp_path / "set", held_out=read_held_out(listed), say=said.append)
    assert [(fault.row, fault.reason) for fault in done.rejected] == [(1, "held out")]
    assert len(done.instances) == 2
    assert said == [
        "warning: somebody/kettle has the name of teahouse/kettle, which is held out; it may be a fork of it"
    ]


def test_training_on_swe_bench_is_warned_of(write: Callable[..., Path], tmp_path: Path) -> None:
    bench = json.loads((DATA / "swe_bench_rows.json").read_text())[0]
    said: list[str] = []
    import_rows(write({**bench, "repo": "Django/django"}), tmp_path / "set", say=said.append)
    assert said[0].startswith("warning: 1 of 1 tasks are of SWE-bench's repositories")


def test_an_import_without_a_task_is_one_error_and_writes_nothing(write: Callable[..., Path], tmp_path: Path) -> None:
    good = smith_rows("0a1b2c3d")[0]
    with pytest.raises(DataError, match="most often: empty problem statement"):
        import_rows(write({**good, "problem_statement": ""}), tmp_path / "set")
    assert not (tmp_path / "set").exists()


def test_a_finished_set_is_not_written_over(write: Callable[..., Path], tmp_path: Path) -> None:
    path = write(smith_rows("0a1b2c3d")[0])
    import_rows(path, tmp_path / "set")
    with pytest.raises(DataError, match="Expected a new folder"):
        import_rows(path, tmp_path / "set")


# ---------------------------------------------------------------- options
def test_a_repository_option_names_a_folder(tmp_path: Path) -> None:
    assert repository_option(f"Tea/Kettle={tmp_path}") == ("Tea/Kettle", tmp_path)
    for text in ("tea/kettle", "tea/kettle=", f"kettle={tmp_path}", f"tea/kettle={tmp_path}/none"):
        with pytest.raises(DataError, match="Expected"):
            repository_option(text)


@pytest.mark.parametrize(("text", "error"), [("# none\n", "found none"), ("a/b\nflask\n", "line 2")])
def test_a_bad_held_out_list_names_its_line(text: str, error: str, tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_text(text)
    with pytest.raises(DataError, match=error):
        read_held_out(path)
