"""From a workspace to a submission: the changes of source files, without what could turn the tests' results.

What decides the grade is never taken from the policy: tests and their helpers, configuration of pytest, start-up hooks
of Python, compiled code, and modules that would shadow pytest, its dependencies or the standard library.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from attrs import field, frozen

from camg.protocols import Box
from camg.types import Change
from camg_coding.config import DIFF_BYTES
from camg_coding.patches import lines_of, unified_diff
from camg_coding.records import Profile

MEMORY = ".agent_memory"
PATCH_CHARACTERS = 64 << 10  # of a submission's diff that are kept
_EFFORT = 100_000  # pairs of equal lines that showing one submission may cost

_SKIPPED = {MEMORY: "notes are never submitted", f"{MEMORY}.git": "", ".git": ""}
_CACHES = {"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox", ".nox", ".venv"}
_CONFIGURATION = {"pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml"}
_START_UP = {"sitecustomize", "usercustomize"}
_COMPILED = (".pyc", ".pyo", ".so", ".pyd", ".dll", ".dylib")
_TEST = re.compile(r"test_.*\.py|.*_test\.py|conftest\.py")
_TEST_FOLDER = re.compile(r"tests?|testing|test_.*|.*_tests?|unit_?tests?|t")
_KINDS = {"symlink": "a symbolic link", "other": "neither a file nor a folder"}


@frozen
class Submission:
    """``files``: path -> new content, None where the file is removed. ``dropped``: path -> why it does not count."""

    files: Mapping[str, bytes | None] = field(factory=dict)
    dropped: Mapping[str, str] = field(factory=dict)
    too_large: bool = False


def collect(box: Box, base: Path, profile: Profile, packages: Path) -> Submission:
    """What the policy changed in ``box``, which was opened over the tree ``base``."""
    skipped: dict[str, str] = {}

    def skip(path: str) -> bool:
        reason = _SKIPPED.get(path, "a cache" if path.rpartition("/")[2] in _CACHES else None)
        if reason:
            skipped[path] = reason
        return reason is not None

    changed = box.changes(base, DIFF_BYTES, skip)
    return sort_out(changed, profile, Names.of(base, profile, packages), skipped)


@frozen
class Names:
    """Names of modules that a submission may not bring: ``roots`` are the tree's folders that are on ``sys.path``."""

    roots: tuple[str, ...]
    present: frozenset[str]  # paths, relative to the tree, of what lies in the roots already
    reserved: frozenset[str]

    @classmethod
    def of(cls, base: Path, profile: Profile, packages: Path) -> Names:
        """From the tree before the policy's changes, and from what is installed beside it."""
        roots = tuple(dict.fromkeys("" if root == "." else root.strip("/") + "/" for root in (*profile.roots, ".")))
        present = {
            f"{root}{entry.name}" for root in roots if (base / root).is_dir() for entry in (base / root).iterdir()
        }
        installed = {entry.name.partition(".")[0] for entry in packages.iterdir()} if packages.is_dir() else set()
        known = {"pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "py"}
        return cls(roots, frozenset(present), frozenset(installed | known | _START_UP | sys.stdlib_module_names))

    def shadowed(self, path: str) -> str:
        """The module that a new file at ``path`` would shadow, or nothing."""
        for root in self.roots:
            if path.startswith(root):
                top = path.removeprefix(root).partition("/")[0]
                name = top.partition(".")[0]
                if name in self.reserved and f"{root}{top}" not in self.present:
                    return name
        return ""


def sort_out(
    changed: Mapping[str, Change], profile: Profile, names: Names, skipped: Mapping[str, str] | None = None
) -> Submission:
    """Divide changes into those that are graded and those that are not, with the reason."""
    files: dict[str, bytes | None] = {}
    dropped = dict(skipped or {})
    too_large = False
    for path, change in changed.items():
        reason = _KINDS.get(change.kind) or refused(path, profile) or _shadows(path, change, names)
        if reason:
            dropped[path] = reason
        elif change.kind == "large":
            too_large = True
            dropped[path] = f"the submission would be longer than {DIFF_BYTES} bytes"
        else:
            files[path] = None if change.kind == "removed" else change.data
    return Submission(files, dropped, too_large)


def refused(path: str, profile: Profile) -> str:
    """Why a change at ``path`` is no part of a submission, or nothing."""
    pure = PurePosixPath(path)
    name = pure.name
    if pure.parts[0] in _SKIPPED or ".git" in pure.parts:
        return "not the project's"
    if _is_test(path, profile):
        return "tests are the grader's"
    if name in _CONFIGURATION:
        return "configuration is the grader's"
    if any(part.partition(".")[0] in _START_UP for part in pure.parts) or name.endswith(".pth"):
        return "it would run when Python starts"
    if name.endswith(_COMPILED) or not _CACHES.isdisjoint(pure.parts):
        return "compiled or cached"
    if any(part.endswith((".dist-info", ".egg-info", ".egg-link")) for part in pure.parts):
        return "metadata of packages is the grader's"
    return ""


def test_folders(profile: Profile) -> tuple[str, ...]:
    """The listed folders whose whole content is the grader's (a folder of sources may be listed, for tests in it)."""
    listed = (test.strip("/") for test in profile.tests)
    return tuple(path for path in listed if _TEST_FOLDER.fullmatch(path.rpartition("/")[2]))


def _is_test(path: str, profile: Profile) -> bool:
    if _TEST.fullmatch(path.rpartition("/")[2]) or path in profile.tests:
        return True
    return any(path.startswith(folder + "/") for folder in test_folders(profile))


def _shadows(path: str, change: Change, names: Names) -> str:
    name = names.shadowed(path) if change.kind != "removed" else ""
    return f"it would shadow {name}" if name else ""


def show(submission: Submission, base: Path) -> str:
    """The submission as a unified diff for people, at most :data:`PATCH_CHARACTERS` long."""
    parts: list[str] = []
    left, effort = PATCH_CHARACTERS, _EFFORT
    for path, data in submission.files.items():
        if left <= 0:
            break
        old, new = _text(_read(base / path)), _text(data)
        effort -= _cost(old or "", new or "")
        if "\0" in (old or "") + (new or "") or effort < 0:
            size = "removed" if data is None else f"{len(data)} bytes"
            part = f"diff --git a/{path} b/{path}\n(not shown: {size})\n"
        else:
            before, after = ({} if text is None else {path: text} for text in (old, new))
            part = unified_diff(before, after)
        parts.append(part[:left])
        left -= len(part)
    return "".join(parts).encode("utf-8", "replace").decode("utf-8")


def _cost(old: str, new: str) -> int:
    """About what comparing takes: pairs of equal lines between the first and the last difference."""
    before, after = lines_of(old), lines_of(new)
    while before and after and before[-1] == after[-1]:
        before.pop(), after.pop()
    head = next(
        (i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after))
    )
    counts: dict[str, int] = {}
    for line in before[head:]:
        counts[line] = counts.get(line, 0) + 1
    return sum(counts.get(line, 0) for line in after[head:]) + len(after) - head


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")


def _read(path: Path) -> bytes | None:
    try:
        return None if path.is_symlink() else path.read_bytes()
    except OSError:
        return None
