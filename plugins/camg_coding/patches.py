"""Git-style patches over texts in memory: write them, and apply them strictly.

Lines end at ``\\n`` alone, as in git: a carriage return belongs to its line. The format is git's (``git help diff``,
"Generating patch text with -p"); ``git apply`` takes what :func:`unified_diff` writes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher

from camg.errors import DataError
from camg_coding.patch_format import NO_NEWLINE, Change, Hunk, quoted, read_patch

CONTEXT = 3  # lines around a change


def unified_diff(before_files: Mapping[str, str], after_files: Mapping[str, str]) -> str:
    """The patch from one set of texts (path -> text) to another, files in order of path; "" where nothing differs.

    A path that only one side has is a new or a deleted file. Renames are not looked for.
    """
    paths = sorted({*before_files, *after_files})
    return "".join(_file_diff(path, before_files.get(path), after_files.get(path)) for path in paths)


def apply_patch(files: Mapping[str, str], patch: str, *, reverse: bool = False) -> Mapping[str, str | None]:
    """The files that a git-style patch changes: path -> new text, or None for a file that it deletes.

    ``files`` needs to hold the files that the patch names, and is left as it is. Context must match exactly, line ends
    included; a hunk whose lines are not where it says is placed elsewhere only if one single place fits. ``reverse``
    takes the patch back. Raises :class:`DataError`, naming file and hunk, for what is malformed or does not apply.
    """
    changes = read_patch(patch)
    if reverse:
        changes = [change.reversed() for change in reversed(changes)]
    result: dict[str, str | None] = {}
    for change in changes:
        _apply(change, files, result)
    return result


def lines_of(text: str) -> list[str]:
    """The lines with their ``\\n``; the last one may have none."""
    lines = [line + "\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


# ---------------------------------------------------------------- writing
def _file_diff(path: str, before: str | None, after: str | None) -> str:
    if before == after:
        return ""
    old, new = quoted(f"a/{path}"), quoted(f"b/{path}")
    header = [f"diff --git {old} {new}"]
    if before is None:
        header.append("new file mode 100644")
    if after is None:
        header.append("deleted file mode 100644")
    index = f"index {_blob(before)}..{_blob(after)}"
    header.append(index if before is None or after is None else f"{index} 100644")
    hunks = "".join(_hunks(lines_of(before or ""), lines_of(after or "")))
    if hunks:
        header.append(f"--- {'/dev/null' if before is None else _named(old)}")
        header.append(f"+++ {'/dev/null' if after is None else _named(new)}")
    return "".join(f"{line}\n" for line in header) + hunks


def _named(path: str) -> str:
    """git ends a name that has a space with a tab, so that other tools see where it ends."""
    return f"{path}\t" if " " in path and not path.startswith('"') else path


def _blob(text: str | None) -> str:
    """The short id of the text as a git object."""
    if text is None:
        return "0" * 7
    data = text.encode("utf-8", "surrogateescape")
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()[:7]


def _hunks(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    # most changes are small: what is the same at both ends need not be searched
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    first, last = max(head - CONTEXT, 0), max(tail - CONTEXT, 0)
    old, new = before[first : len(before) - last], after[first : len(after) - last]
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(CONTEXT):
        body = []
        for tag, i, i_end, j, j_end in group:
            if tag == "equal":
                body += [_line(" ", line) for line in old[i:i_end]]
            else:
                body += [_line("-", line) for line in old[i:i_end]]
                body += [_line("+", line) for line in new[j:j_end]]
        left = _range(first + group[0][1], first + group[-1][2])
        right = _range(first + group[0][3], first + group[-1][4])
        yield f"@@ -{left} +{right} @@\n" + "".join(body)


def _line(sign: str, line: str) -> str:
    return sign + line if line.endswith("\n") else f"{sign}{line}\n{NO_NEWLINE}\n"


def _range(start: int, end: int) -> str:
    """Lines ``start`` to ``end`` (0-based, exclusive) as in a hunk's header; an empty range names the line before."""
    count = end - start
    if count == 1:
        return str(start + 1)
    return f"{start + 1 if count else start},{count}"


# ---------------------------------------------------------------- applying
def _apply(change: Change, files: Mapping[str, str], result: dict[str, str | None]) -> None:
    def now(path: str) -> str | None:
        return result[path] if path in result else files.get(path)

    name = change.new or change.old or ""
    text = ""
    if change.old is not None:
        present = now(change.old)
        if present is None:
            raise DataError(f"patch does not apply: {change.old}: expected an existing file, got none of this name")
        text = present
    if change.new is not None and change.new != change.old and now(change.new) is not None:
        raise DataError(f"patch does not apply: {name}: expected to create this file, but it exists")
    text = _patched(name, lines_of(text), change.hunks)
    if change.new is None and text:
        raise DataError(f"patch does not apply: {name}: expected to delete all of the file, but lines are left in it")
    if change.old is not None and change.old != change.new and not change.copy:
        result[change.old] = None
    if change.new is not None:
        result[change.new] = text


def _patched(name: str, lines: Sequence[str], hunks: Sequence[Hunk]) -> str:
    done: list[str] = []
    position = shift = 0
    for number, hunk in enumerate(hunks, 1):
        stated = hunk.start + shift
        place = _place(lines, hunk, stated, position, f"{name}: hunk {number} of {len(hunks)} (line {hunk.start + 1})")
        shift += place - stated
        done += [*lines[position:place], *hunk.new]
        position = place + len(hunk.old)
    done += lines[position:]
    for line in done[:-1]:
        if not line.endswith("\n"):
            raise DataError(f"patch does not apply: {name}: a line without line end would stand within the file")
    return "".join(done)


def _place(lines: Sequence[str], hunk: Hunk, stated: int, least: int, where: str) -> int:
    """Where the hunk's old lines are, at or after line ``least``."""
    size = len(hunk.old)

    def fits(place: int) -> bool:
        return list(lines[place : place + size]) == list(hunk.old)

    if least <= stated <= len(lines) and fits(stated):
        return stated
    places = [place for place in range(least, len(lines) - size + 1) if fits(place)] if size else []
    if len(places) == 1:
        return places[0]
    if places:
        found = ", ".join(str(place + 1) for place in places[:5])
        raise DataError(f"patch does not apply: {where}: the lines are not where it says, and fit at lines {found}")
    got = lines[stated].rstrip("\r\n") if 0 <= stated < len(lines) else "the end of the file"
    wanted = hunk.old[0].rstrip("\r\n") if hunk.old else "a line to insert after"
    raise DataError(f"patch does not apply: {where}: its lines are not in the file: expected {wanted!r}, got {got!r}")
