"""Reading git-style patches into records. Strict: what is no part of the format is an error, never skipped silently."""

from __future__ import annotations

import re
from collections.abc import Sequence

from attrs import evolve, field, frozen

from camg.errors import DataError

NO_NEWLINE = "\\ No newline at end of file"
HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
UNESCAPES = {code: letter for letter, code in ESCAPES.items()}


@frozen
class Hunk:
    """Lines ``old``, expected at 0-based line ``start``, become ``new``; ``new_start`` is the place in the new text."""

    start: int
    new_start: int
    old: tuple[str, ...]
    new: tuple[str, ...]


@frozen
class Change:
    """What a patch does to one file. ``old`` None: a new file; ``new`` None: a deleted one; not the same: a rename."""

    old: str | None
    new: str | None
    hunks: tuple[Hunk, ...] = ()
    copy: bool = False

    def reversed(self) -> Change:
        """The change that takes this one back."""
        hunks = tuple(Hunk(h.new_start, h.start, h.new, h.old) for h in self.hunks)
        return Change(self.new, None if self.copy else self.old, hunks)


def quoted(path: str) -> str:
    """The path as git writes it in a patch: in quotes, as escaped UTF-8, where it has unusual characters."""
    data = path.encode("utf-8", "surrogateescape")
    if all(32 <= byte < 127 and byte not in (34, 92) for byte in data):
        return path
    pieces = []
    for byte in data:
        if byte in UNESCAPES:
            pieces.append(f"\\{UNESCAPES[byte]}")
        else:
            pieces.append(chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}")
    return f'"{"".join(pieces)}"'


def unquoted(text: str) -> tuple[str, str]:
    """(path, rest) of a text that begins with a quoted path. Raises :class:`DataError`."""
    found = re.match(r'"((?:[^"\\]|\\.)*)"', text)
    if found is None:
        raise DataError(f"malformed patch: expected a path in quotes, got {text!r}")
    data = bytearray()
    for octal, letter, plain in re.findall(r"\\([0-7]{3})|\\(.)|([^\\]+)", found.group(1)):
        if octal:
            data.append(int(octal, 8) & 255)
        elif letter and letter not in ESCAPES:
            raise DataError(f"malformed patch: expected an escape that git writes, got \\{letter} in {text!r}")
        else:
            data += bytes([ESCAPES[letter]]) if letter else plain.encode("utf-8", "surrogateescape")
    return data.decode("utf-8", "surrogateescape"), text[found.end() :]


def read_patch(patch: str) -> list[Change]:
    """The changes of a patch in its order; [] for a blank one.

    Takes ``git diff`` and ``git format-patch`` output and plain unified diffs whose paths begin with ``a/`` and ``b/``.
    Raises :class:`DataError`, naming the line of the patch, for anything else, binary changes included.
    """
    return _Reader(patch).changes()


@frozen
class _Header:
    """What the lines before a file's hunks say."""

    old: str | None = None
    new: str | None = None
    created: bool = False
    deleted: bool = False
    copy: bool = False


