"""Sandboxes: where commands run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

from camg.types import Change, CommandResult, Limits, Manifest, Workspace


@runtime_checkable
class Box(Protocol):
    """One episode's private machine. Its working folder is the workspace root."""

    def run(self, command: str, *, wall_seconds: float | None = None) -> CommandResult:
        """Run ``bash -c command`` from the workspace root.

        On return no process that the command started is left. Raises :class:`InfrastructureFault` only when the
        box itself is gone.
        """

    def manifest(self) -> Manifest:
        """The state of every path below ``.agent_memory``, seen without following links."""

    def read(self, path: str, limit: int) -> bytes:
        """At most ``limit`` bytes of a regular workspace file; no links are followed. Raises ``OSError``."""

    def write(self, path: str, data: bytes) -> None:
        """Place a file in the workspace (parents are made); no links are followed. Raises ``OSError``."""

    def remove(self, path: str) -> None:
        """Remove a workspace file, link or whole folder; no links are followed. Raises ``OSError``, also if absent."""

    def changes(self, base: Path, limit: int, skip: Callable[[str], bool]) -> Mapping[str, Change]:
        """How the workspace differs from the tree ``base``: relative path -> change, of ``limit`` bytes in all.

        ``skip``: paths (of folders or files) that are not looked at. See :func:`camg.workspace.changes.changes`.
        """

    def close(self) -> None:
        """Leave no process, mount or file. Safe to call twice."""


class Boxes(Protocol):
    """Opens further boxes beside an episode's own, with which they share nothing; whoever asks closes them."""

    def __call__(self, workspace: Workspace, *, limits: Limits | None = None) -> Box:
        """``limits``: None for those of the episode. Raises :class:`InfrastructureFault`."""


@runtime_checkable
class Sandbox(Protocol):
    """Opens boxes."""

    def open(self, label: str, *, limits: Limits, workspace: Workspace | None = None) -> Box:
        """A fresh box; None: with an empty workspace. Raises :class:`InfrastructureFault`."""

    def reconcile(self) -> int:
        """Remove what boxes of dead workers left behind; returns how many. Called at start."""

    def close(self) -> None: ...
