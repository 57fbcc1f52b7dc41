"""The three strategies on classes: rm_base, rm_funcs, shuffle_funcs."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Iterator

from camg_coding.mutate.blocks import owned, permuted, removal
from camg_coding.mutate.places import Place, choice, shuffled
from camg_coding.mutate.scan import TRIVIA, gap, skip
from camg_coding.mutate.source import Definition, Edit, Edits, Source

HEADER = re.compile(rf"class{TRIVIA}\w+")
COMMENT = re.compile(r"#[^\r\n]*")


def remove_base(source: Source, node: Definition) -> Iterator[Place]:
    """One base class is dropped (``object`` is not: nothing would change)."""
    if not isinstance(node, ast.ClassDef):
        return
    spans = arguments(source, node)
    for base in node.bases:
        index = next((i for i, (_, argument, _) in enumerate(spans) if argument is base), None)
        if index is None or (isinstance(base, ast.Name) and base.id == "object"):
            continue
        yield choice([without(source, node, spans, index)])


Argument = tuple[int, ast.expr | ast.keyword, int]


def arguments(source: Source, node: ast.ClassDef) -> list[Argument]:
    """(start, node, end) of what stands in the brackets after the class's name, each with its own brackets."""
    opening = opening_bracket(source, node)
    position = skip(source.text, opening + 1)
    found: list[Argument] = []
    items: list[ast.expr | ast.keyword] = [*node.bases, *node.keywords]
    for argument in sorted(items, key=lambda a: (a.lineno, a.col_offset)):
        start = source.offset(argument.lineno, argument.col_offset)
        end = source.offset(argument.end_lineno or argument.lineno, argument.end_col_offset or 0)
        for _ in range(COMMENT.sub("", source.text[position:start]).count("(")):
            end = skip(source.text, end) + 1
        found.append((position, argument, end))
        comma = gap(source.text[: source.end(node)], end, ",")
        position = comma.right_start if comma else end
    return found


def opening_bracket(source: Source, node: ast.ClassDef) -> int:
    """Where the list of base classes opens; after the type parameters, where there are any."""
    start = source.offset(node.lineno, node.col_offset)
    header = HEADER.match(source.text, start)
    position = skip(source.text, header.end() if header else start)
    parameters: list[ast.expr] = list(getattr(node, "type_params", ()))  # since Python 3.12
    if parameters:
        last = parameters[-1]
        position = source.text.index("]", source.offset(last.end_lineno or last.lineno, last.end_col_offset or 0)) + 1
    return skip(source.text, position)


def without(source: Source, node: ast.ClassDef, spans: list[Argument], index: int) -> Edits:
    """Drop one argument of the class with its comma, and the empty brackets after the last one."""
    start, _, end = spans[index]
    if len(spans) == 1:
        close = source.text.index(")", skip(source.text, end))
        return (Edit(opening_bracket(source, node), close + 1, ""),)
    if index + 1 < len(spans):
        return (Edit(start, spans[index + 1][0], ""),)
    return (Edit(spans[index - 1][2], end, ""),)


def methods(node: Definition) -> list[int]:
    """The places of a class's methods in its body."""
    if not isinstance(node, ast.ClassDef):
        return []
    return [i for i, s in enumerate(node.body) if isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef)]


def remove_method(source: Source, node: Definition) -> Iterator[Place]:
    """One method is dropped, with its decorators, its comments and the blank lines before it."""
    for index in methods(node):
        yield choice([removal(source, node.body, index, blank_lines=True)])


def shuffle_methods(source: Source, node: Definition) -> Iterator[Place]:
    """The methods of the class change places; what stands between them stays."""
    lines = [owned(source, node.body, index) for index in methods(node)]
    places = [found for found in lines if found is not None]
    if len(places) < 2 or len(places) < len(lines):
        return

    def draw(rng: random.Random) -> Edits:
        return permuted(source, places, shuffled(len(places), rng))

    yield draw
