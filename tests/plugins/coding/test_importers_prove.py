"""Imported tasks are proven in the grader: the repair passes, doing nothing fails, and what does not hold is named."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from camg_coding.build.boxes import Pool, open_pool
from camg_coding.build.packages import copy_distributions
from camg_coding.importers.prove import gold, hold, prove
from camg_coding.importers.report import Malformed
from camg_coding.importers.rows import convert
from camg_coding.records import BUG, Instance, Profile
from camg_coding.store import TaskSet

DATA = Path(__file__).parent / "data"
KEY = "some__project.00000000"
HEAT = '"""Invented: when does the water boil?"""\n\n\ndef boils(celsius):\n    return celsius >= 100\n'
FILES = {
    "kettle/__init__.py": "",
    "kettle/heat.py": HEAT,
    "tests/test_heat.py": "import pytest\n\nfrom kettle.heat import boils\n\n\n"
    "def test_boils_at_a_hundred():\n    assert boils(100)\n\n\n"
    '@pytest.mark.parametrize("celsius", [pytest.param(0, id="ice [0]")])\n'
    "def test_cold(celsius):\n    assert not boils(celsius)\n",
    "tests/test_lid.py": "class TestLid:\n    def test_closed(self):\n        assert True\n",
    "src/pantry/__init__.py": "",
    "src/pantry/shelf.py": 'class Shelf:\n    """Invented: jars in a row."""\n\n    def first(self):\n'
    "        return self.jars[1]\n\n    def __init__(self, jars):\n        self.jars = jars\n",
    "tests/test_shelf.py": "\n\nfrom pantry.shelf import Shelf\n\ndef test_empty():\n    assert not Shelf([]).jars\n",
}


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with open_pool(2) as pool:
        yield pool


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> TaskSet:
    """A set with one repository and without tasks."""
    folder = tmp_path_factory.mktemp("set")
    profile = Profile(
        key=KEY, owner="some", repo="project", commit="0" * 8, source="git", roots=(".", "src"),
        packages=("kettle", "pantry"), tests=("tests",), timeout=60.0,
    )  # fmt: skip
    tasks = TaskSet(folder, {KEY: profile}, {})
    for path, text in FILES.items():
        (tasks.tree(profile) / path).parent.mkdir(parents=True, exist_ok=True)
        (tasks.tree(profile) / path).write_text(text)
    copy_distributions(["pytest"], tasks.packages(profile))
    return tasks


def smith(name: str, **fields: Any) -> Instance:
    """The first SWE-smith row, as another task."""
    row = json.loads((DATA / "swe_smith_rows.jsonl").read_text().splitlines()[0])
    return evolve(convert({**row, "instance_id": name, **fields}, "swe-smith"), profile=KEY)


def bench(name: str, **fields: Any) -> Instance:
    row = json.loads((DATA / "swe_bench_rows.json").read_text())[0]
    return evolve(convert({**row, "instance_id": name, **fields}, "swe-bench"), profile=KEY)


def with_line(line: str) -> str:
    """The row's patch, which puts ``line`` for the sound one."""
    return smith("x").patch.replace("+    return celsius > 100", f"+    {line}")


def test_what_holds_is_kept_and_what_does_not_is_named(home: TaskSet, pool: Pool) -> None:
    instances = [
        smith("holds"),
        smith("harmless", patch=with_line("return 100 <= celsius")),
        smith("elsewhere", patch=smith("x").patch.replace("celsius >= 100", "celsius == 100")),
        smith("renamed", PASS_TO_PASS=["tests/test_lid.py::TestLid::test_gone"]),
        smith("exits", patch=with_line("__import__('os')._exit(0)")),
        bench("repairs"),
    ]
    found = dict(prove(home, instances, pool, jobs=2))
    reasons = {instance.instance_id: fault.reason if fault else "" for instance, fault in found.items()}
    assert reasons == {
        "holds": "",
        "harmless": "a FAIL_TO_PASS test passes without the repair",
        "elsewhere": "patch does not apply",
        "renamed": "a listed test does not pass with the repair",
        "exits": "the suite does not end without the repair",
        "repairs": "",
    }
    details: Mapping[str, str] = {item.instance_id: fault.detail for item, fault in found.items() if fault}
    assert details["renamed"] == "1 of 2, the first: tests/test_lid.py::TestLid::test_gone"
    assert "kettle/heat.py" in details["elsewhere"]
    assert {path.name for path in (home.folder / "prepared").iterdir()} == {"holds", "repairs"}


def test_a_test_patch_that_does_not_apply_is_named(home: TaskSet, pool: Pool) -> None:
    instance = bench("x", test_patch=bench("x").test_patch.replace("def test_empty", "def test_full"))
    with pytest.raises(Malformed, match=r"patch does not apply: tests/test_shelf\.py"):
        hold(home, instance, pool)


def test_gold_is_the_clean_tree_of_a_bug_and_the_patch_of_a_repair(home: TaskSet) -> None:
    assert gold(home, smith("x")).files == {"kettle/heat.py": HEAT.encode()}
    [(path, data)] = gold(home, bench("x")).files.items()
    assert path == "src/pantry/shelf.py"
    assert data is not None
    assert b"jars[0]" in data
    made = "diff --git a/kettle/new.py b/kettle/new.py\nnew file mode 100644\n--- /dev/null\n+++ b/kettle/new.py\n"
    assert gold(home, smith("x", patch=f"{made}@@ -0,0 +1 @@\n+x = 1\n")).files == {"kettle/new.py": None}
    assert smith("x").polarity == BUG
