"""What lies between two nodes: operators, keywords, brackets, and the white space and comments around them.

The tree says where operands are, not where their operator is, and leaves brackets around an operand out of it. Between
two operands stand only closing brackets, one operator and opening brackets, so a scan forward finds each.
"""

from __future__ import annotations

import ast
import re

from attrs import frozen

# possessive: what was skipped is never tried again
TRIVIA = r"(?:[ \t\f]|\\(?:\r\n|\r|\n)|\r\n|\r|\n|#[^\r\n]*+)*+"
SKIP = re.compile(TRIVIA)
CLOSERS = re.compile(rf"(?:{TRIVIA}\))*+")

SYMBOLS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.And: "and",
    ast.Or: "or",
}


@frozen
class Gap:
    """The way from one operand to the next, in character offsets.

    ``left_end``: past the brackets that close the left operand; ``start`` to ``end``: the operator; ``right_start``:
    the first character of the right operand, its opening brackets included.
    """

    left_end: int
    start: int
    end: int
    right_start: int


def gap(text: str, position: int, symbol: str) -> Gap | None:
    """The gap that begins at ``position``, the end of the left operand, and holds ``symbol``."""
    closed = CLOSERS.match(text, position)
    left_end = closed.end() if closed else position
    pattern = TRIVIA.join(map(re.escape, symbol.split()))
    found = re.compile(pattern).match(text, skip(text, left_end))
    if found is None:
        return None
    return Gap(left_end, found.start(), found.end(), skip(text, found.end()))


def skip(text: str, position: int) -> int:
    """The next character that is no white space, line end, continuation or comment."""
    found = SKIP.match(text, position)
    return found.end() if found else position


# the language reference, "Operator precedence": a larger number binds tighter
BINARY: dict[type[ast.AST], int] = {
    ast.BitOr: 7,
    ast.BitXor: 8,
    ast.BitAnd: 9,
    ast.LShift: 10,
    ast.RShift: 10,
    ast.Add: 11,
    ast.Sub: 11,
    ast.Mult: 12,
    ast.MatMult: 12,
    ast.Div: 12,
    ast.FloorDiv: 12,
    ast.Mod: 12,
    ast.Pow: 14,
}
COMPARISON = 6
ATOM = 16


def precedence(node: ast.AST) -> int:
    """How tightly an expression (or an operator) binds; an operand that binds less than its operator needs brackets."""
    match node:
        case ast.NamedExpr() | ast.Starred() | ast.Yield() | ast.YieldFrom():
            return 0
        case ast.Lambda():
            return 1
        case ast.IfExp():
            return 2
        case ast.BoolOp(op=op):
            return precedence(op)
        case ast.Or():
            return 3
        case ast.And():
            return 4
        case ast.UnaryOp(op=ast.Not()):
            return 5
        case ast.Compare() | ast.cmpop():
            return COMPARISON
        case ast.BinOp(op=op):
            return BINARY[type(op)]
        case ast.operator():
            return BINARY[type(node)]
        case ast.UnaryOp():
            return 13
        case ast.Await():
            return 15
        case _:
            return ATOM


def bracketed(text: str, bare: bool) -> str:
    """The text of an operand in its new place: ``bare`` where it would bind otherwise without brackets."""
    return f"({text})" if bare else text
