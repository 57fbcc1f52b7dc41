"""The embedded set: tasks from the six projects that come with camg, built at first use, without a network."""

from __future__ import annotations

import email.message
import fcntl
import hashlib
import os
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from functools import partial
from importlib import metadata
from pathlib import Path

from camg.errors import DataError
from camg_coding.build.boxes import open_pool
from camg_coding.build.candidates import chosen_strategies
from camg_coding.build.packages import Installed, copy_distributions, tidy
from camg_coding.build.pipeline import build_set
from camg_coding.build.repository import Options, Origin, Say
from camg_coding.build.sources import Source, content_digest, copy_tree
from camg_coding.store import TaskSet, cache_root, read_set

PROJECTS = Path(__file__).parents[1] / "packages"
PER_PROJECT = 18
_BUILDERS = ("build", "mutate", "grading")  # what decides, besides the projects, what comes out


def embedded_set() -> TaskSet:
    """The set, from the cache or built now: a minute or two, told on stderr.

    Raises :class:`DataError` if it cannot be written, :class:`BackendUnavailable` without an isolated sandbox.
    """
    ready = cache_root() / f"embedded-{_identity()}"
    if (ready / "set.json").is_file():
        return read_set(ready)
    try:
        ready.parent.mkdir(parents=True, exist_ok=True)
        lock = (ready.parent / "embedded.lock").open("w")
    except OSError as error:
        raise DataError(f"Expected to write {ready.parent}: {error}.", hint="Set XDG_CACHE_HOME.") from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the first process builds, the others wait
        if not (ready / "set.json").is_file():
            _build(ready)
    return read_set(ready)


def _build(ready: Path) -> None:
    print("coding: building the embedded tasks, once (a minute or two)", file=sys.stderr, flush=True)
    jobs = os.cpu_count() or 1
    options = Options(per_repo=PER_PROJECT, strategies=chosen_strategies(()), jobs=jobs)
    building = ready.with_name(f".building-{ready.name}")  # what an interrupted build finished is used
    with tempfile.TemporaryDirectory(prefix=".packages-", dir=ready.parent) as scratch, open_pool(jobs) as pool:
        shared = Path(scratch) / "packages"
        copy_distributions(["pytest"], shared)
        tidy(shared)
        origins = [_origin(folder, shared) for folder in projects()]
        build_set(building, origins, options, pool, resume=True, about={"source": "embedded"})
    shutil.rmtree(ready, ignore_errors=True)
    building.rename(ready)


def projects() -> list[Path]:
    """The folders of the embedded projects, sorted."""
    return sorted(path.parent for path in PROJECTS.glob("*/pyproject.toml"))


def _origin(folder: Path, shared: Path) -> Origin:
    return Origin(
        label=folder.name,
        identity=f"embedded:{folder.name}",
        fetch=partial(_fetch, folder),
        install=partial(_install, shared),
    )


def _fetch(folder: Path, tree: Path) -> Source:
    copy_tree(folder, tree)
    return Source(
        kind="embedded", owner="camg", repo=folder.name, commit=content_digest(tree), origin=f"camg/{folder.name}"
    )


def _install(
    shared: Path, tree: Path, packages: Path, source: Source, requirements: Sequence[str], say: Say
) -> Installed:
    """pytest alone, as hard links to one copy."""
    packages.rmdir()
    shutil.copytree(shared, packages, copy_function=os.link)
    project = tomllib.loads((tree / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    told = email.message.Message()
    told["Name"], told["Version"], told["License-Expression"] = project["name"], project["version"], project["license"]
    pinned = tuple(f"{item.metadata['Name']}=={item.version}" for item in metadata.distributions(path=[str(packages)]))
    return Installed(name=project["name"], requirements=tuple(sorted(pinned)), metadata=told)


def _identity() -> str:
    """Twelve digits over the projects, the code that makes tasks of them, this Python and its pytest."""
    state = hashlib.sha256(f"{sys.version_info[:3]} pytest {metadata.version('pytest')} {PER_PROJECT}".encode())
    state.update(content_digest(PROJECTS).encode())
    for name in _BUILDERS:
        for path in sorted((PROJECTS.parent / name).rglob("*.py")):
            state.update(path.read_bytes())
    return state.hexdigest()[:12]
