"""How checks speak."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from camg.types import Tool


def expect(condition: bool, sentence: str) -> None:
    """Raise ``AssertionError`` with the sentence, also under ``python -O``."""
    if not condition:
        raise AssertionError(sentence)


def expect_raises(error: type[BaseException], call: Callable[[], Any], sentence: str) -> None:
    """Raise ``AssertionError`` unless ``call`` raises ``error``."""
    try:
        call()
    except error:
        return
    except Exception as other:
        raise AssertionError(f"{sentence}, got {type(other).__name__}: {other}") from other
    raise AssertionError(f"{sentence}, got no error")


def expect_members(value: Any, protocol: type, what: str) -> None:
    """Raise ``AssertionError`` naming the members of a protocol that ``value`` lacks."""
    members = [name for name in vars(protocol) if not name.startswith("_")]
    lacking = [name for name in members if not hasattr(value, name)]
    expect(not lacking, f"{what}: Expected the members of {protocol.__name__}, got none called {', '.join(lacking)}.")


def expect_tools(tools: Sequence[Tool], what: str) -> None:
    """Tools must have names of their own that a call can carry, and say what they do."""
    names = [tool.name for tool in tools]
    expect(len(set(names)) == len(names), f"{what}: Expected tools of different names, got {names}.")
    for tool in tools:
        expect(
            tool.name.isidentifier() and tool.name != "shell_command",
            f"{what}: Expected an identifier other than shell_command as a tool's name, got {tool.name!r}.",
        )
        expect(bool(tool.summary), f"{what}: Expected a summary of the tool {tool.name}, got an empty one.")
        parameters = [parameter.name for parameter in tool.parameters]
        expect(
            len(set(parameters)) == len(parameters) and all(name.isidentifier() for name in parameters),
            f"{what}: Expected identifiers, each once, as parameters of {tool.name}, got {parameters}.",
        )
