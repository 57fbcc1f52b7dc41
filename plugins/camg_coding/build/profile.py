"""How a project lies in its tree: what is imported, from where, and which files are its tests."""

from __future__ import annotations

import configparser
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from camg.errors import DataError
from camg_coding.build.licences import licence
from camg_coding.build.packages import Installed
from camg_coding.build.sources import Source
from camg_coding.records import Profile

_TEST_FOLDERS = ("tests", "test", "testing")
_TEST_FILE = re.compile(r"(^|/)(test_[^/]*|[^/]*_test|conftest|tests?)\.py$")
_NOT_PACKAGES = {
    "docs",
    "doc",
    "examples",
    "example",
    "scripts",
    "tools",
    "benchmarks",
    "build",
    "dist",
    *_TEST_FOLDERS,
}
_NOT_PROJECT = re.compile(r"(^|/)(setup|conftest|noxfile|tasks|fabfile)\.py$")


def describe(tree: Path, source: Source, installed: Installed, *, timeout: float = 90.0) -> Profile:
    """The profile of a project before its suite has run. Raises :class:`DataError` without package or tests."""
    names = import_names(tree, installed.files)
    if not names:
        raise DataError(f"{source.origin}: no importable package or module was found in it")
    tests = test_paths(tree, names)
    if not tests:
        raise DataError(f"{source.origin}: no test was found in it (pytest's testpaths, tests/, test/, test_*.py)")
    roots = list(dict.fromkeys(names.values()))
    if "." not in roots and _tests_as_package(tree, tests):
        roots.append(".")
    return Profile(
        key=source.key,
        owner=source.owner,
        repo=source.repo,
        commit=source.commit,
        source=source.kind,
        origin=source.origin,
        sha256=source.sha256,
        licence=licence(installed.metadata, tree),
        python=f"{sys.version_info.major}.{sys.version_info.minor}",
        requirements=installed.requirements,
        roots=roots,
        packages=tuple(sorted(names)),
        tests=tests,
        arguments=[part for name in installed.plugins for part in ("-p", name)],
        timeout=timeout,
    )


def import_names(tree: Path, files: Sequence[str]) -> dict[str, str]:
    """Import name -> the folder of the tree that it is imported from, ``.`` for the tree itself.

    ``files``: those of the project's wheel; without any, packages and modules are looked for in ``.`` and ``src``.
    """
    if files:
        tops = {path.split("/")[0].removesuffix(".py"): path for path in files if path.endswith(".py")}
        tops = {name: path for name, path in tops.items() if name not in _TEST_FOLDERS or len(tops) == 1}
        found = {name: _home(tree, name, path) for name, path in sorted(tops.items())}
        return {name: home for name, home in found.items() if home is not None}
    for home in ("src", "."):
        modules = dict.fromkeys(_modules(tree / home), home)
        if modules:
            return modules
    return {}


def _home(tree: Path, name: str, path: str) -> str | None:
    """The shallowest folder in which the wheel's ``path`` lies."""
    if (tree / path).is_file():
        return "."
    matches = [found for found in tree.rglob(PurePosixPath(path).name) if found.as_posix().endswith("/" + path)]
    homes = sorted((Path(str(found)[: -len(path)]).relative_to(tree).as_posix() for found in matches), key=len)
    return homes[0] if homes else None


def _modules(home: Path) -> Iterator[str]:
    if not home.is_dir():
        return
    for path in sorted(home.iterdir()):
        if path.is_dir() and (path / "__init__.py").is_file() and path.name not in _NOT_PACKAGES:
            yield path.name
        elif path.suffix == ".py" and not _TEST_FILE.search(path.name) and not _NOT_PROJECT.search(path.name):
            yield path.stem


