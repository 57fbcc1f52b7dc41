"""Every module says what it is for and stays short; every plugin has an entry point."""

from __future__ import annotations

import ast
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DATA = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]["extend-exclude"]
SOURCES = sorted(
    path
    for folder in ("src", "plugins")
    for path in (ROOT / folder).rglob("*.py")
    if "__pycache__" not in path.parts and not any(path.is_relative_to(ROOT / data) for data in DATA)
)
LONGEST = 350
CONTRACT = {"src/camg/types.py": 440}
"""The records: in one place, since whoever writes a plugin reads them whole."""


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_a_module_is_short_and_says_what_it_is_for(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= CONTRACT.get(name(path), LONGEST)
    assert ast.get_docstring(ast.parse(text)), f"{name(path)} has no docstring"


def test_most_modules_are_under_300_lines():
    lengths = [len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES]
    assert sum(length < 300 for length in lengths) > 0.9 * len(lengths)


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_nothing_is_left_undone(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        assert not isinstance(node, ast.Assert), f"{name(path)}:{node.lineno} validates with assert"
        if isinstance(node, ast.Name):
            assert node.id != "NotImplementedError", f"{name(path)}:{node.lineno}"


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_public_functions_and_classes_of_the_core_have_docstrings(path):
    if path.is_relative_to(ROOT / "plugins"):
        return
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            assert ast.get_docstring(node), f"{name(path)}:{node.lineno} {node.name} has no docstring"


def declared() -> dict[str, str]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]["camg"]


def test_every_folder_of_plugins_has_an_entry_point():
    folders = {path.name for path in (ROOT / "plugins").iterdir() if (path / "__init__.py").is_file()}
    assert set(declared().values()) == folders


def test_installed_entry_points_are_those_of_the_source():
    installed = {
        point.name: point.value for point in metadata.distribution("camg").entry_points if point.group == "camg"
    }
    assert installed == declared(), "run `pip install -e .`: entry points change only when the package is installed"