@frozen
class _Reader:
    patch: str
    lines: list[str] = field(init=False)
    at: list[int] = field(init=False, factory=lambda: [0])  # the line that is read next

    @lines.default
    def _split(self) -> list[str]:
        return self.patch.removesuffix("\n").split("\n")

    def changes(self) -> list[Change]:
        found: list[Change] = []
        mail = False  # between a mail's signature and the next file
        while (line := self.peek()) is not None:
            if line.startswith("diff --git "):
                found.append(self.change(self.git_header()))
            elif line.startswith("--- ") and (self.peek(1) or "").startswith("+++ "):
                found.append(self.change(_Header()))
            elif found and line and line != "-- " and not mail:
                raise self.fault("a hunk or the next file", line)
            else:
                mail = mail or line == "-- "
                self.next()
                continue
            mail = False
        if not found and self.patch.strip():
            raise DataError("malformed patch: expected a unified diff, found no 'diff --git' and no '---', '+++' lines")
        return found

    def peek(self, ahead: int = 0) -> str | None:
        place = self.at[0] + ahead
        return self.lines[place] if place < len(self.lines) else None

    def next(self) -> str:
        self.at[0] += 1
        return self.lines[self.at[0] - 1]

    def fault(self, expected: str, got: str | None) -> DataError:
        shown = "the end of the patch" if got is None else repr(got[:80])
        return DataError(f"malformed patch: line {self.at[0] + 1}: expected {expected}, got {shown}")

    def git_header(self) -> _Header:
        """``diff --git`` and the extended header lines after it."""
        first = self.next().rstrip("\r")
        header = _Header(*_both(first.removeprefix("diff --git ")))
        while (line := self.peek()) is not None:
            line = line.rstrip("\r")
            key, _, value = line.partition(" ")
            if line.startswith("new file mode "):
                header = evolve(header, created=True)
            elif line.startswith("deleted file mode "):
                header = evolve(header, deleted=True)
            elif line.startswith(("rename from ", "copy from ")):
                header = evolve(header, old=_whole(value.removeprefix("from ")), copy=key == "copy")
            elif line.startswith(("rename to ", "copy to ")):
                header = evolve(header, new=_whole(value.removeprefix("to ")))
            elif line.startswith(("GIT binary patch", "Binary files ")):
                raise self.fault("a change of text", line)
            elif not line.startswith(("index ", "old mode ", "new mode ", "similarity index ", "dissimilarity index ")):
                break
            self.next()
        return header

    def change(self, header: _Header) -> Change:
        """The ``---`` and ``+++`` lines, where there are any, and the hunks."""
        old, new = header.old, header.new
        line = self.peek()
        if line is not None and line.startswith("--- "):
            old = _name(self.next())
            if not (self.peek() or "").startswith("+++ "):
                raise self.fault("a line '+++ b/PATH'", self.peek())
            new = _name(self.next())
        old, new = None if header.created else old, None if header.deleted else new
        if old is None and new is None:
            raise self.fault("the name of a file", self.peek())
        hunks = []
        while (line := self.peek()) is not None and line.startswith("@@"):
            hunks.append(self.hunk(new or old or ""))
        for path in (old, new):
            _check_path(path)
        return Change(old, new, tuple(hunks), header.copy)

    def hunk(self, name: str) -> Hunk:
        found = HUNK.match(self.peek() or "")
        if found is None:
            raise self.fault(f"a hunk of {name}, '@@ -LINE,COUNT +LINE,COUNT @@'", self.peek())
        self.next()
        old_start, new_start = int(found[1]), int(found[3])
        old_count, new_count = int(found[2] or 1), int(found[4] or 1)
        old: list[str] = []
        new: list[str] = []
        while len(old) < old_count or len(new) < new_count:
            line = self.peek()
            sign = line[:1] if line is not None else None
            if line is None or sign not in ("", " ", "-", "+"):
                raise self.fault(f"{old_count} old and {new_count} new lines in this hunk of {name}", line)
            self.next()
            text, sides = line[1:] + "\n", {"-": [old], "+": [new]}.get(line[:1], [old, new])
            if self.peek() is not None and (self.peek() or "").startswith("\\"):
                self.next()
                text = text[:-1]
            for side in sides:
                side.append(text)
        if len(old) > old_count or len(new) > new_count:
            raise self.fault(f"{old_count} old and {new_count} new lines in this hunk of {name}", "more of them")
        # an empty range names the line before it
        start, other = (old_start - 1 if old_count else old_start), (new_start - 1 if new_count else new_start)
        return Hunk(max(start, 0), max(other, 0), tuple(old), tuple(new))


def _both(names: str) -> Sequence[str | None]:
    """The two paths of ``diff --git``: quoted, or the same twice; (None, None) where later lines must tell."""
    if names.startswith('"'):
        old, rest = unquoted(names)
        new = unquoted(rest.strip())[0] if rest.strip().startswith('"') else rest.strip()
        return _stripped(old), _stripped(new)
    if names.endswith('"'):
        old, _, rest = names.partition(' "')
        return _stripped(old), _stripped(unquoted(f'"{rest}')[0])
    half = len(names) // 2
    old, new = names[:half], names[half + 1 :]
    return (_stripped(old), _stripped(new)) if _stripped(old) == _stripped(new) else (None, None)


def _whole(value: str) -> str:
    """The path of a rename or copy line, which has no ``a/`` or ``b/``."""
    return unquoted(value)[0] if value.startswith('"') else value


def _name(line: str) -> str | None:
    """The path of a ``---`` or ``+++`` line; None for /dev/null."""
    value = line[4:].rstrip("\r")
    path = unquoted(value)[0] if value.startswith('"') else value.split("\t", 1)[0]
    return None if path == "/dev/null" else _stripped(path)


def _stripped(path: str) -> str:
    """The path without its first part (``a/``, ``b/``), as ``git apply -p1`` takes it."""
    return path.partition("/")[2] or path


def _check_path(path: str | None) -> None:
    if path is not None and (path.startswith("/") or ".." in path.split("/") or not path):
        raise DataError(f"malformed patch: expected a path within the repository, got {path!r}")
