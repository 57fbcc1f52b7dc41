"""The text of a patch -> what it asks for. Pure.

The grammar and its lenience are those of Codex ``apply_patch``: markers and the whole patch may be padded, a heredoc
wrapper is taken off, the first chunk of a file may lack its ``@@``, a blank line in a chunk is an empty context line.
"""

from __future__ import annotations

from attrs import define, frozen

BEGIN, END = "*** Begin Patch", "*** End Patch"
ADD, DELETE, UPDATE = "*** Add File: ", "*** Delete File: ", "*** Update File: "
MOVE, END_OF_FILE = "*** Move to: ", "*** End of File"
PATCH_BYTES = 1 << 20

_HEREDOCS = ("<<EOF", "<<'EOF'", '<<"EOF"')


class PatchError(ValueError):
    """A patch that cannot be applied; the message is what the policy reads."""


@frozen
class AddFile:
    """Create or overwrite ``path`` with ``text``. ``line``: where the hunk stands in the patch, from 1."""

    path: str
    text: str
    line: int


@frozen
class DeleteFile:
    """Remove the file ``path``."""

    path: str
    line: int


@frozen
class Chunk:
    """Replace the lines ``old`` by ``new``, after the line ``context`` if there is one."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    line: int
    context: str | None = None
    end_of_file: bool = False  # ``old`` are the last lines of the file


@frozen
class UpdateFile:
    """Change ``path`` chunk by chunk, then put it at ``move_to`` if that is given."""

    path: str
    chunks: tuple[Chunk, ...]
    line: int
    move_to: str | None = None


Hunk = AddFile | DeleteFile | UpdateFile


def parse(text: str) -> tuple[Hunk, ...]:
    """The hunks of a patch, in order; none if it is empty. Raises :class:`PatchError` and nothing else."""
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise PatchError("invalid patch: it holds characters that are no valid Unicode text") from error
    if size > PATCH_BYTES:
        raise PatchError(f"invalid patch: it has {size} bytes, the limit is {PATCH_BYTES}")
    lines = [line.removesuffix("\r") for line in text.strip().split("\n")]
    cursor = _Cursor(_unwrapped(lines), 1)
    hunks: list[Hunk] = []
    while cursor.more():
        hunks.append(_hunk(cursor))
    return tuple(hunks)


@define
class _Cursor:
    """A place in the patch; ``lines`` end before the end marker."""

    lines: list[str]
    at: int

    def more(self) -> bool:
        return self.at < len(self.lines)

    def peek(self) -> str:
        return self.lines[self.at]

    def error(self, message: str, line: int | None = None) -> PatchError:
        return PatchError(f"invalid hunk at line {line or self.at + 1}, {message}")


def _unwrapped(lines: list[str]) -> list[str]:
    """The lines from the begin marker up to the end marker, which is left out."""
    inner = lines
    if len(lines) >= 4 and lines[0].strip() in _HEREDOCS and lines[-1].strip().endswith("EOF"):
        inner = lines[1:-1]
    if inner[0].strip() != BEGIN:
        raise PatchError(f"invalid patch: The first line of the patch must be '{BEGIN}'")
    if len(inner) < 2 or inner[-1].strip() != END:
        raise PatchError(f"invalid patch: The last line of the patch must be '{END}'")
    return inner[:-1]


def _hunk(cursor: _Cursor) -> Hunk:
    head, line = cursor.peek().strip(), cursor.at + 1
    for marker in (ADD, DELETE, UPDATE):
        if head.startswith(marker):
            cursor.at += 1
            path = head[len(marker) :].strip()
            if marker is ADD:
                return AddFile(path, _added(cursor), line)
            return DeleteFile(path, line) if marker is DELETE else _update(cursor, path, line)
    valid = ", ".join(f"'{marker}{{path}}'" for marker in (ADD, DELETE, UPDATE))
    raise cursor.error(f"'{head[:200]}' is not a valid hunk header. Valid hunk headers: {valid}")


def _added(cursor: _Cursor) -> str:
    lines = []
    while cursor.more() and cursor.peek().startswith("+"):
        lines.append(cursor.peek()[1:] + "\n")
        cursor.at += 1
    return "".join(lines)


def _update(cursor: _Cursor, path: str, line: int) -> UpdateFile:
    move_to = None
    if cursor.more() and cursor.peek().strip().startswith(MOVE):
        move_to = cursor.peek().strip()[len(MOVE) :].strip()
        cursor.at += 1
    chunks: list[Chunk] = []
    while cursor.more():
        if not cursor.peek().strip():
            cursor.at += 1
        elif cursor.peek().lstrip().startswith("***"):
            break
        else:
            chunks.append(_chunk(cursor, first=not chunks))
    if not chunks:
        raise cursor.error(f"Update file hunk for path '{path}' is empty", line)
    return UpdateFile(path, tuple(chunks), line, move_to)


def _chunk(cursor: _Cursor, *, first: bool) -> Chunk:
    line, context = cursor.at + 1, None
    head = cursor.peek()
    if head.rstrip() == "@@" or head.startswith("@@ "):
        context = head[3:] or None
        cursor.at += 1
    elif not first:
        raise cursor.error(f"Expected update hunk to start with a @@ context marker, got: '{head[:200]}'")
    old: list[str] = []
    new: list[str] = []
    start, end_of_file = cursor.at, False
    while cursor.more() and not end_of_file:
        text = cursor.peek()
        if text.rstrip() == END_OF_FILE:
            if cursor.at == start:
                break
            end_of_file = True
        elif text[:1] in ("", " ", "+", "-"):
            if text[:1] != "+":
                old.append(text[1:])
            if text[:1] != "-":
                new.append(text[1:])
        elif cursor.at == start and not text.startswith("***"):
            rule = "Every line should start with ' ' (context line), '+' (added line), or '-' (removed line)"
            raise cursor.error(f"Unexpected line found in update hunk: '{text[:200]}'. {rule}")
        else:
            break
        cursor.at += 1
    if cursor.at == start:
        raise cursor.error("Update hunk does not contain any lines", line)
    return Chunk(tuple(old), tuple(new), line, context, end_of_file)
