"""Whole documents: text to nested dictionaries and back."""

import re

from tarnlang.errors import EvaluationError, ParseError
from tarnlang.evaluator import Evaluator, Scope, text as shown
from tarnlang.parser import RESERVED, parse_document, parse_expression

PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def evaluate(text, variables=None):
    """The value of one expression; ``variables`` maps names to values."""
    return Evaluator(Scope(variables or {})).value(parse_expression(text))


def loads(text, variables=None):
    """Read a document into nested dictionaries.

    Entries are computed from top to bottom. A name is looked up in the entry's own section, then in the enclosing
    ones up to the top, then in ``variables``. A key or a section that appears twice raises ``ParseError``.
    """
    entries, sections = parse_document(text)
    root = {}
    outer = Scope(variables or {})
    for path in sections:
        _scope(root, path, outer)
    for entry in entries:
        scope = _scope(root, entry.section, outer)
        if entry.key in scope.values:
            raise ParseError(f"{entry.key!r} appears twice", entry.line)
        scope.values[entry.key] = Evaluator(scope).value(entry.expression)
    return root


def _scope(root, path, outer):
    """The scope of the section at ``path``, whose dictionaries are made where they are missing."""
    scope = Scope(root, outer)
    for name in path:
        scope = Scope(scope.values.setdefault(name, {}), scope)
    return scope


def dumps(data):
    """Write nested dictionaries so that ``loads`` gives them back.

    Values come before sections; sections are separated by an empty line. Raises ``EvaluationError`` for a value that
    the language cannot write.
    """
    blocks = []
    _write(data, (), blocks)
    return "\n\n".join(blocks) + "\n" if blocks else ""


def _write(table, path, blocks):
    lines = ["[" + ".".join(path) + "]"] if path else []
    for key, value in table.items():
        if not isinstance(value, dict):
            lines.append(f"{_key(key)} = {literal(value)}")
    if lines:
        blocks.append("\n".join(lines))
    for key, value in table.items():
        if isinstance(value, dict):
            if not _is_plain(key):
                raise EvaluationError(f"{key!r} cannot name a section")
            _write(value, (*path, key), blocks)


def _is_plain(key):
    return PLAIN_KEY.fullmatch(key) is not None and key not in RESERVED


def _key(key):
    return key if _is_plain(key) else literal(key)


def literal(value):
    """One value as text of the language: strings in double quotes with escapes, ``true``, ``false``, ``null``."""
    if value is None or isinstance(value, int | float):
        return shown(value)
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return '"' + escaped.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r") + '"'
    if isinstance(value, list | tuple):
        return "[" + ", ".join(literal(item) for item in value) + "]"
    raise EvaluationError(f"cannot write a {type(value).__name__}")
