"""The ``packages`` folder of a repository: everything that its tests import, except the project itself.

The project's own code must come from the tree under test alone, so what pip installs of it is taken out again; its
metadata stays, for ``importlib.metadata.version``. Files that only a build makes (``_version.py``) go into the tree.
"""

from __future__ import annotations

import compileall
import email
import importlib.metadata
import py_compile
import re
import shutil
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from email.message import Message
from pathlib import Path, PurePosixPath
from typing import Any

from attrs import field, frozen
from packaging.requirements import InvalidRequirement, Requirement

from camg.errors import DataError
from camg_coding.build.sources import Source, variables
from camg_coding.build.tools import pip
from camg_coding.config import PACKAGES

_EXTRAS = ("test", "tests", "testing", "dev")  # the first that a project has
_BESIDE = {"mypy", "ruff", "black", "flake8", "pylint", "isort", "pre-commit", "tox", "nox", "build", "twine", "wheel"}
_BESIDE |= {"sphinx", "mkdocs", "furo", "codecov", "coveralls", "pytest-cov", "coverage", "pyright", "bump2version"}
_MEDDLING = ("xdist", "pytest_cov", "randomly", "random", "rerunfailures", "sugar", "instafail", "pytest_benchmark")
_COMPILED = (".so", ".pyd", ".dylib")
_GENERATED_BYTES = 4 << 20


@frozen(kw_only=True)
class Installed:
    """What pip made of a project."""

    name: str = ""  # of the distribution; "" for a folder that is none
    files: tuple[str, ...] = ()  # the project's own, relative to site-packages
    requirements: tuple[str, ...] = ()  # name==version of everything beside it
    metadata: Message = field(factory=Message)
    plugins: tuple[str, ...] = ()  # of pytest, which the tests may need


def install(
    tree: Path, packages: Path, source: Source, *, test_requirements: Sequence[str] = (), say: Any = lambda line: None
) -> Installed:
    """Fill ``packages`` for the project in ``tree``. Raises :class:`DataError`: why it cannot be built."""
    with tempfile.TemporaryDirectory(dir=packages.parent) as scratch:
        wheel = _wheel(tree, Path(scratch), source)
        metadata, own = _read_wheel(wheel) if wheel else (Message(), ())
        _refuse(metadata, own)
        wanted = [*_runtime(tree, wheel), *(test_requirements or test_extras(tree, metadata))]
        install_into(packages, [*([str(wheel)] if wheel else []), *wanted, "pytest>=8.3"], source.origin)
        if wheel:
            _generated(wheel, own, tree, say)
    name = str(metadata["Name"] or "")
    _take_out(packages, own, name)
    beside = tuple(pinned for pinned in installed_in(packages) if pinned.partition("==")[0] != normal(name))
    return Installed(name=name, files=own, requirements=beside, metadata=metadata, plugins=pytest_plugins(packages))


def install_into(packages: Path, requirements: Sequence[str], what: str) -> None:
    """``pip install --target``, without programs and compiled files. Raises :class:`DataError`."""
    arguments = ["install", "-q", "--target", str(packages), "--no-compile", "--prefer-binary", *requirements]
    pip(arguments, f"installing what {what} needs")
    tidy(packages)


def tidy(packages: Path) -> None:
    """Remove what no import needs, and what tells of this machine."""
    for path in (packages / "bin", *packages.rglob("__pycache__"), *packages.rglob("direct_url.json")):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def compile_packages(packages: Path) -> None:
    """Compile what is there, once: boxes mount it read-only and would compile pytest anew in every run.

    By content, not by time of change, so that copies keep it; called when nothing of the project is left in the folder.
    """
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    compileall.compile_dir(packages, quiet=2, ddir=PACKAGES, invalidation_mode=mode)


def test_extras(tree: Path, metadata: Message) -> list[str]:
    """The test requirements that a project declares as an extra or a dependency group, without linters and the like."""
    provided = {normal(name): name for name in metadata.get_all("Provides-Extra") or ()}
    groups = _groups(tree)
    for name in _EXTRAS:
        if name in provided:
            lines = [str(line) for line in metadata.get_all("Requires-Dist") or ()]
            return [text for line in lines if (text := _required(line, provided[name]))]
        if name in groups:
            return [text for line in _group(groups, name, set()) if (text := _required(line, ""))]
    return []


