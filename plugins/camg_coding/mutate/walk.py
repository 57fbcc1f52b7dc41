"""Which nodes and statements belong to a function itself.

A function nested in another is an entity of its own, so its inside is not the outer one's. Annotations are left out
(they do not run, or do not matter), and so are the insides of f-strings: Python before 3.12 gives no true positions
there, and the same project must give the same bugs under every Python.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from camg_coding.mutate.source import DEFINITIONS, Definition

Function = ast.FunctionDef | ast.AsyncFunctionDef
OPAQUE = {"JoinedStr", "TemplateStr"}  # the latter since Python 3.14


def descendants(function: Definition) -> Iterator[tuple[ast.AST, ast.AST]]:
    """(node, parent) for each node of the function's own, in the order of the text."""
    stack: list[tuple[ast.AST, ast.AST]] = [(child, function) for child in reversed(children(function))]
    while stack:
        node, parent = stack.pop()
        yield node, parent
        stack.extend((child, node) for child in reversed(children(node)))


def children(node: ast.AST) -> list[ast.AST]:
    """The children that belong to the same entity and run."""
    skipped = [getattr(node, "annotation", None), getattr(node, "returns", None), *getattr(node, "type_params", ())]
    return [
        child
        for child in ast.iter_child_nodes(node)
        if not isinstance(child, DEFINITIONS)
        and type(child).__name__ not in OPAQUE
        and not any(child is other for other in skipped)
    ]


def blocks(function: Definition) -> Iterator[tuple[ast.AST, str, list[ast.stmt]]]:
    """(owner, field, statements) for every block of the function's own, in the order of the text."""
    owners = [function, *(node for node, _ in descendants(function))]
    for owner in owners:
        for name in ("body", "orelse", "finalbody"):
            block = getattr(owner, name, None)
            if isinstance(block, list) and block:
                yield owner, name, block


def docstring(owner: ast.AST, block: list[ast.stmt]) -> bool:
    """Whether the block begins with its owner's docstring."""
    first = block[0]
    return (
        isinstance(owner, DEFINITIONS)
        and isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    )
