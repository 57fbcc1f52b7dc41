"""A tiny task set, real boxes over it, and a way to grade what commands did to a workspace."""

from __future__ import annotations

import compileall
import os
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attrs import evolve

from camg.protocols import Box
from camg.types import Limits, Workspace
from camg_coding.build.packages import copy_distributions
from camg_coding.changes import collect
from camg_coding.config import PACKAGES
from camg_coding.grading.grader import grade
from camg_coding.grading.suite import SuiteResult, grading_limits, run_suite
from camg_coding.patches import unified_diff
from camg_coding.prepare import public_tree, workspace
from camg_coding.records import Instance, Profile
from camg_coding.session import Grade
from camg_coding.store import TaskSet, read_set, write_profile, write_set
from camg_sandboxes.bwrap import BwrapConfig, BwrapSandbox, probe

WORDS = '''\
"""Words of a text."""


def words(text):
    """The words, in order."""
    return text.split()


def longest(text):
    """The longest word; the first of several."""
    found = ""
    for word in words(text):
        if len(word) > len(found):
            found = word
    return found


def title(text):
    """Each word with a capital."""
    return " ".join(word.capitalize() for word in words(text))
'''
SUMS = '''\
"""Sums."""


def total(values):
    """Their sum."""
    result = 0
    for value in values:
        result += value
    return result


def mean(values):
    """Their mean."""
    return total(values) / len(values)
'''
CLEAN = {
    "toy/__init__.py": "",
    "toy/words.py": WORDS,
    "toy/sums.py": SUMS,
    "toy/unused.py": "LEFT_OVER = 1\n",
    "tests/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef text():\n    return 'one three four'\n",
    "tests/test_words.py": (
        "from toy.words import longest, title, words\n\n\n"
        "def test_words(text):\n    assert words(text) == ['one', 'three', 'four']\n\n\n"
        "def test_longest(text):\n    assert longest(text) == 'three'\n\n\n"
        "def test_title(text):\n    assert title(text) == 'One Three Four'\n"
    ),
    "tests/test_sums.py": (
        "import unittest\n\nfrom toy.sums import mean, total\n\n\n"
        "class Sums(unittest.TestCase):\n"
        "    def test_total(self):\n        self.assertEqual(total([1, 2]), 3)\n\n"
        "    def test_mean(self):\n        self.assertEqual(mean([1, 3]), 2)\n"
    ),
    "tests/test_secret.py": (
        "from toy.words import longest\n\n\ndef test_first_of_several():\n    assert longest('aa bb') == 'aa'\n"
    ),
    "pyproject.toml": "[tool.pytest.ini_options]\ntestpaths = ['tests']\n",
    "README.md": "# toy\n",
}
BUGS = {
    "words": ("toy/words.py", "len(word) > len(found)", "len(word) < len(found)"),
    "sums": ("toy/sums.py", "result += value", "result -= value"),
}
LONGEST = ("tests/test_words.py::test_longest", "tests/test_secret.py::test_first_of_several")
SUM = ("tests/test_sums.py::Sums::test_mean", "tests/test_sums.py::Sums::test_total")
OTHERS = ("tests/test_words.py::test_title", "tests/test_words.py::test_words")
REPAIR = "sed -i 's/len(word) < len(found)/len(word) > len(found)/' toy/words.py"


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """No test reads or writes the user's cache."""
    folder, before = tmp_path_factory.mktemp("cache"), os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(folder)
    yield folder
    if before is None:
        del os.environ["XDG_CACHE_HOME"]
    else:
        os.environ["XDG_CACHE_HOME"] = before


