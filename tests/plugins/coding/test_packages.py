"""The embedded projects: ordinary repositories whose suites pass wherever they are copied, in the sizes tasks need."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PACKAGES = Path(__file__).parents[3] / "plugins" / "camg_coding" / "packages"
PROJECTS = sorted(path for path in PACKAGES.iterdir() if (path / "pyproject.toml").is_file())
FILES = sorted(
    path
    for path in PACKAGES.rglob("*")
    if path.is_file()
    and not any(part == "__pycache__" or part.startswith(".") for part in path.relative_to(PACKAGES).parts)
)
TESTS = range(60, 121)
LINES = range(250, 501)
"""Lines of a library that hold code: no blank ones, comments and docstrings."""

CLOCKS = {"time", "random", "datetime", "socket", "urllib", "subprocess", "threading", "asyncio"}
"""What would make a suite slow, flaky or dependent on the machine."""

every_project = pytest.mark.parametrize("project", PROJECTS, ids=lambda path: path.name)


def library(project: Path) -> Path:
    """The folder of the import package, in either layout."""
    (found,) = [path for path in (project / project.name, project / "src" / project.name) if path.is_dir()]
    return found


def copied(project: Path, where: Path) -> Path:
    return Path(shutil.copytree(project, where / "copy", ignore=shutil.ignore_patterns("__pycache__")))


def lines_of_code(source: str) -> int:
    """Statements without their docstrings and comments, in the one layout of ``ast.unparse``: a little shorter."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            node.body = node.body[1:] or [ast.Pass()]
    return len([line for line in ast.unparse(tree).splitlines() if line.strip()])


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """A command of the suite, in a copy, with nothing of ours on the path."""
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join([str(folder / "src"), str(folder)]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "random",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, timeout=60
    )


def test_there_are_six_of_both_layouts():
    layouts = [library(project).parent.name == "src" for project in PROJECTS]
    assert (len(layouts), set(layouts)) == (6, {True, False})


@every_project
def test_the_suite_passes_in_a_copy(project, tmp_path):
    """... with the files in another order than usual and with random hashes, on neither of which it may depend."""
    folder = copied(project, tmp_path)
    files = sorted((folder / "tests").glob("test_*.py"), reverse=True)
    done = run(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", *map(str, files))
    summary = re.fullmatch(r"(\d+) passed in .*", done.stdout.strip().splitlines()[-1])
    assert done.returncode == 0, done.stdout
    assert summary is not None, done.stdout
    assert int(summary[1]) in TESTS


def test_one_suite_is_of_unittest_and_runs_without_pytest(tmp_path):
    folder = copied(PACKAGES / "sumwright", tmp_path)
    texts = [path.read_text(encoding="utf-8") for path in (folder / "tests").glob("test_*.py")]
    assert all("unittest.TestCase" in text and "pytest" not in text for text in texts)
    done = run(folder, "-m", "unittest", "discover", "-s", "tests")
    assert done.returncode == 0, done.stderr


@every_project
def test_it_is_an_ordinary_repository(project):
    declared = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (declared["name"], declared["license"], declared["dependencies"]) == (project.name, "MIT", [])
    assert (project / "README.md").read_text(encoding="utf-8").startswith(f"# {project.name}\n")
    assert (project / "LICENSE").read_text(encoding="utf-8").startswith("MIT License\n")
    assert len(list((project / "tests").glob("test_*.py"))) >= 2
    assert not list((project / "tests").glob("conftest.py"))


@every_project
def test_names_shadow_nothing(project):
    modules = {path.stem for path in (project / "tests").glob("*.py")}
    assert project.name not in sys.stdlib_module_names
    assert not modules & sys.stdlib_module_names
    assert not project.name.startswith("camg")


@every_project
def test_size_and_documentation(project):
    modules = [path for path in library(project).rglob("*.py") if path.name != "__init__.py"]
    assert 2 <= len(modules) <= 5
    assert sum(lines_of_code(path.read_text(encoding="utf-8")) for path in modules) in LINES
    for path in library(project).rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert ast.get_docstring(tree), f"{path.name} has no docstring"


@every_project
def test_nothing_but_the_standard_library_and_no_clock(project):
    for path in project.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names = {str(node.module).split(".")[0]}
            else:
                continue
            assert names <= sys.stdlib_module_names | {project.name, "pytest"}, f"{path}: {names}"
            assert not names & CLOCKS, f"{path}: {names}"
    assert all("pytest" not in path.read_text(encoding="utf-8") for path in library(project).rglob("*.py"))


@every_project
def test_there_is_material_for_every_kind_of_bug(project):
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in library(project).rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    assert sum(bool(node.bases) for node in classes) >= 2
    assert sum(isinstance(node, ast.For | ast.While) for node in nodes) >= 8
    assert sum(isinstance(node, ast.If) for node in nodes) >= 15
    assert sum(isinstance(node, ast.BinOp | ast.Compare | ast.BoolOp) for node in nodes) >= 60
    assert sum(isinstance(node, ast.Assign) for node in nodes) >= 30


def test_wrappers_are_somewhere():
    trees = [
        ast.parse(path.read_text(encoding="utf-8"))
        for project in PROJECTS
        for path in library(project).rglob("*")
        if path.suffix == ".py"
    ]
    assert sum(isinstance(node, ast.Try | ast.With) for tree in trees for node in ast.walk(tree)) >= 12


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGES).as_posix())
def test_a_file_is_plain_text_without_paths_of_a_machine(path):
    text = path.read_bytes().decode("utf-8")
    assert not path.is_symlink()
    assert not re.search(r"/(home|root|tmp|work|usr|Users)/|[A-Z]:\\\\", text)
    assert "\r" not in text
    assert text.endswith("\n")
