"""The contents of one file, and what chunks make of them. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from attrs import frozen

from camg_apply_patch.matching import Lines
from camg_apply_patch.parser import ADD, BEGIN, DELETE, END, UPDATE, Chunk, PatchError


@frozen
class _Replacement:
    start: int
    count: int
    new: tuple[str, ...]


def update(text: str, chunks: Sequence[Chunk], path: str) -> str:
    """``text`` after ``chunks``. ``path`` is for messages. Raises :class:`PatchError` if a chunk has no place.

    Chunks are sought in order, each after the one before; a chunk without old lines goes to the end. Lines that no
    chunk touches keep their ending, new ones take the file's usual one. The result ends with a newline.
    """
    whole = _split(text)
    ending = "\r\n" if 2 * sum(line.endswith("\r") for line in whole) > len(whole) else "\n"
    lines = [line.removesuffix("\r") for line in whole]
    parts: list[str] = []
    done = 0
    # from the first line to the last is the same as descending replacements, and linear
    for place in sorted(_places(lines, chunks, path), key=lambda place: place.start):
        parts += [line + "\n" for line in whole[done : place.start]]
        parts += [line + ending for line in place.new]
        done = place.start + place.count
    parts += [line + "\n" for line in whole[done:]]
    if ending == "\r\n" and done < len(whole) and not text.endswith("\n"):
        parts[-1] = whole[-1].removesuffix("\r") + ending
    return "".join(parts)


def _places(lines: list[str], chunks: Sequence[Chunk], path: str) -> list[_Replacement]:
    index, at = Lines(lines), 0
    places = []
    for chunk in chunks:
        if chunk.context is not None:
            found = index.find((chunk.context,), at)
            if found is None:
                raise PatchError(f"Failed to find context '{chunk.context[:200]}' in {path}")
            at = found + 1
        if not chunk.old:
            places.append(_Replacement(len(lines), 0, chunk.new))
            continue
        old, new = chunk.old, chunk.new
        found = index.find(old, at, at_end=chunk.end_of_file)
        if found is None and not old[-1]:
            # a blank line before the next marker reads as empty context; the file may have none there
            old, new = old[:-1], new[:-1] if new and not new[-1] else new
            found = index.find(old, at, at_end=chunk.end_of_file)
        if found is None:
            shown = "\n".join(chunk.old)
            raise PatchError(f"Failed to find expected lines in {path}:\n{shown[:1000]}")
        places.append(_Replacement(found, len(old), new))
        at = found + len(old)
    return places


def _split(text: str) -> list[str]:
    """Lines without their newline; a carriage return before it stays."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def render(old: str | None, new: str | None, path: str, *, context: int = 3) -> str:
    """A patch that turns ``old`` into ``new`` (None: no file), for demonstrators and tests.

    Each chunk brings ``context`` lines on either side, and more where these would be found too early. Exact for files
    of one kind of line ending whose last line is ended. Raises ``ValueError`` if there is nothing to do.
    """
    if new is None:
        if old is None:
            raise ValueError("Expected a file before or after the patch, got none.")
        body = [DELETE + path]
    elif old is None:
        body = [ADD + path, *("+" + line for line in _split(new))]
    else:
        body = [UPDATE + path, *_chunks(_bare(old), _bare(new), context)]
        if len(body) == 1:
            raise ValueError("Expected two different texts, got two empty ones.")
    return "\n".join([BEGIN, *body, END]) + "\n"


def _bare(text: str) -> list[str]:
    return [line.removesuffix("\r") for line in _split(text)]


def _chunks(old: list[str], new: list[str], context: int) -> list[str]:
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    groups = list(matcher.get_grouped_opcodes(max(1, context)))
    if not groups and old:  # only the last newline differs
        return ["@@", " " + old[-1], "*** End of File"]
    index, at = Lines(old), 0
    body: list[str] = []
    for group in groups:
        start, stop = group[0][1], group[-1][2]
        lead = start if index.find(old[start:stop], at) == start else at
        body += ["@@", *(" " + line for line in old[lead:start])]
        for tag, i, j, k, m in group:
            if tag == "equal":
                body += [" " + line for line in old[i:j]]
            else:
                body += ["-" + line for line in old[i:j]] + ["+" + line for line in new[k:m]]
        at = stop
    return body
