"""The checkpoint's verdict: one way to pass, seven ways to fail."""

from __future__ import annotations

import pytest

from camg.types import Action, CheckpointFailure, FileState
from camg.workspace.checkpoint import NAME, judge

WRITE = Action(tool="shell_command", arguments={"command": "…"})
OLD = FileState("file", 3, "old")
NEW = FileState("file", 4, "new")
OTHER = FileState("file", 4, "other")


def verdict(before, after, action=WRITE):
    return judge(action, before, after, limit=10, filesystem_tools={"shell_command"})


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {NAME: NEW}),
        ({NAME: OLD}, {NAME: NEW}),
        ({NAME: OLD, "notes.md": OTHER}, {NAME: NEW, "notes.md": OTHER}),
        ({}, {NAME: NEW, "sub": FileState("directory")}),
        ({NAME: FileState("symlink")}, {NAME: NEW}),
        ({}, {NAME: FileState("file", 10, "just fits")}),
    ],
)
def test_valid_writes(before, after):
    assert verdict(before, after).accepted


@pytest.mark.parametrize(
    ("failure", "before", "after", "action"),
    [
        (CheckpointFailure.UNPARSEABLE, {}, {NAME: NEW}, Action(tool=None, fault="no_action")),
        (CheckpointFailure.NOT_FILESYSTEM, {}, {}, Action(tool="search", arguments={"keywords": "x"})),
        (CheckpointFailure.UNCHANGED, {NAME: OLD}, {NAME: OLD}, WRITE),
        (CheckpointFailure.UNCHANGED, {}, {}, WRITE),
        (CheckpointFailure.UNCHANGED, {NAME: OLD}, {NAME: OLD, "notes.md": OTHER}, WRITE),
        (CheckpointFailure.NOT_REGULAR, {}, {NAME: FileState("symlink")}, WRITE),
        (CheckpointFailure.NOT_REGULAR, {NAME: OLD}, {NAME: FileState("directory")}, WRITE),
        (CheckpointFailure.NOT_REGULAR, {NAME: OLD}, {}, WRITE),
        (CheckpointFailure.NOT_REGULAR, {}, {NAME: FileState("file", 4, "new", links=2)}, WRITE),
        (CheckpointFailure.NOT_REGULAR, {}, {".": FileState("symlink")}, WRITE),
        (CheckpointFailure.EMPTY, {NAME: OLD}, {NAME: FileState("file", 0, "")}, WRITE),
        (CheckpointFailure.TOO_LARGE, {}, {NAME: FileState("file", 11, "big")}, WRITE),
        (CheckpointFailure.OTHER_FILES, {}, {NAME: NEW, "notes.md": OTHER}, WRITE),
        (CheckpointFailure.OTHER_FILES, {NAME: OLD, "notes.md": OTHER}, {NAME: NEW}, WRITE),
    ],
)
def test_failures(failure, before, after, action):
    found = verdict(before, after, action)
    assert not found.accepted
    assert found.failure is failure
    assert found.detail
