"""Statements as lines of text: take one out of its block, reorder a block, move a block out of its wrapper.

A statement that shares no line with others owns its lines, with the comment after it and the comment lines directly
above it (same indentation, no blank line between): they go where it goes. Everything else of the block stays as it is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from attrs import frozen

from camg_coding.mutate.source import Edit, Edits, Source, first_line, indentation
from camg_coding.mutate.walk import OPAQUE

REST = re.compile(r"[ \t\f]*;?[ \t\f]*(?:#[^\r\n]*)?(?=[\r\n]|\Z)")


@frozen
class Lines:
    """Whole lines ``first`` to ``last``, 1-based, that hold nothing but statements of one block."""

    first: int
    last: int


Pieces = list[tuple[Lines, tuple[ast.stmt, ...]]]


def starts_line(source: Source, statement: ast.stmt) -> bool:
    """Whether only white space is before the statement, and its line does not go on the line above."""
    start = source.start(statement)
    line = source.line_of(start)
    above = source.line(line - 1).rstrip("\r\n") if line > 1 else ""
    return not source.text[source.line_start(start) : start].strip(" \t\f") and not above.endswith("\\")


def ends_line(source: Source, statement: ast.stmt) -> bool:
    """Whether at most a semicolon and a comment follow the statement on its line."""
    return REST.match(source.text, source.end(statement)) is not None


def rest_end(source: Source, statement: ast.stmt) -> int:
    """Past the semicolon and comment that follow the statement on its line; its own end if a statement follows."""
    end = source.end(statement)
    found = REST.match(source.text, end)
    return found.end() if found else end


def owned(source: Source, block: Sequence[ast.stmt], index: int) -> Lines | None:
    """The lines of a statement with its comments, or None if it shares a line with something else."""
    statement = block[index]
    if not (starts_line(source, statement) and ends_line(source, statement)):
        return None
    first, last = first_line(statement), statement.end_lineno or statement.lineno
    above = (block[index - 1].end_lineno or 0) if index else 0
    indent = indentation(source.line(first))
    while first - 1 > above and source.line(first - 1).startswith(f"{indent}#"):
        first -= 1
    return Lines(first, last)


def removal(source: Source, block: Sequence[ast.stmt], index: int, *, blank_lines: bool = False) -> Edits:
    """Take statement ``index`` out of its block; the only one becomes ``pass``.

    ``blank_lines``: the blank lines that set the statement apart go too (methods of a class).
    """
    statement = block[index]
    start = source.start(statement)
    if len(block) == 1:
        return (Edit(start, rest_end(source, statement), "pass"),)
    lines = owned(source, block, index)
    if lines is not None:
        first, last = lines.first, lines.last
        if blank_lines:
            first, last = with_blank_lines(source, block, index, lines)
        return (Edit(*source.span(first, last), ""),)
    if index + 1 < len(block) and block[index + 1].lineno == statement.end_lineno:
        return (Edit(start, source.start(block[index + 1]), ""),)
    if index and block[index - 1].end_lineno == first_line(statement):
        return (Edit(source.end(block[index - 1]), source.end(statement), ""),)
    return (Edit(start, source.end(statement), "pass"),)


def with_blank_lines(source: Source, block: Sequence[ast.stmt], index: int, lines: Lines) -> tuple[int, int]:
    """The lines with the blank ones above them, or below them for the first statement of a block."""
    first, last = lines.first, lines.last
    if index:
        while not source.line(first - 1).strip():
            first -= 1
    else:
        while last + 1 < block[1].lineno and not source.line(last + 1).strip():
            last += 1
    return first, last


def units(source: Source, block: Sequence[ast.stmt]) -> Pieces:
    """The block as pieces that can change places: single statements, or those that share a line; [] where none can."""
    groups: list[list[int]] = []
    for index, statement in enumerate(block):
        if groups and block[index - 1].end_lineno == first_line(statement):
            groups[-1].append(index)
        else:
            groups.append([index])
    pieces = []
    for group in groups:
        head, tail = block[group[0]], block[group[-1]]
        if not (starts_line(source, head) and ends_line(source, tail)):
            return []
        alone = owned(source, block, group[0]) if len(group) == 1 else None
        lines = alone or Lines(first_line(head), tail.end_lineno or tail.lineno)
        pieces.append((lines, tuple(block[i] for i in group)))
    return pieces


def permuted(source: Source, places: Sequence[Lines], order: Sequence[int]) -> Edits:
    """Put the text of ``places[order[i]]`` where ``places[i]`` is; line ends and what lies between stay."""
    spans = []
    for lines in places:
        start, end = source.span(lines.first, lines.last)
        spans.append((start, end - len(source.line(lines.last)) + len(source.line(lines.last).rstrip("\r\n"))))
    return tuple(Edit(*spans[i], source.text[slice(*spans[taken])]) for i, taken in enumerate(order) if i != taken)


def outdented(source: Source, owner: ast.stmt, block: Sequence[ast.stmt]) -> str | None:
    """A block's text, one level up: indented as its owner is, ended by the owner's line end.

    Lines within string literals are left alone. None where the indentation of the two does not match (mixed tabs).
    """
    indent = indentation(source.line(owner.lineno))
    last = block[-1].end_lineno or block[-1].lineno
    end = source.line_end(source.end(block[-1]), newline=True)
    if not starts_line(source, block[0]):
        return indent + source.text[source.start(block[0]) : end]
    inner = indentation(source.line(first_line(block[0])))
    if not inner.startswith(indent):
        return None
    within = string_lines(block)
    head = owned(source, block, 0)
    pieces = []
    for number in range(head.first if head else first_line(block[0]), last + 1):
        line = source.line(number)
        moved = number not in within and line.startswith(inner)
        pieces.append(indent + line[len(inner) :] if moved else line)
    return "".join(pieces)


def string_lines(block: Sequence[ast.stmt]) -> set[int]:
    """The lines that begin within a string literal."""
    return {
        line
        for statement in block
        for node in ast.walk(statement)
        if isinstance(node, ast.expr)
        and (type(node).__name__ in OPAQUE or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)))
        for line in range(node.lineno + 1, (node.end_lineno or node.lineno) + 1)
    }
