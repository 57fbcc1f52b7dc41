"""One source text, its syntax tree, and where each node lies in it; the functions and classes that strategies change.

Positions are character offsets into the text as it was given: the tree counts UTF-8 bytes within lines, and lines end
at ``\\n``, ``\\r\\n`` or ``\\r`` alone (never at the other characters that ``str.splitlines`` knows).
"""

from __future__ import annotations

import ast
import contextlib
import functools
import re
import warnings
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence

from attrs import frozen

from camg.errors import DataError

NEWLINE = re.compile(r"\r\n|\r|\n")
BOM = "\ufeff"

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@frozen
class Entity:
    """A function or class that a strategy may change, with its place: whole lines, 1-based, decorators included."""

    path: str
    qualname: str  # as in Python's __qualname__; two definitions may share one
    kind: str  # "function" or "class"
    first_line: int
    last_line: int


@frozen
class Edit:
    """The characters ``start`` to ``end`` (exclusive) become ``text``."""

    start: int
    end: int
    text: str


Edits = tuple[Edit, ...]


@frozen
class Found:
    """A definition in the tree, and the outermost function that holds it (itself, where none does)."""

    node: Definition
    outer: Definition
    entity: Entity


class Source:
    """A parsed text. Raises ``SyntaxError``, ``ValueError`` or ``RecursionError`` where Python itself would."""

    def __init__(self, text: str) -> None:
        self.text = text
        base = len(BOM) if text.startswith(BOM) else 0
        with silence():
            self.tree = ast.parse(text[base:])
            compile(self.tree, "<source>", "exec", dont_inherit=True)  # e.g. a misplaced future import parses
        self.starts = [base, *(match.end() for match in NEWLINE.finditer(text))]
        self.found: Mapping[tuple[str, int], Found] = {
            (found.entity.qualname, found.entity.first_line): found for found in definitions(self.tree)
        }

    def offset(self, line: int, column: int) -> int:
        """The character offset of a 1-based line and a column in UTF-8 bytes."""
        start = self.starts[line - 1]
        head = self.text[start : start + column]
        return start + (column if head.isascii() else len(self.line(line).encode()[:column].decode()))

    def line(self, line: int) -> str:
        """A line with its line end."""
        stop = self.starts[line] if line < len(self.starts) else len(self.text)
        return self.text[self.starts[line - 1] : stop]

    def start(self, node: ast.stmt | ast.expr | ast.pattern) -> int:
        """Where the node begins; a decorated definition begins at the line of its first decorator."""
        if isinstance(node, DEFINITIONS) and node.decorator_list:
            line = first_line(node)
            return self.starts[line - 1] + len(indentation(self.line(line)))
        return self.offset(node.lineno, node.col_offset)

    def end(self, node: ast.stmt | ast.expr) -> int:
        """Just past the node's last character."""
        return self.offset(node.end_lineno or node.lineno, node.end_col_offset or 0)

    def line_of(self, offset: int) -> int:
        """The 1-based line of a character."""
        return max(bisect_right(self.starts, offset), 1)

    def line_start(self, offset: int) -> int:
        """Where the character's line begins."""
        return self.starts[self.line_of(offset) - 1]

    def line_end(self, offset: int, *, newline: bool) -> int:
        """Where the character's line ends, past its line end or before it."""
        line = self.line_of(offset)
        text = self.line(line)
        return self.starts[line - 1] + len(text if newline else text.rstrip("\r\n"))

    def span(self, first: int, last: int) -> tuple[int, int]:
        """The offsets of whole lines ``first`` to ``last``, line ends included."""
        return self.starts[first - 1], self.starts[last] if last < len(self.starts) else len(self.text)

    def splice(self, edits: Sequence[Edit]) -> str:
        """The text with the edits, which must not overlap, applied."""
        pieces, position = [], 0
        for edit in sorted(edits, key=lambda e: (e.start, e.end)):
            pieces += [self.text[position : edit.start], edit.text]
            position = edit.end
        return "".join([*pieces, self.text[position:]])

    def sound(self, found: Found, edits: Sequence[Edit]) -> bool:
        """Whether the edits leave a module that compiles, whose tree is another within the definition and only there.

        Only the outermost function that holds the definition is compiled again, as the rest of the text is untouched:
        names are bound by functions, so that nothing beyond it can make the text wrong.
        """
        start, end = self.span(found.entity.first_line, found.entity.last_line)
        if any(edit.start < start or edit.end > end for edit in edits):
            return False
        start, end = self.span(first_line(found.outer), found.outer.end_lineno or found.outer.lineno)
        after = self.splice(edits)
        chunk = after[start : len(after) - (len(self.text) - end)]
        if self.text[end - 1] in "\r\n" and chunk[-1:] not in ("\r", "\n"):
            return False
        block = statements(chunk)
        place: list[ast.AST] = []
        return (
            len(block) == 1
            and equal(found.outer, block[0], hole=found.node, place=place)
            and isinstance(place[0], type(found.node))
            and place[0].name == found.node.name
            and not equal(found.node, place[0])
        )


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Without the warnings about a text that would be printed (or raised, under ``-W error``)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def statements(text: str) -> list[ast.stmt]:
    """The statements of a text, indented or not; [] for what does not compile, e.g. ``global x`` after a use of x."""
    indented = bool(indentation(text))
    try:
        with silence():
            tree = ast.parse(f"if True:\n{text}" if indented else text)
            compile(tree, "<mutant>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    if not indented:
        return tree.body
    holder = tree.body[0]
    return holder.body if isinstance(holder, ast.If) and len(tree.body) == 1 else []


def equal(old: object, new: object, *, hole: ast.AST | None = None, place: list[ast.AST] | None = None) -> bool:
    """Whether two trees are the same but for positions; what stands at ``hole`` is put into ``place`` instead."""
    stack: list[tuple[object, object]] = [(old, new)]
    while stack:
        a, b = stack.pop()
        if a is hole and isinstance(b, ast.AST) and place is not None:
            place.append(b)
        elif type(a) is not type(b):
            return False
        elif isinstance(a, ast.AST):
            stack.extend((getattr(a, name, None), getattr(b, name, None)) for name in a._fields)
        elif isinstance(a, list) and isinstance(b, list):
            if len(a) != len(b):
                return False
            stack.extend(zip(a, b, strict=True))
        elif a != b:
            return False
    return True


def indentation(line: str) -> str:
    """The white space that a line begins with."""
    return line[: len(line) - len(line.lstrip(" \t\f"))]


def first_line(node: ast.stmt) -> int:
    """The line where a statement begins, its decorators included."""
    if isinstance(node, DEFINITIONS):
        return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return node.lineno


def definitions(tree: ast.Module) -> Iterator[Found]:
    """Every function and class of a module, nested ones too, in the order of the text."""
    stack: list[tuple[ast.AST, Definition | None, str]] = [(tree, None, "")]
    while stack:
        node, outer, scope = stack.pop()
        if isinstance(node, DEFINITIONS):
            kind = "class" if isinstance(node, ast.ClassDef) else "function"
            name = scope + node.name
            entity = Entity("", name, kind, first_line(node), node.end_lineno or node.lineno)
            yield Found(node, outer or node, entity)
            outer = outer or (node if kind == "function" else None)
            scope = f"{name}." if kind == "class" else f"{name}.<locals>."
        if not isinstance(node, ast.expr):
            stack.extend((child, outer, scope) for child in reversed(list(ast.iter_child_nodes(node))))


@functools.lru_cache(maxsize=4)
def read(text: str) -> Source:
    """The parsed text; the last few are kept, since every strategy asks for the same one."""
    return Source(text)


def entities(path: str, source: str) -> tuple[Entity, ...]:
    """The functions and classes of a file, in the order of the text, nested ones included.

    Raises :class:`DataError` for a text that Python cannot compile.
    """
    try:
        known = read(source).found.values()
    except SyntaxError as error:
        where = f"{path}:{error.lineno or 1}"
        raise DataError(f"expected Python source, got a syntax error at {where}: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise DataError(f"expected Python source, got a text that cannot be parsed: {path}: {error}") from error
    return tuple(Entity(path, e.qualname, e.kind, e.first_line, e.last_line) for e in (found.entity for found in known))
