"""What a task set holds: repositories (:class:`Profile`) and tasks (:class:`Instance`), as JSON.

Field names are those of SWE-smith and SWE-bench where these have one. In SWE-smith ``patch`` *introduces* the bug, in
SWE-bench it *is* the repair: an instance states its polarity.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

import attrs
from attrs import field, frozen
from attrs.validators import in_

from camg.errors import DataError

BUG = "bug"  # the patch leads from the clean tree to the task's; gold is its reverse (SWE-smith)
FIX = "fix"  # the patch is the repair of the tree (SWE-bench, SWE-Gym)

T = TypeVar("T", bound="Profile | Instance")


def _strings(value: Any) -> tuple[str, ...]:
    return tuple(value)


@frozen(kw_only=True)
class Profile:
    """One repository at one revision: how it is run and tested."""

    key: str  # folder name in the set: owner__repo.commit8
    owner: str
    repo: str
    commit: str  # of a git source; the version of a source distribution
    source: str = field(validator=in_(("git", "sdist", "embedded", "pocket")))
    origin: str = ""  # name==version, or the repository's address (never a path of this machine)
    sha256: str = ""  # of the source distribution's file
    licence: str = ""
    python: str = ""  # major.minor
    requirements: tuple[str, ...] = field(default=(), converter=_strings)  # installed beside it, pinned
    roots: tuple[str, ...] = field(default=(".",), converter=_strings)  # folders of the tree on PYTHONPATH
    packages: tuple[str, ...] = field(default=(), converter=_strings)  # import names that the project provides
    tests: tuple[str, ...] = field(default=("tests",), converter=_strings)  # files and folders that hold its tests
    runner: str = field(default="pytest", validator=in_(("pytest", "plain")))
    arguments: tuple[str, ...] = field(default=(), converter=_strings)  # further arguments of pytest
    timeout: float = 90.0  # seconds of one run of the suite
    seconds: float = 0.0  # that the reference run took
    passing: tuple[str, ...] = field(default=(), converter=_strings)  # test ids that passed in every reference run
    flaky: tuple[str, ...] = field(default=(), converter=_strings)  # ids that passed in some: never graded
    hidden: tuple[str, ...] = field(default=(), converter=_strings)  # system paths with copies of the project


@frozen(kw_only=True)
class Instance:
    """One task. ``FAIL_TO_PASS`` and ``PASS_TO_PASS`` are pytest node ids relative to the repository's root."""

    instance_id: str  # owner__repo.commit8.strategy__hash8
    repo: str  # owner/name
    profile: str  # key of its Profile; "" where there is none: the row is not executable without its image
    patch: str
    polarity: str = field(validator=in_((BUG, FIX)))
    FAIL_TO_PASS: tuple[str, ...] = field(converter=_strings)
    PASS_TO_PASS: tuple[str, ...] = field(converter=_strings)
    problem_statement: str
    strategy: str = ""
    test_patch: str = ""  # adds the hidden tests (SWE-bench)
    hidden_tests: tuple[str, ...] = field(default=(), converter=_strings)  # test files that the policy does not see
    image_name: str = ""
    base_commit: str = ""
    created_at: str = ""


def dump(record: Profile | Instance) -> str:
    """One line of JSON."""
    return json.dumps(attrs.asdict(record), ensure_ascii=False)


def parse(kind: type[T], text: str, where: str) -> T:
    """The record in one line of JSON. ``where`` names file and line. Raises :class:`DataError`."""
    try:
        values = json.loads(text)
    except ValueError as error:
        raise DataError(f"Expected JSON in {where}: {error}.") from error
    if not isinstance(values, Mapping):
        raise DataError(f"Expected a JSON object in {where}, got {type(values).__name__}.")
    names = {attribute.name for attribute in attrs.fields(kind)}
    try:
        return kind(**{name: value for name, value in values.items() if name in names})
    except (TypeError, ValueError) as error:
        raise DataError(f"Expected a {kind.__name__} in {where}: {error}.") from error
