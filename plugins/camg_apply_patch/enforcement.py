"""What a shell command did to files that only ``apply_patch`` may change, undone."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from attrs import define, field

from camg.protocols import Box
from camg.types import Change
from camg.workspace.checkpoint import FOLDER
from camg.workspace.tree import read_file

TEXT_BYTES = 1 << 20  # a longer file is no text to be patched
_READ_BYTES = 32 << 20  # of changed files in one comparison
_ABSENT = None


@define
class Undone:
    """``restored``: paths put back or removed. ``left``: how many changed files are binary, large or out of reach."""

    restored: list[str] = field(factory=list)
    left: int = 0


class Keeper:
    """Knows what tracked files should hold: as the workspace began, or as ``apply_patch`` last wrote them.

    Tracked are the text files of ``base`` (UTF-8 without NUL, at most 1 MiB), what ``apply_patch`` wrote, and
    everything below ``.agent_memory``. ``.git`` folders are the program's own and not looked at.
    """

    def __init__(self, box: Box, base: Path | None) -> None:
        self._box = box
        self._empty = tempfile.TemporaryDirectory(prefix="camg-empty-") if base is None else None
        self._base = Path(self._empty.name) if self._empty else base or Path()
        self._written: dict[str, bytes | None] = {}

    def wrote(self, files: Mapping[str, bytes | None]) -> None:
        """``apply_patch`` left these contents; None: it removed the file."""
        self._written.update(files)

    def enforce(self) -> Undone:
        """Put back whatever differs from what should be. Raises nothing for what the workspace holds."""
        found = dict(self._box.changes(self._base, _READ_BYTES, lambda path: path.rsplit("/", 1)[-1] == ".git"))
        undone = Undone()
        for path in sorted({*found, *self._written}):
            self._check(path, found, undone)
        return undone

    def _check(self, path: str, found: dict[str, Change], undone: Undone) -> None:
        change = found.get(path)
        memory = path == FOLDER or path.startswith(FOLDER + "/")
        if path in self._written:
            wanted = self._written[path]
        else:
            wanted = self._original(path)
            if wanted is _ABSENT and not memory:
                undone.left += self._has_original(path)
                return  # a product of the shell, or no text
        if self._now(path, change, wanted) == wanted:
            return
        try:
            if wanted is _ABSENT:
                found.pop(path, None)
                with suppress(FileNotFoundError):  # gone with what stood above it
                    self._box.remove(path)
            else:
                self._place(path, wanted, found)
        except OSError:
            undone.left += 1
            return
        undone.restored.append(path)

    def _now(self, path: str, change: Change | None, wanted: bytes | None) -> bytes | Change | None:
        """What stands at ``path``: bytes, None for nothing, or the change itself where it is no readable file."""
        if change is not None and change.kind == "removed":
            return None
        if change is not None and change.kind == "file":
            return change.data
        if change is not None and change.kind != "large":
            return change
        try:  # as in the base, or left unread
            return self._box.read(path, len(wanted or b"") + 1)
        except FileNotFoundError:
            return None
        except OSError:
            return change or Change("other")

    def _place(self, path: str, data: bytes, found: dict[str, Change]) -> None:
        names = path.split("/")
        for depth in range(1, len(names)):  # something that is no folder stands in the way
            above = "/".join(names[:depth])
            if above in found and found[above].kind != "removed":
                del found[above]
                self._box.remove(above)
                break
        try:
            self._box.write(path, data)
        except (IsADirectoryError, FileExistsError):
            self._box.remove(path)
            self._box.write(path, data)

    def _original(self, path: str) -> bytes | None:
        """The text that ``path`` began with; None if there was none, or no text."""
        try:
            data = self._read_base(path)
        except OSError:
            return None
        if len(data) > TEXT_BYTES or b"\0" in data:
            return None
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            return None
        return data

    def _has_original(self, path: str) -> bool:
        try:
            return bool(self._read_base(path))
        except OSError:
            return False

    def _read_base(self, path: str) -> bytes:
        root = os.open(self._base, os.O_RDONLY | os.O_DIRECTORY)
        try:
            return read_file(root, path, TEXT_BYTES + 1)
        finally:
            os.close(root)

    def close(self) -> None:
        """Remove what stood for an absent base."""
        if self._empty:
            self._empty.cleanup()
