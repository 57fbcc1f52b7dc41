"""A seal over what test results rest on: the code of pytest, pluggy and unittest, a few builtins, the tests' own code.

Runs inside the box, in the child. The project's code shares the process and could undo any one check; together with
tests that must fail and an exit status that must fit, it has to defeat all of them at once.
"""

from __future__ import annotations

import builtins
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any

PACKAGES = ("_pytest", "pytest", "pluggy", "unittest")
BUILTINS = (
    *("AssertionError", "BaseException", "Exception", "KeyboardInterrupt", "SystemExit", "__build_class__"),
    *("all", "any", "bool", "callable", "compile", "exec", "getattr", "isinstance", "issubclass", "len", "setattr"),
)
KEY_MODULES = (
    "_pytest.runner",
    "_pytest.python",
    "_pytest.main",
    "_pytest.unittest",
    "pluggy._callers",
    "pluggy._hooks",
)


def _code(value: Any) -> Any:
    """What a function does: its code object and defaults; of other objects, themselves."""
    inner = getattr(value, "__func__", value)
    inner = getattr(inner, "fget", None) or inner
    if isinstance(inner, types.FunctionType):
        return inner.__code__, inner.__defaults__
    return None


def _entries(module: types.ModuleType) -> Iterator[tuple[str, str, Any]]:
    """Functions and classes of a module, and what those classes define."""
    for name, value in list(vars(module).items()):
        if isinstance(value, types.FunctionType | types.BuiltinFunctionType):
            yield name, "", value
        elif isinstance(value, type):
            yield name, "", value
            if value.__module__ == module.__name__:
                for attribute, inner in list(vars(value).items()):
                    if isinstance(inner, types.FunctionType | classmethod | staticmethod | property):
                        yield name, attribute, inner


class Seal:
    """Taken before the project can be imported; :meth:`broken` names what changed since."""

    def __init__(self) -> None:
        names = [name for name in sys.modules if name.partition(".")[0] in PACKAGES]
        modules = [sys.modules[name] for name in names if isinstance(sys.modules[name], types.ModuleType)]
        self._entries = [
            (module.__name__, module, name, attribute, value, _code(value))
            for module in modules
            for name, attribute, value in _entries(module)
        ]
        self._key = [entry for entry in self._entries if entry[0] in KEY_MODULES and not entry[3]]
        self._builtins = [(name, getattr(builtins, name)) for name in BUILTINS]
        self._tests: dict[int, tuple[Any, ...]] = {}

    def quick(self) -> str:
        """What is wrong with the most telling parts, or nothing."""
        for name, value in self._builtins:
            if getattr(builtins, name, None) is not value:
                return f"builtins.{name} was replaced"
        if sys.gettrace() is not None or sys.getprofile() is not None:
            return "a trace function is set"
        return self._compare(self._key)

    def broken(self) -> str:
        """What is wrong, or nothing."""
        return self.quick() or self._compare(self._entries)

    @staticmethod
    def _compare(entries: Iterable[tuple[str, Any, str, str, Any, Any]]) -> str:
        for label, module, name, attribute, value, code in entries:
            holder = vars(module).get(name)
            if attribute:
                holder = vars(holder).get(attribute) if isinstance(holder, type) else None
            if holder is not value or _code(holder) != code:
                return f"{label}.{name}{'.' if attribute else ''}{attribute} was replaced"
        return ""

    def keep_test(self, item: Any) -> None:
        """Remember what a test does, once it is collected."""
        self._tests[id(item)] = (item, *_essence(item))

    def test_changed(self, item: Any) -> bool:
        """Does it do something else by now?"""
        kept = self._tests.get(id(item))
        return kept is None or kept != (item, *_essence(item))


def _essence(item: Any) -> tuple[Any, ...]:
    """What decides what a test does: its class, its own methods, its function and that function's code."""
    function = getattr(item, "function", None)
    own = tuple(name for name, value in vars(item).items() if callable(value) and hasattr(type(item), name))
    return type(item), own, function, _code(function)
