"""The checkpoint: was this response a valid write of the continuation file? Pure (paper A.2, Context replacement).

While a checkpoint is pending each response is judged by two snapshots of ``.agent_memory``, one on either side of its
action. Valid: one filesystem action that changed exactly ``CONTINUATION.md`` into a regular, non-empty file within
the limit. The file is never written, cleared or read here.
"""

from __future__ import annotations

from collections.abc import Collection

from camg.types import Action, CheckpointFailure, CheckpointVerdict, FileState, Manifest

FOLDER = ".agent_memory"
NAME = "CONTINUATION.md"
PATH = f"{FOLDER}/{NAME}"

REASONS = {
    CheckpointFailure.UNPARSEABLE: "the response held no executable action",
    CheckpointFailure.NOT_FILESYSTEM: "the response was not a filesystem action",
    CheckpointFailure.UNCHANGED: f"{PATH} did not change",
    CheckpointFailure.NOT_REGULAR: f"{PATH} is not a regular file",
    CheckpointFailure.EMPTY: f"{PATH} is empty",
    CheckpointFailure.TOO_LARGE: f"{PATH} is over its size limit",
    CheckpointFailure.OTHER_FILES: "other memory files changed in the same response",
}


def changed_paths(before: Manifest, after: Manifest) -> set[str]:
    """Paths whose state differs. Folders are no memory: only what they hold counts."""
    absent = FileState(kind="directory")
    paths = set(before) | set(after)
    differs = {path for path in paths if before.get(path, absent) != after.get(path, absent)}
    return {p for p in differs if not (before.get(p, absent).kind == after.get(p, absent).kind == "directory")}


def judge(
    action: Action, before: Manifest, after: Manifest, *, limit: int, filesystem_tools: Collection[str]
) -> CheckpointVerdict:
    """The verdict over one response; ``limit`` in bytes."""
    failure = _failure(action, before, after, limit, filesystem_tools)
    if failure is None:
        return CheckpointVerdict(accepted=True)
    detail = REASONS[failure]
    if failure is CheckpointFailure.TOO_LARGE:
        detail += f" ({after[NAME].size} bytes, at most {limit})"
    if failure is CheckpointFailure.OTHER_FILES:
        others = sorted(changed_paths(before, after) - {NAME})
        detail += ": " + ", ".join(f"{FOLDER}/{path}"[:80] for path in others[:3])
    return CheckpointVerdict(accepted=False, failure=failure, detail=detail)


def _failure(
    action: Action, before: Manifest, after: Manifest, limit: int, filesystem_tools: Collection[str]
) -> CheckpointFailure | None:
    if action.fault is not None:
        return CheckpointFailure.UNPARSEABLE
    if action.tool not in filesystem_tools:
        return CheckpointFailure.NOT_FILESYSTEM
    changed = changed_paths(before, after)
    state = after.get(NAME)
    if NAME not in changed:
        # a link or folder in its place, or memory that is itself a link, never becomes right by staying
        misplaced = (state is not None and state.kind != "file") or "." in after
        return CheckpointFailure.NOT_REGULAR if misplaced else CheckpointFailure.UNCHANGED
    if state is None or state.kind != "file" or state.links != 1:
        return CheckpointFailure.NOT_REGULAR
    if state.size == 0:
        return CheckpointFailure.EMPTY
    if state.size > limit:
        return CheckpointFailure.TOO_LARGE
    if changed != {NAME}:
        return CheckpointFailure.OTHER_FILES
    return None
