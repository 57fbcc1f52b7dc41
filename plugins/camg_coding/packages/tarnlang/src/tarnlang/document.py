"""Whole documents: text to nested dictionaries and back."""

import re

from tarnlang.errors import EvaluationError, ParseError
from tarnlang.evaluator import Evaluator, Scope
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
    for path in sections:
        _section(root, path)
    for entry in entries:
        table = _section(root, entry.section)
        if entry.key in table:
            raise ParseError(f"{entry.key!r} appears twice", entry.line)
        scope = _scope(root, entry.section, Scope(variables or {}))
        table[entry.key] = Evaluator(scope).value(entry.expression)
    return root


def _section(root, path):
    """The dictionary at ``path``, made where it is missing."""
    table = root
    for name in path:
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            raise ParseError(f"{name!r} is both a value and a section")
    return table


def _scope(root, path, outer):
    """The scope inside the section at ``path``."""
    scope = Scope(root, outer)
    table = root
    for name in path:
        table = table[name]
        scope = Scope(table, scope)
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
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return '"' + escaped.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r") + '"'
    if isinstance(value, list | tuple):
        return "[" + ", ".join(literal(item) for item in value) + "]"
    raise EvaluationError(f"cannot write a {type(value).__name__}")
