"""The test lists of a row: a list or a JSON string of it, and ids that are whole."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

from camg_coding.importers.report import Malformed

EMPTY = "empty test list"
TRUNCATED = "truncated test id"
MALFORMED = "malformed test id"

_DJANGO = re.compile(r"\w+ \([\w.]*$")  # "test_x (module.Class" without its end


def id_list(name: str, value: Any) -> tuple[str, ...]:
    """The ids of ``value``, each once, in order. Ids are interned: the rows of a repository share most of them.

    Raises :class:`Malformed`, naming the list.
    """
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise Malformed(f"wrong type of {name}", f"a string that is no JSON: {error}") from error
    if not isinstance(value, list | tuple):
        raise Malformed(f"wrong type of {name}", f"expected a list or its JSON, got {type(value).__name__}")
    if not value:
        raise Malformed(EMPTY, name)
    for test in value:
        if not isinstance(test, str):
            raise Malformed(f"wrong type of {name}", f"expected strings, got {type(test).__name__}")
        _check(name, test)
    return tuple(dict.fromkeys(map(sys.intern, value)))


def _check(name: str, test: str) -> None:
    """Whole and harmless? Log parsers of the reference harnesses cut ids at spaces: such an id names no test."""
    shown = f"{test[:120]!r} in {name}"
    if not test.strip() or any(ord(letter) < 32 or 0xD800 <= ord(letter) <= 0xDFFF for letter in test):
        raise Malformed(MALFORMED, shown)
    path, separator, names = test.partition("::")
    if separator:
        if path.startswith("/") or ".." in path.split("/") or not path:
            raise Malformed(MALFORMED, f"{shown} leaves the tree")
        if not names or names.endswith("::"):
            raise Malformed(TRUNCATED, shown)
        # parameters may hold any brackets (test_x[[] is whole), but only the last one closes them
        opened = names.find("[")
        if (opened >= 0 and not names.endswith("]")) or (opened < 0 and "]" in names):
            raise Malformed(TRUNCATED, shown)
    elif _DJANGO.search(test):
        raise Malformed(TRUNCATED, shown)


def is_node_id(test: str) -> bool:
    """Is it pytest's ``path::name``? Other runners' ids (``test_x (module.Class)``) cannot be asked of pytest."""
    path, separator, name = test.partition("::")
    return bool(separator and name and path.endswith(".py"))


def file_of(test: str) -> str:
    """The file of a node id."""
    return test.partition("::")[0]
