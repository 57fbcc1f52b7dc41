"""The two strategies on control flow: invert_if, shuffle."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Sequence

from attrs import frozen

from camg_coding.mutate.blocks import Pieces, permuted, rest_end, units
from camg_coding.mutate.places import Place, choice
from camg_coding.mutate.scan import bracketed, gap, precedence, skip
from camg_coding.mutate.source import DEFINITIONS, Definition, Edit, Edits, Source
from camg_coding.mutate.walk import blocks, descendants, docstring

WINDOW = 4  # so many neighbouring statements change places at most
JUMPS = (ast.Return, ast.Raise, ast.Break, ast.Continue)
ACTS = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.Delete, ast.Import, ast.ImportFrom, ast.Assert)


def invert_if(source: Source, function: Definition) -> Iterator[Place]:
    """The bodies of ``if`` and ``else`` change places; so do the two values of a conditional expression."""
    for node, _ in descendants(function):
        edits = None
        if isinstance(node, ast.If) and node.orelse:
            edits = swapped_bodies(source, node)
        elif isinstance(node, ast.IfExp):
            edits = swapped_values(source, node)
        if edits:
            yield choice([edits])


def swapped_bodies(source: Source, node: ast.If) -> Edits | None:
    """The texts after the two colons change places. None for an ``if`` that goes on with ``elif``."""
    colon = gap(source.text, source.end(node.test), ":")
    body_end = rest_end(source, node.body[-1])
    keyword = skip(source.text, body_end)
    if colon is None or not source.text.startswith("else", keyword):
        return None
    other = gap(source.text, keyword + len("else"), ":")
    if other is None:
        return None
    last = rest_end(source, node.orelse[-1])
    body, orelse = source.text[colon.end : body_end], source.text[other.end : last]
    return Edit(colon.end, body_end, orelse), Edit(other.end, last, body)


def swapped_values(source: Source, node: ast.IfExp) -> Edits | None:
    """``a if c else b`` becomes ``b if c else a``."""
    first, second = gap(source.text, source.end(node.body), "if"), gap(source.text, source.end(node.test), "else")
    if first is None or second is None:
        return None
    start, end = source.start(node), source.end(node)
    bare = source.start(node.orelse) == second.right_start and precedence(node.orelse) <= precedence(node)
    orelse = bracketed(source.text[second.right_start : end], bare)
    return (
        Edit(start, first.left_end, orelse),
        Edit(second.right_start, end, source.text[start : first.left_end]),
    )


@frozen
class Effects:
    """What a statement does, as far as its order to others can matter."""

    reads: frozenset[str]
    writes: frozenset[str]
    acts: bool  # it may change or need something beyond the function's names
    jumps: bool


def effects(statements: Sequence[ast.stmt]) -> Effects:
    """The effects of some statements, everything within them included."""
    nodes = [node for statement in statements for node in ast.walk(statement)]
    names = [node for node in nodes if isinstance(node, ast.Name)]
    stores = (ast.Attribute, ast.Subscript)
    bound = [node.name for node in nodes if isinstance(node, DEFINITIONS)]
    return Effects(
        frozenset(name.id for name in names if isinstance(name.ctx, ast.Load)),
        frozenset([*bound, *(name.id for name in names if not isinstance(name.ctx, ast.Load))]),
        any(isinstance(node, ACTS) or (isinstance(node, stores) and isinstance(node.ctx, ast.Store)) for node in nodes),
        any(isinstance(node, JUMPS) for node in nodes),
    )


def ordered(first: Effects, second: Effects) -> bool:
    """Whether the order of the two can matter."""
    return bool(
        first.jumps
        or second.jumps
        or (first.acts and second.acts)
        or first.writes & (second.reads | second.writes)
        or second.writes & first.reads
    )


def shuffle_statements(source: Source, function: Definition) -> Iterator[Place]:
    """Up to four neighbouring statements of a block change places, two of them such that their order can matter."""
    for owner, _, block in blocks(function):
        fixed = 1 if docstring(owner, block) else 0
        while fixed < len(block) and isinstance(block[fixed], ast.Global | ast.Nonlocal):
            fixed += 1
        pieces = units(source, block[fixed:])
        done = [effects(statements) for _, statements in pieces]
        pairs = [
            (i, j)
            for i in range(len(pieces))
            for j in range(i + 1, min(i + WINDOW, len(pieces)))
            if ordered(done[i], done[j])
        ]
        if not pairs:
            continue

        def draw(rng: random.Random, pieces: Pieces = pieces, pairs: list[tuple[int, int]] = pairs) -> Edits:
            i, j = rng.choice(pairs)
            order = list(range(i, j + 1))
            while order.index(i) < order.index(j):
                rng.shuffle(order)
            return permuted(source, [lines for lines, _ in pieces], [*range(i), *order, *range(j + 1, len(pieces))])

        yield draw
