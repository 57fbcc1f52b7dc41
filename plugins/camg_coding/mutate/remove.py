"""The four strategies that take statements away: assign, cond, loop, wrapper."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from camg_coding.mutate.blocks import outdented, removal, rest_end, starts_line
from camg_coding.mutate.places import Place, choice
from camg_coding.mutate.source import Definition, Edit, Source
from camg_coding.mutate.walk import blocks

CASE = re.compile(r"[ \t\f]*case\b[ \t\f(]*")


def remove_assignment(source: Source, function: Definition) -> Iterator[Place]:
    """An assignment, plain, augmented or annotated, is dropped."""
    for _, _, block in blocks(function):
        for index, statement in enumerate(block):
            if isinstance(statement, ast.Assign | ast.AugAssign) or (
                isinstance(statement, ast.AnnAssign) and statement.value is not None
            ):
                yield choice([removal(source, block, index)])


def remove_conditional(source: Source, function: Definition) -> Iterator[Place]:
    """An ``if`` with all its branches, one ``elif`` branch, or one ``case`` of a ``match`` is dropped."""
    for owner, name, block in blocks(function):
        for index, statement in enumerate(block):
            if isinstance(statement, ast.Match):
                yield from dropped_cases(source, statement)
            if not isinstance(statement, ast.If):
                continue
            start = source.start(statement)
            if isinstance(owner, ast.If) and name == "orelse" and source.text.startswith("elif", start):
                end = source.line_end(rest_end(source, statement.body[-1]), newline=True)
                yield choice([(Edit(source.line_start(start), end, ""),)])
            else:
                yield choice([removal(source, block, index)])


def dropped_cases(source: Source, statement: ast.Match) -> Iterator[Place]:
    """One place for each ``case`` of a ``match`` that has others."""
    for case in statement.cases if len(statement.cases) > 1 else ():
        start = source.offset(case.pattern.lineno, case.pattern.col_offset)
        head = source.line_start(start)
        if CASE.fullmatch(source.text, head, start):
            end = source.line_end(rest_end(source, case.body[-1]), newline=True)
            yield choice([(Edit(head, end, ""),)])


def remove_loop(source: Source, function: Definition) -> Iterator[Place]:
    """A loop is dropped, with its ``else``."""
    for _, _, block in blocks(function):
        for index, statement in enumerate(block):
            if isinstance(statement, ast.For | ast.AsyncFor | ast.While):
                yield choice([removal(source, block, index)])


def remove_wrapper(source: Source, function: Definition) -> Iterator[Place]:
    """A ``with`` gives way to its body, a ``try`` to its body, ``else`` and ``finally`` in this order."""
    for _, _, block in blocks(function):
        for statement in block:
            if isinstance(statement, ast.With | ast.AsyncWith | ast.Try | ast.TryStar) and starts_line(
                source, statement
            ):
                parts = [statement.body]
                if isinstance(statement, ast.Try | ast.TryStar):
                    parts += [part for part in (statement.orelse, statement.finalbody) if part]
                texts = [outdented(source, statement, part) for part in parts]
                bodies = [text for text in texts if text is not None]
                if len(bodies) == len(parts):
                    start = source.line_start(source.start(statement))
                    end = source.line_end(source.end(statement), newline=True)
                    yield choice([(Edit(start, end, "".join(bodies)),)])
