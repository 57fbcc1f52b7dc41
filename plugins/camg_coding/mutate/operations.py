"""The four strategies on operators: break_chains, change_const, change, swap."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from camg_coding.mutate.places import Place, choice
from camg_coding.mutate.scan import ATOM, SYMBOLS, Gap, bracketed, gap, precedence
from camg_coding.mutate.source import Definition, Edit, Edits, Source
from camg_coding.mutate.walk import descendants

KINDS: tuple[tuple[type[ast.AST], ...], ...] = (
    (ast.Add, ast.Sub),
    (ast.Mult, ast.Div, ast.FloorDiv, ast.Mod),
    (ast.LShift, ast.RShift),
    (ast.BitAnd, ast.BitOr, ast.BitXor),
    (ast.Eq, ast.NotEq),
    (ast.Lt, ast.LtE, ast.Gt, ast.GtE),
    (ast.Is, ast.IsNot),
    (ast.In, ast.NotIn),
    (ast.And, ast.Or),
)
OTHERS: dict[type[ast.AST], tuple[str, ...]] = {
    operator: tuple(SYMBOLS[other] for other in kind if other is not operator) for kind in KINDS for operator in kind
}
# operands of these can change places without any effect on most values
SYMMETRIC = (ast.Mult, ast.BitAnd, ast.BitXor, ast.Eq, ast.NotEq, ast.Is, ast.IsNot)


def operands(node: ast.AST) -> tuple[Sequence[ast.expr], Sequence[ast.AST]]:
    """(operands, the operators between them) of an operation; both empty for what is none."""
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            return (left, right), (op,)
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            return (left, *comparators), ops
        case ast.BoolOp(op=op, values=values):
            return values, (op,) * (len(values) - 1)
        case ast.AugAssign(target=target, op=op, value=value):
            return (target, value), (op,)
        case _:
            return (), ()


def gaps(source: Source, node: ast.AST) -> list[Gap]:
    """Where the operators of an operation are; [] for what is none, or is written in no usual way."""
    values, operators = operands(node)
    found = []
    for left, operator in zip(values, operators, strict=False):
        symbol = SYMBOLS[type(operator)] + ("=" if isinstance(node, ast.AugAssign) else "")
        between = gap(source.text, source.end(left), symbol)
        if between is None:
            return []
        found.append(between)
    return found


def text_like(node: ast.expr) -> bool:
    """A literal text, whose ``+`` and ``%`` are no arithmetic."""
    if isinstance(node, ast.BinOp):
        return text_like(node.left) or text_like(node.right)
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def change_operator(source: Source, function: Definition) -> Iterator[Place]:
    """Another operator of the same kind. Texts are left out: another operator there is a mere TypeError."""
    for node, _ in descendants(function):
        values, operators = operands(node)
        if isinstance(node, ast.BinOp | ast.AugAssign) and any(map(text_like, values)):
            continue
        for operator, between in zip(operators, gaps(source, node), strict=False):
            others = OTHERS.get(type(operator), ())
            end = between.end - (1 if isinstance(node, ast.AugAssign) else 0)
            if others:
                yield choice([(Edit(between.start, end, other),) for other in others])


def swap_operands(source: Source, function: Definition) -> Iterator[Place]:
    """Two neighbouring operands change places, with the brackets that keep each whole."""
    for node, _ in descendants(function):
        if not isinstance(node, ast.BinOp | ast.Compare | ast.BoolOp):
            continue
        values, operators = operands(node)
        between = gaps(source, node)
        starts = [source.start(node), *(g.right_start for g in between)]
        ends = [*(g.left_end for g in between), source.end(node)]
        for i, operator in enumerate(operators[: len(between)]):
            if isinstance(operator, SYMMETRIC):
                continue
            level, power = precedence(operator), isinstance(operator, ast.Pow)
            tight = level if isinstance(operator, ast.BoolOp | ast.cmpop) else level + 1
            new_left = operand(source, values[i + 1], starts[i + 1], ends[i + 1], level + 1 if power else level)
            new_right = operand(source, values[i], starts[i], ends[i], level if power else tight)
            yield choice([(Edit(starts[i], ends[i], new_left), Edit(starts[i + 1], ends[i + 1], new_right))])


def operand(source: Source, node: ast.expr, start: int, end: int, least: int) -> str:
    """The text of an operand for a place that takes what binds at least as tightly as ``least``."""
    bare = source.start(node) == start and precedence(node) < least
    return bracketed(source.text[start:end], bare)


def break_chains(source: Source, function: Definition) -> Iterator[Place]:
    """``a + b + c`` loses one operand, with one operator."""
    for node, _ in descendants(function):
        values, _ = operands(node)
        between = gaps(source, node)
        if isinstance(node, ast.BinOp) and between:
            start, end, only = source.start(node), source.end(node), between[0]
            left = _inner_drops(source, node.left, start, only.left_end)
            right = _inner_drops(source, node.right, only.right_start, end)
            if left or right:
                outer = Edit(only.left_end, end, "") if left else Edit(start, only.right_start, "")
                yield choice([*left, *right, (outer,)])
        elif isinstance(node, ast.BoolOp | ast.Compare) and len(between) > 1:
            ends = [*(g.left_end for g in between), source.end(node)]
            first = Edit(source.start(node), between[0].right_start, "")
            yield choice([(first,), *((Edit(ends[i], ends[i + 1], ""),) for i in range(len(values) - 1))])


def _inner_drops(source: Source, node: ast.expr, start: int, end: int) -> list[Edits]:
    """The two ways to drop an operand of an operation within another; ``start`` to ``end``: with its brackets."""
    between = gaps(source, node) if isinstance(node, ast.BinOp) else []
    if not between or not isinstance(node, ast.BinOp):
        return []
    inner, inner_end = source.start(node), source.end(node)
    left = source.text[inner : between[0].left_end], node.left
    right = source.text[between[0].right_start : inner_end], node.right
    if inner == start:
        return [(Edit(between[0].left_end, inner_end, ""),), (Edit(inner, between[0].right_start, ""),)]
    return [
        (Edit(start, end, bracketed(kept, not kept.startswith("(") and precedence(operand) < ATOM)),)
        for kept, operand in (left, right)
    ]


def change_constant(source: Source, function: Definition) -> Iterator[Place]:
    """A number in an operation, an index or a slice, one more or one less, in the base that it is written in."""
    parents = {id(node): parent for node, parent in descendants(function)}
    for node, parent in descendants(function):
        if not (isinstance(node, ast.Constant) and type(node.value) in (int, float)):
            continue
        negative = isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.USub)
        around = parents[id(parent)] if isinstance(parent, ast.UnaryOp) else parent
        if not isinstance(around, ast.BinOp | ast.Compare | ast.AugAssign | ast.Subscript | ast.Slice):
            continue
        start, end = source.start(node), source.end(node)
        texts = [one_off(source.text[start:end], step, negative=negative) for step in (1, -1)]
        alternatives = [(Edit(start, end, text),) for text in texts if text is not None]
        if alternatives:
            yield choice(alternatives)


def one_off(literal: str, step: int, *, negative: bool) -> str | None:
    """The literal plus ``step``, in its own base and with its own separators; None where that is no other number.

    ``negative``: a minus stands before it, so that it shall not become 0 or less (``-0``, ``--1``).
    """
    value: int | float = ast.literal_eval(literal)
    changed = value + step
    if changed == value or (negative and changed <= 0):
        return None
    if isinstance(value, float):
        return repr(changed)
    prefix = literal[:2].lower()
    form = {"0x": "x", "0o": "o", "0b": "b"}.get(prefix, "d")
    if form != "d" and changed < 0:
        return None
    digits = format(changed, form if "_" not in literal else f"_{form}")
    if form == "x" and any(c.isupper() for c in literal[2:]):
        digits = digits.upper()
    return digits if form == "d" else literal[:2] + digits.rjust(len(literal) - 2, "0")
