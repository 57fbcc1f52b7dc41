"""The test lists of a row: a list or a JSON string of it, and ids that are whole."""

from __future__ import annotations

import json
import re
import sys
from functools import lru_cache
from typing import Any

from camg_coding.importers.report import Malformed

EMPTY = "empty test list"
TRUNCATED = "truncated test id"
MALFORMED = "malformed test id"

_STRANGE = re.compile(r"[\x00-\x1f\ud800-\udfff]")  # control characters, halves of characters
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
        if reason := _fault(test):
            raise Malformed(reason, f"{test[:120]!r} in {name}")
    return tuple(dict.fromkeys(map(sys.intern, value)))


@lru_cache(maxsize=1 << 16)
def _fault(test: str) -> str:
    """Why an id is not whole and harmless, or "". Log parsers of the reference harnesses cut ids at spaces."""
    if not test.strip() or _STRANGE.search(test):
        return MALFORMED
    path, separator, names = test.partition("::")
    if not separator:
        return TRUNCATED if _DJANGO.search(test) else ""
    if not path or path.startswith("/") or ".." in path.split("/"):
        return MALFORMED
    # parameters may hold any brackets (test_x[[] is whole), but only the last one closes them
    opened = "[" in names
    whole = names.endswith("]") if opened else names and "]" not in names and not names.endswith("::")
    return "" if whole else TRUNCATED


def is_node_id(test: str) -> bool:
    """Is it pytest's ``path::name``? Other runners' ids (``test_x (module.Class)``) cannot be asked of pytest."""
    path, separator, name = test.partition("::")
    return bool(separator and name and path.endswith(".py"))


def file_of(test: str) -> str:
    """The file of a node id."""
    return test.partition("::")[0]