def test_paths(tree: Path, names: dict[str, str]) -> tuple[str, ...]:
    """Files and folders with tests, relative to the tree: pytest's own setting, else the usual places."""
    configured = [path for path in configured_paths(tree) if (tree / path).exists() and has_tests(tree / path)]
    if configured:
        return tuple(dict.fromkeys(PurePosixPath(path).as_posix() for path in configured))
    homes = [".", *(f"{home}/{name}" for name, home in names.items())]
    for home in homes:
        for folder in _TEST_FOLDERS:
            path = PurePosixPath(home, folder).as_posix()
            if (tree / path).is_dir() and has_tests(tree / path):
                return (path,)
    found = [path.relative_to(tree).as_posix() for path in sorted(tree.rglob("*.py")) if _TEST_FILE.search(path.name)]
    return tuple(path for path in found if not path.endswith("conftest.py"))


def has_tests(path: Path) -> bool:
    """Whether a file, or a file below a folder, looks like tests."""
    return path.is_file() or any(
        _TEST_FILE.search(file.name) and file.name != "conftest.py" for file in path.rglob("*.py")
    )


def configured_paths(tree: Path) -> list[str]:
    """``testpaths`` of the file that pytest would read."""
    for name, section in (("pytest.ini", "pytest"), (".pytest.ini", "pytest"), ("pyproject.toml", ""),
                          ("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")):  # fmt: skip
        path = tree / name
        if not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        options = _toml_options(text) if not section else _ini_options(text, section)
        if options is not None:
            value = options.get("testpaths", [])
            return value.split() if isinstance(value, str) else [str(item) for item in value]
    return []


def _toml_options(text: str) -> dict[str, Any] | None:
    try:
        tool = tomllib.loads(text).get("tool", {})
    except ValueError:
        return None
    options = tool.get("pytest", {}).get("ini_options")
    return options if isinstance(options, dict) else None


def _ini_options(text: str, section: str) -> dict[str, Any] | None:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return None
    return dict(parser[section]) if parser.has_section(section) else None


def _tests_as_package(tree: Path, tests: Sequence[str]) -> bool:
    """Whether tests import one another by ``tests.…``, as ``python -m pytest`` from the tree would allow."""
    tops = {PurePosixPath(path).parts[0] for path in tests}
    pattern = re.compile(rf"^\s*(?:from|import)\s+(?:{'|'.join(map(re.escape, sorted(tops)))})[.\s]", re.MULTILINE)
    files = [
        file for path in tests for file in ([tree / path] if (tree / path).is_file() else (tree / path).rglob("*.py"))
    ]
    return any(pattern.search(file.read_text(encoding="utf-8", errors="replace")) for file in files)


def is_test(path: str, tests: Sequence[str]) -> bool:
    """Whether a file of the tree belongs to the tests."""
    return bool(_TEST_FILE.search(path)) or any(path == test or path.startswith(test + "/") for test in tests)


def sources(tree: Path, profile: Profile) -> tuple[str, ...]:
    """The project's own Python files that are no tests, sorted, without those that the tree holds twice."""
    found: dict[str, bytes] = {}
    for root in profile.roots:
        for name in profile.packages:
            home = tree / root / name
            files = [*home.rglob("*.py"), home.with_suffix(".py")]
            for path in (path for path in files if path.is_file() and not path.is_symlink()):
                relative = path.relative_to(tree).as_posix()
                if not is_test(relative, profile.tests) and not _NOT_PROJECT.search(relative):
                    found[relative] = path.read_bytes()
    copies = _repeated(tree, {data for data in found.values() if len(data) > 200})
    return tuple(path for path, data in sorted(found.items()) if data not in copies)


def _repeated(tree: Path, contents: set[bytes]) -> set[bytes]:
    sizes = {len(data) for data in contents}
    count: dict[bytes, int] = {}
    for path in tree.rglob("*"):
        if path.is_file() and path.stat().st_size in sizes:
            data = path.read_bytes()
            count[data] = count.get(data, 0) + 1
    return {data for data in contents if count.get(data, 0) > 1}