def write_tree(folder: Path, files: dict[str, str]) -> None:
    """Text files below a folder."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """pytest and what it needs, as boxes see it."""
    folder = tmp_path_factory.mktemp("packages")
    copy_distributions(["pytest"], folder)
    compileall.compile_dir(folder, quiet=2)
    return folder


def toy_profile(**facts: object) -> Profile:
    """The toy repository's."""
    values = {"key": "camg__toy.1", "owner": "camg", "repo": "toy", "commit": "1", "source": "embedded"}
    return Profile(**{**values, "packages": ("toy",), "timeout": 60.0, **facts})  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def tasks(tmp_path_factory: pytest.TempPathFactory, packages: Path) -> TaskSet:
    """Two tasks over the toy repository: "words" (two failing tests, one of them hidden) and "sums"."""
    folder = tmp_path_factory.mktemp("set")
    profile = toy_profile()
    write_tree(folder / "repos" / profile.key / "tree", CLEAN)
    (folder / "repos" / profile.key / "packages").symlink_to(packages)
    write_profile(folder, profile)
    instances = []
    for name, (path, right, wrong) in BUGS.items():
        failing = LONGEST if name == "words" else SUM
        instances.append(
            Instance(
                instance_id=f"camg__toy.1.{name}",
                repo="camg/toy",
                profile=profile.key,
                patch=unified_diff({path: CLEAN[path]}, {path: CLEAN[path].replace(right, wrong)}),
                polarity="bug",
                FAIL_TO_PASS=failing,
                PASS_TO_PASS=tuple(sorted({*LONGEST, *SUM, *OTHERS} - {*failing})),
                problem_statement=f"Something about {name} is wrong.",
                hidden_tests=("tests/test_secret.py",),
            )
        )
    write_set(folder, instances, {})
    return read_set(folder)


@pytest.fixture(scope="session")
def sandbox() -> Iterator[BwrapSandbox]:
    """Skips where bwrap cannot run, with the reason."""
    reason = probe()
    if reason is not None:
        pytest.skip(f"bwrap cannot run here: {reason}")
    found = BwrapSandbox(BwrapConfig())
    yield found
    found.close()


class Bench:
    """Episodes without a loop: commands in the box of a task, then the grade."""

    longest, sum, others, repair, clean = LONGEST, SUM, OTHERS, REPAIR, CLEAN

    def __init__(self, tasks: TaskSet, sandbox: BwrapSandbox) -> None:
        self.tasks, self.sandbox = tasks, sandbox
        self.opened: list[Box] = []

    def boxes(self, start: Workspace, *, limits: Limits | None = None) -> Box:
        """Opens the graders' boxes (:class:`camg.protocols.Boxes`)."""
        return self.sandbox.open("grader", limits=limits or Limits(), workspace=start)

    def instance(self, name: str = "words") -> Instance:
        """A task of the set."""
        return self.tasks.instances[f"camg__toy.1.{name}"]

    def start(self, name: str = "words", **limits: object) -> Box:
        """An episode's box, as its policy has it."""
        instance = self.instance(name)
        profile = self.tasks.profile(instance)
        place = workspace(self.tasks, profile, public_tree(self.tasks, instance))
        box = self.sandbox.open("episode", limits=Limits(**limits), workspace=place)  # type: ignore[arg-type]
        self.opened.append(box)
        return box

    def grade(self, box: Box, name: str = "words", *, seconds: float = 30.0) -> Grade:
        """Grade the workspace as it is."""
        instance = self.instance(name)
        profile = self.tasks.profile(instance)
        base = public_tree(self.tasks, instance)
        submission = collect(box, base, profile, self.tasks.packages(profile))
        return grade(self.tasks, instance, submission, self.boxes, seconds=seconds)

    def after(self, *commands: str, name: str = "words", seconds: float = 30.0) -> Grade:
        """The grade after some commands."""
        box = self.start(name)
        for command in commands:
            box.run(command)
        return self.grade(box, name, seconds=seconds)


@pytest.fixture
def bench(tasks: TaskSet, sandbox: BwrapSandbox) -> Iterator[Bench]:
    """Closes the boxes that it opened."""
    made = Bench(tasks, sandbox)
    yield made
    for box in made.opened:
        box.close()


@pytest.fixture
def suite(sandbox: BwrapSandbox, packages: Path, tmp_path: Path) -> Callable[..., SuiteResult]:
    """``suite(files, tests=(), seconds=30, limits={}, **profile)``: run the tests of a tree made of these texts."""

    def run(
        files: dict[str, str],
        tests: tuple[str, ...] = (),
        *,
        seconds: float = 30.0,
        limits: dict[str, int] | None = None,
        **facts: object,
    ) -> SuiteResult:
        write_tree(tmp_path / "tree", {name: textwrap.dedent(text) for name, text in files.items()})
        start = Workspace(base=tmp_path / "tree", inputs={PACKAGES: packages})
        box = sandbox.open("suite", limits=evolve(grading_limits(seconds), **(limits or {})), workspace=start)
        try:
            return run_suite(box, toy_profile(**facts), tests, wall_seconds=seconds)
        finally:
            box.close()

    return run
