"""The prompt, compiled from what is committed: ``system/`` in full, everything else as paths."""

from __future__ import annotations

from collections.abc import Mapping

from camg.protocols import ChatCodec
from camg.workspace.checkpoint import FOLDER
from camg.workspace.limits import truncate_tokens
from camg_letta.commands import plain
from camg_letta.frontmatter import Parsed, Wrong, checked, valid
from camg_letta.repository import Entry

SELF = "system/persona.md"
_PATHS, _PATH_CHARACTERS = 200, 160  # of the tree of other files that is shown
_LEAST = 64  # tokens: less of a file is not worth its frame

ABOUT = f"""\
Your memory is the folder {FOLDER}, a git repository of Markdown files with front matter. Files below system/ stand here
in full, all others as paths (read them with the shell). Your context is bounded, and old steps disappear from it: keep
what you will need. This text is made from the last commit whenever a context begins. The tool `memory` edits one file
and commits, with `reason` as the message, from a clean work tree: create(file_path, description, file_text?),
str_replace(file_path, old_string, new_string; the first match), insert(file_path, insert_line from 1, insert_text),
delete(file_path; a folder too), rename(old_path, new_path), update_description(file_path, description). You may also
edit with the shell and `git commit` in {FOLDER}. A file below system/ or reference/ begins with the lines ---,
description: what it is for, --- ; other keys are refused, and a file that is read_only stays as it is."""
ABOUT_TERSE = "memory keeps files; system/ is shown."
NO_ROOM = "(not shown: no room)"


def compile_prompt(entries: Mapping[str, Entry], texts: Mapping[str, str], codec: ChatCodec, tokens: int) -> str:
    """The part of the prompt that shows the files, of about ``tokens`` tokens at most.

    ``texts``: of the files below ``system/`` and ``reference/`` that could be read. Where the room ends a file is cut,
    and those after it are paths alone, as everything outside ``system/`` is. Wrong front matter is named.
    """
    left = tokens - tokens // 4  # the rest is for the paths
    blocks: list[str] = []
    others: list[str] = []
    for path in sorted(entries, key=lambda path: (path != SELF, not path.startswith("system/"), path)):
        fault, file = _judge(path, entries[path], texts.get(path))
        whole = block(path, file, codec.terse) if file is not None and path.startswith("system/") else ""
        if whole and left >= _LEAST:
            blocks.append(truncate_tokens(whole, left, codec))
            left -= len(codec.encode(blocks[-1])) + 1
        else:
            fault = fault or (NO_ROOM if whole else "")
            others.append(f"{plain(path, _PATH_CHARACTERS)}{fault and ' '}{fault}")
    if others:
        tree = [*others[:_PATHS], *([f"and {len(others) - _PATHS} more"] if len(others) > _PATHS else [])]
        heading = "files:" if codec.terse else "Other files:"
        blocks.append(truncate_tokens("\n".join([heading, *tree]), max(left, 0) + tokens // 4, codec))
    return "\n".join(blocks)


def _judge(path: str, entry: Entry, text: str | None) -> tuple[str, Parsed | None]:
    """What is wrong with a committed file, and the file if nothing is and its text is known."""
    if entry.kind != "file":
        return f"({entry.kind})", None
    if not checked(path):
        return "", None
    if text is None:
        return "(too large to be shown)", None
    try:
        return "", valid(text)
    except Wrong as error:
        return f"(not shown: {error})", None


def block(path: str, file: Parsed, terse: bool) -> str:
    """How a file reads that is shown in full."""
    body = file.body.strip("\n")
    if terse:
        return f"{path}: {body}"
    if path == SELF:
        return f"<self>\n{body}\n</self>"
    return f'<file path="{path}" description="{file.value("description")}">\n{body}\n</file>'
