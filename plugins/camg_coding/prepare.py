"""What a task's boxes start from: the tree that the policy sees, and the files that only the grader has.

The tree is made once for each task, when it is first needed: files that are the clean tree's are hard links to it,
which is safe because boxes never change their base. It holds the bug, none of the hidden tests, and no history.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from camg.errors import DataError, InfrastructureFault
from camg.types import Workspace
from camg_coding.config import PACKAGES
from camg_coding.patches import apply_patch
from camg_coding.records import BUG, Instance, Profile
from camg_coding.store import TaskSet

ROOT = "/workspace"
_GIT = {"GIT_AUTHOR_DATE": "2000-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2000-01-01T00:00:00Z"}


def workspace(tasks: TaskSet, profile: Profile, base: Path, *, image: str = "") -> Workspace:
    """A box over the tree ``base`` in which the project is importable and its tests can run."""
    packages = tasks.packages(profile)
    roots = [os.path.normpath(f"{ROOT}/{root}") for root in profile.roots]
    return Workspace(
        base=base,
        inputs={PACKAGES: packages} if packages.is_dir() else {},
        variables={"PYTHONPATH": ":".join([*roots, PACKAGES]), "PYTHONDONTWRITEBYTECODE": "1"},
        hidden=profile.hidden,
        image=image,
    )


def touched(tasks: TaskSet, instance: Instance, patch: str, *, reverse: bool = False) -> Mapping[str, bytes | None]:
    """The files of the clean tree after ``patch``: path -> content, None where it is removed. Raises DataError."""
    tree = tasks.tree(tasks.profile(instance))
    return {
        path: None if text is None else text.encode("utf-8", "surrogateescape")
        for path, text in apply_patch(Files(tree), patch, reverse=reverse).items()
    }


def hidden_files(tasks: TaskSet, instance: Instance) -> Mapping[str, bytes]:
    """The test files that only the grader has: path -> content."""
    tree = tasks.tree(tasks.profile(instance))
    files = {path: (tree / path).read_bytes() for path in instance.hidden_tests if (tree / path).is_file()}
    if instance.test_patch:
        files |= {
            path: data for path, data in touched(tasks, instance, instance.test_patch).items() if data is not None
        }
    return files


def public_tree(tasks: TaskSet, instance: Instance, *, git: bool = True) -> Path:
    """The tree that an episode starts from; made now if need be. Raises DataError, InfrastructureFault."""
    ready = tasks.folder / "prepared" / instance.instance_id / ("git" if git else "tree")
    if ready.is_dir():
        return ready
    ready.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=ready.parent) as scratch:
        tree = Path(scratch) / "tree"
        clean = tasks.tree(tasks.profile(instance))
        shutil.copytree(clean, tree, symlinks=True, copy_function=_link)
        for path in instance.hidden_tests:
            (tree / path).unlink(missing_ok=True)
        if instance.polarity == BUG:
            for path, data in touched(tasks, instance, instance.patch).items():
                _put(tree / path, data)
        if git:
            _commit(tree)
        try:
            tree.rename(ready)
        except OSError as error:
            if not ready.is_dir():  # else another worker was quicker
                raise InfrastructureFault(f"could not prepare {instance.instance_id}: {error}") from error
    return ready


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:  # another file system, or no right to link
        shutil.copy2(source, target, follow_symlinks=False)


def _put(path: Path, data: bytes | None) -> None:
    """Replace a file by a new one: never write through a hard link."""
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
    path.unlink(missing_ok=True)
    if data is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(mode)


def _commit(tree: Path) -> None:
    """A repository whose one commit is the tree: ``git diff`` shows the policy's own changes and nothing else."""
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(tree.parent), "LC_ALL": "C.UTF-8", **_GIT}
    environment |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    who = ["-c", "user.name=camg", "-c", "user.email=camg@localhost", "-c", "gc.auto=0"]
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A", "-f"], [*who, "commit", "-q", "-m", "Initial"]):
        try:
            subprocess.run(["git", "-C", str(tree), *arguments], env=environment, check=True, capture_output=True)
        except FileNotFoundError as error:
            raise DataError("Expected git on PATH.", hint="Install git, or pass --set coding.git=false.") from error
        except subprocess.CalledProcessError as error:
            reason = error.stderr.decode("utf-8", "replace").strip()
            raise InfrastructureFault(f"git {arguments[0]} failed in a prepared tree: {reason}") from error
    shutil.rmtree(tree / ".git" / "hooks", ignore_errors=True)


class Files(Mapping[str, str]):
    """The text files of a tree, read when asked for; bytes that are not UTF-8 become surrogate escapes."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree

    def __getitem__(self, path: str) -> str:
        try:
            return (self._tree / path).read_bytes().decode("utf-8", "surrogateescape")
        except OSError as error:
            raise KeyError(path) from error

    def __iter__(self) -> Iterator[str]:
        return (str(path.relative_to(self._tree)) for path in self._tree.rglob("*") if path.is_file())

    def __len__(self) -> int:
        return sum(1 for _ in self)
