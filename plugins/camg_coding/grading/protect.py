"""Tests that the code under test cannot rewrite: in a grader's box they are mounts, read-only."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from attrs import evolve

from camg.errors import InfrastructureFault
from camg.types import Workspace
from camg_coding.changes import refused, test_folders
from camg_coding.prepare import ROOT, hidden_files
from camg_coding.records import Instance, Profile
from camg_coding.store import TaskSet

MOUNTS = 100  # of single files, in one box; what lies in the folders of tests is one mount each
_PASSED = {".git", "__pycache__"}


def protected(start: Workspace, tree: Path, profile: Profile) -> Workspace:
    """``start`` with the tests and the configuration of ``tree`` mounted over the workspace's, read-only.

    Whoever runs a suite to learn what its tests do should run it like this, too: a test that writes among the tests
    fails. In a tree with more than :data:`MOUNTS` test files outside of folders of tests the last ones stay writable.
    """
    mounts = {f"{ROOT}/{path}": tree / path for path in _paths(tree, profile)}
    return evolve(start, inputs={**start.inputs, **mounts})


def _paths(tree: Path, profile: Profile) -> list[str]:
    folders = [folder for folder in test_folders(profile) if (tree / folder).is_dir() and folder != "."]
    folders = [one for one in folders if not any(one.startswith(other + "/") for other in folders)]
    files = [path for path in _files(tree) if not any(path.startswith(folder + "/") for folder in folders)]
    chosen = [path for path in files if refused(path, profile)]
    chosen.sort(key=lambda path: (path.count("/"), path))  # configuration and conftest.py of the root first
    return [*folders, *chosen[:MOUNTS]]


def _files(tree: Path) -> Iterator[str]:
    for folder, folders, names in os.walk(tree):
        folders[:] = sorted(set(folders) - _PASSED)
        for name in sorted(names):
            path = os.path.join(folder, name)
            if os.path.isfile(path) and not os.path.islink(path):
                yield os.path.relpath(path, tree)


def graded_tree(tasks: TaskSet, instance: Instance) -> Path:
    """A tree with the tests as the grader has them: the clean one, or a copy with those of ``test_patch``.

    Raises :class:`DataError`, :class:`InfrastructureFault`.
    """
    clean = tasks.tree(tasks.profile(instance))
    if not instance.test_patch:
        return clean
    ready = tasks.folder / "prepared" / instance.instance_id / "graded"
    if ready.is_dir():
        return ready
    ready.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=ready.parent) as scratch:
        tree = Path(scratch) / "tree"
        shutil.copytree(clean, tree, symlinks=True)
        _fill(tree, hidden_files(tasks, instance))
        try:
            tree.rename(ready)
        except OSError as error:
            if not ready.is_dir():  # else another worker was quicker
                raise InfrastructureFault(f"could not prepare {instance.instance_id}: {error}") from error
    return ready


def _fill(tree: Path, files: Mapping[str, bytes]) -> None:
    for path, data in files.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_bytes(data)
