"""A patch, executed over a box: hunk after hunk and not atomic, as in the reference.

Paths are relative to the workspace root; absolute ones are refused, also where they lead into it. Everything goes
through the box's own file methods, which follow no link: a link, device, folder or path outside is an error.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import TypeVar

from attrs import define, field

from camg.protocols import Box
from camg_apply_patch.contents import update
from camg_apply_patch.parser import AddFile, DeleteFile, Hunk, PatchError, UpdateFile, parse

_T = TypeVar("_T")
FILE_BYTES = 4 << 20  # of a file to be updated


@define
class Applied:
    """What a patch did. ``written``: path -> its new bytes, None if it was removed. ``error``: why it stopped."""

    written: dict[str, bytes | None] = field(factory=dict)
    summary: list[str] = field(factory=list)  # "A path", "M path", "D path"
    error: str = ""

    @property
    def text(self) -> str:
        """The observation."""
        if not self.error:
            return "\n".join(["Success. Updated the following files:", *self.summary])
        done = ["Done before the failure, and kept:", *self.summary] if self.summary else []
        return "\n".join([self.error, *done])


def apply_patch(box: Box, text: str) -> Applied:
    """Parse ``text`` and execute it in ``box``. Never raises for what the patch holds or meets."""
    done = Applied()
    try:
        hunks = parse(text)
        if not hunks:
            raise PatchError("No files were modified.")
        for hunk in hunks:
            _apply(box, hunk, done)
    except PatchError as error:
        done.error = str(error)
    return done


def _apply(box: Box, hunk: Hunk, done: Applied) -> None:
    path = inside(hunk.path)
    if isinstance(hunk, AddFile):
        _require_place(box, path)
        _write(box, path, hunk.text.encode(), done, "A")
    elif isinstance(hunk, DeleteFile):
        _try(f"Failed to delete file {path}", lambda: box.read(path, 1))
        _try(f"Failed to delete file {path}", lambda: box.remove(path))
        done.written[path] = None
        done.summary.append(f"D {path}")
    else:
        _update(box, path, hunk, done)


def _update(box: Box, path: str, hunk: UpdateFile, done: Applied) -> None:
    target = inside(hunk.move_to) if hunk.move_to is not None else path
    data = _try(f"Failed to read file to update {path}", lambda: box.read(path, FILE_BYTES + 1))
    if len(data) > FILE_BYTES:
        raise PatchError(f"Failed to read file to update {path}: it is larger than {FILE_BYTES} bytes")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise PatchError(f"Failed to read file to update {path}: it is no UTF-8 text") from error
    changed = update(text, hunk.chunks, path).encode()
    if target != path:
        _require_place(box, target)
    _write(box, target, changed, done, "M")
    if target != path:
        _try(f"Failed to remove original {path}", lambda: box.remove(path))
        done.written[path] = None


def inside(path: str) -> str:
    """``path`` in its plain form. Raises :class:`PatchError` unless it is relative and stays in the workspace."""
    names = [name for name in path.split("/") if name not in ("", ".")]
    if path.startswith("/"):
        raise PatchError(f"Invalid path '{path[:200]}': paths are relative to the workspace root, never absolute")
    if not names or ".." in names or "\0" in path or path.endswith("/"):
        raise PatchError(f"Invalid path '{path[:200]}': expected a file inside the workspace")
    return "/".join(names)


def _require_place(box: Box, path: str) -> None:
    """Is ``path`` free, or a regular file? The box's write would put a file in place of a link."""

    def look() -> None:
        try:
            box.read(path, 1)
        except FileNotFoundError:
            return

    _try(f"Failed to write file {path}", look)


def _write(box: Box, path: str, data: bytes, done: Applied, letter: str) -> None:
    _try(f"Failed to write file {path}", lambda: box.write(path, data))
    done.written[path] = data
    done.summary.append(f"{letter} {path}")


def _try(what: str, act: Callable[[], _T]) -> _T:
    try:
        return act()
    except OSError as error:
        reason = "it is a symbolic link" if error.errno == errno.ELOOP else error.strerror or str(error)
        raise PatchError(f"{what}: {reason}") from error