def copy_distributions(names: Iterable[str], target: Path) -> tuple[str, ...]:
    """Copy distributions of the running interpreter, with all that they require, into ``target``; needs no network.

    Returns ``name==version`` of each, sorted. Raises :class:`DataError` for one that is not installed.
    """
    copied = []
    target.mkdir(parents=True, exist_ok=True)
    for name in closure(names):
        distribution = importlib.metadata.distribution(name)
        for path in distribution.files or ():
            parts = PurePosixPath(str(path)).parts
            if ".." in parts or "__pycache__" in parts or parts[-1] == "direct_url.json":
                continue
            origin = Path(str(distribution.locate_file(path)))
            if origin.is_file():
                (target / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(origin, target / path)
        copied.append(f"{normal(name)}=={distribution.version}")
    return tuple(sorted(copied))


def closure(names: Iterable[str]) -> tuple[str, ...]:
    """The normalised names of installed distributions and of all that they require here, sorted."""
    found: set[str] = set()
    left = [normal(name) for name in names]
    while left:
        name = left.pop()
        if name in found:
            continue
        try:
            required = importlib.metadata.distribution(name).requires or ()
        except importlib.metadata.PackageNotFoundError as error:
            raise DataError(f"Expected {name} to be installed beside camg.", hint=f"pip install {name}") from error
        found.add(name)
        for line in required:
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                left.append(normal(requirement.name))
    return tuple(sorted(found))


def installed_in(packages: Path) -> tuple[str, ...]:
    """``name==version`` of every distribution below a folder, sorted."""
    found = importlib.metadata.distributions(path=[str(packages)])
    return tuple(sorted(f"{normal(item.metadata['Name'])}=={item.version}" for item in found))


def pytest_plugins(packages: Path) -> tuple[str, ...]:
    """Names of the pytest plugins below a folder, without those that change which tests run, where, or how often."""
    distributions = importlib.metadata.distributions(path=[str(packages)])
    found = [entry for item in distributions for entry in item.entry_points if entry.group == "pytest11"]
    return tuple(sorted({entry.name for entry in found if not entry.name.startswith(_MEDDLING)}))


def normal(name: str) -> str:
    """A distribution's name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _wheel(tree: Path, scratch: Path, source: Source) -> Path | None:
    """The project's wheel, built from a copy; None where it is no distribution."""
    if not any((tree / name).is_file() for name in ("pyproject.toml", "setup.py", "setup.cfg")):
        return None
    shutil.copytree(tree, scratch / "tree", symlinks=True)
    arguments = ["wheel", "-q", "--no-deps", "-w", str(scratch / "wheels"), str(scratch / "tree")]
    pip(arguments, f"building {source.origin}", variables=variables(source))
    wheels = sorted((scratch / "wheels").glob("*.whl"))
    if len(wheels) != 1:
        raise DataError(f"building {source.origin}: expected one wheel, got {len(wheels)}.")
    return wheels[0]


def _read_wheel(wheel: Path) -> tuple[Message, tuple[str, ...]]:
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        info = next(name for name in names if name.endswith(".dist-info/METADATA") and name.count("/") == 1)
        metadata = email.message_from_bytes(archive.read(info))
    own = tuple(name for name in names if not name.split("/")[0].endswith((".dist-info", ".data")))
    return metadata, own


def _refuse(metadata: Message, own: Sequence[str]) -> None:
    """Raises :class:`DataError` for projects of which no task can be made."""
    compiled = [path for path in own if path.endswith(_COMPILED)]
    if compiled:
        raise DataError(f"it has compiled extensions ({compiled[0]}): a changed source would not be what runs")
    name = normal(str(metadata["Name"] or ""))
    if name and name in closure(["pytest"]):
        raise DataError(f"pytest itself needs {name}: a bug in it would break the grader and not its tests")


def _runtime(tree: Path, wheel: Path | None) -> list[str]:
    """What a folder that is no distribution names in requirements.txt; a wheel brings its own."""
    listed = tree / "requirements.txt"
    if wheel is not None or not listed.is_file():
        return []
    lines = (line.partition("#")[0].strip() for line in listed.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("-")]


def _required(line: str, extra: str) -> str:
    """The requirement if it is one of ``extra`` (or none is asked for) and no tool of another trade, else ''."""
    try:
        requirement = Requirement(line)
    except InvalidRequirement:
        return ""
    marker = requirement.marker
    if marker is not None and not marker.evaluate({"extra": extra}):
        return ""
    if extra and (marker is None or marker.evaluate({"extra": ""})):
        return ""  # of the project itself
    name = normal(requirement.name)
    if name in _BESIDE or name.startswith(("sphinx", "mkdocs", "types-")):
        return ""
    requirement.marker = None
    return str(requirement)


def _groups(tree: Path) -> Mapping[str, Any]:
    """``[dependency-groups]`` of pyproject.toml (PEP 735)."""
    try:
        content = tomllib.loads((tree / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    groups = content.get("dependency-groups", {})
    return {normal(name): lines for name, lines in groups.items()} if isinstance(groups, dict) else {}


def _group(groups: Mapping[str, Any], name: str, seen: set[str]) -> list[str]:
    """The lines of a group and of those that it includes."""
    if name in seen:
        return []
    seen.add(name)
    lines: list[str] = []
    for line in groups.get(name, ()):
        if isinstance(line, str):
            lines.append(line)
        elif isinstance(line, dict):
            lines += _group(groups, normal(str(line.get("include-group", ""))), seen)
    return lines


def _generated(wheel: Path, own: Sequence[str], tree: Path, say: Any) -> None:
    """Put files that the build made beside their package in the tree."""
    with zipfile.ZipFile(wheel) as archive:
        for path in own:
            package = path.split("/")[0]
            homes = [home for home in (tree, tree / "src", tree / "lib") if (home / package).is_dir()]
            if "/" not in path or not homes or (homes[0] / path).exists():
                continue
            if archive.getinfo(path).file_size > _GENERATED_BYTES or not (homes[0] / path).parent.is_dir():
                continue
            say(f"{path} is made by the project's build and goes into the tree")
            (homes[0] / path).write_bytes(archive.read(path))


def _take_out(packages: Path, own: Sequence[str], name: str) -> None:
    """Remove the project's own files, and of its metadata the list of their digests."""
    for path in own:
        (packages / path).unlink(missing_ok=True)
    for folder in sorted({(packages / path).parent for path in own}, reverse=True):
        while folder != packages and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
            folder = folder.parent
    for info in packages.glob("*.dist-info"):
        if name and normal(info.name.partition("-")[0]) == normal(name):
            for listed in ("RECORD", "INSTALLER", "REQUESTED"):
                (info / listed).unlink(missing_ok=True)
