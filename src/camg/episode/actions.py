"""Text -> :class:`~camg.types.Action`: how tools are described, and calls written and parsed.

Two dialects. ``bracket`` is for models without a tool-call format of their own: ``search[red mug]``,
``shell_command: ls`` (a filesystem tool takes the rest of the text, so that heredocs work). ``native`` is the model's
own format, either XML-like (Qwen3.5) or JSON (Hermes), between ``<tool_call>`` tags; its chat template describes
the tools. Both are strict: free reasoning, then exactly one call, then nothing. What does not parse is an action
with a ``fault`` class and a sentence for the policy, never an exception.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from camg.types import Action, Parameter, Tool

FAULTS = ("empty", "no_action", "several_actions", "trailing_text", "unknown_tool", "bad_arguments", "truncated")


def faulty(raw: str, fault: str, detail: str) -> Action:
    """An action that could not be understood."""
    return Action(tool=None, raw=raw, fault=fault, fault_detail=detail)


def checked(raw: str, name: str, arguments: object, tools: Sequence[Tool]) -> Action:
    """Hold a call against the declared tools: a known name, its parameters and no others, each of its kind.

    For authors of dialects. Never raises: what does not fit is a faulty action.
    """
    tool = next((tool for tool in tools if tool.name == name), None)
    if tool is None:
        known = ", ".join(tool.name for tool in tools)
        return faulty(raw, "unknown_tool", f"There is no tool {name[:80]!r}; the tools are: {known}.")
    needed = {parameter.name for parameter in tool.parameters if parameter.required}
    if not isinstance(arguments, Mapping) or not needed <= set(arguments) <= {p.name for p in tool.parameters}:
        got = ", ".join(map(str, arguments)) if isinstance(arguments, Mapping) else type(arguments).__name__
        return faulty(raw, "bad_arguments", f"{name} expects ({signature(tool)}), got ({got[:200]}).")
    for parameter in tool.parameters:
        if parameter.name in arguments and not _fits(parameter, arguments[parameter.name]):
            what = "a non-empty string" if parameter.kind == "string" else f"{parameter.kind} (JSON)"
            return faulty(raw, "bad_arguments", f"{name} expects {what} for {parameter.name}.")
    if not _shallow(arguments):
        return faulty(raw, "bad_arguments", f"The arguments of {name} are nested deeper than {_DEPTH} levels.")
    return Action(tool=name, arguments=dict(arguments), raw=raw)


def signature(tool: Tool) -> str:
    """The parameters of a tool in a line: ``query, top_k: integer?``."""
    kinds = {p.name: "" if p.kind == "string" else f": {p.kind}" for p in tool.parameters}
    return ", ".join(f"{p.name}{kinds[p.name]}{'' if p.required else '?'}" for p in tool.parameters)


_KINDS: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
}


def _fits(parameter: Parameter, value: object) -> bool:
    if isinstance(value, bool) and parameter.kind != "boolean":
        return False
    return isinstance(value, _KINDS[parameter.kind]) and (value != "" or parameter.empty)


_DEPTH = 64  # deeper values would exhaust the recursion of whatever prints or records them


def _shallow(value: object) -> bool:
    level = [value]
    for _ in range(_DEPTH):
        inner = [item for one in level if isinstance(one, Mapping) for item in one.values()]
        inner += [item for one in level if isinstance(one, list) for item in one]
        level = [item for item in inner if isinstance(item, (Mapping, list))]
        if not level:
            return True
    return False


class BracketDialect:
    """``tool[argument]`` on the last line, or ``tool: …`` to the end of the text for filesystem tools.

    Several parameters, or an argument with line breaks, are written as one JSON object: ``visit[{"url": "…"}]``.
    """

    name = "bracket"

    def describe(self, tools: Sequence[Tool]) -> str:
        """One line per tool, and the rule."""
        lines = [f"- {self._shape(tool)}  {tool.summary}" for tool in tools]
        rule = "Reason first if you like; then end with exactly one action, on a line of its own."
        return "Actions:\n" + "\n".join(lines) + "\n" + rule

    @staticmethod
    def _shape(tool: Tool) -> str:
        names = [parameter.name for parameter in tool.parameters]
        if tool.filesystem and len(names) == 1:
            return f"{tool.name}: {names[0].upper()}"
        if len(names) <= 1:
            return f"{tool.name}[{''.join(names)}]"
        example = {p.name: "…" if p.kind == "string" else f"<{p.kind}>" for p in tool.parameters if p.required}
        optional = [parameter for parameter in tool.parameters if not parameter.required]
        also = f" (optional: {signature(Tool('', '', tuple(optional))).replace('?', '')})" if optional else ""
        return f"{tool.name}[{json.dumps(example, ensure_ascii=False)}]{also}"

    def render(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """The text of a call; ``parse`` gives the same tool and arguments back.

        A tool whose one argument is called ``command`` or ``input`` is taken for one that writes files.
        """
        if list(arguments) in (["command"], ["input"]):
            return f"{tool}: {next(iter(arguments.values()))}"
        if not arguments:
            return f"{tool}[]"
        value = next(iter(arguments.values()))
        plain = len(arguments) == 1 and isinstance(value, str) and value == value.strip()
        if plain and len(value.splitlines()) == 1 and _json_object(value) is None:
            return f"{tool}[{value}]"
        return f"{tool}[{json.dumps(dict(arguments))}]"

    def parse(self, text: str, tools: Sequence[Tool]) -> Action:
        """Strict parse; see the module's docstring."""
        if not text.strip():
            return faulty(text, "empty", "The response is empty; end it with one action.")
        block = {tool.name: tool for tool in tools if tool.filesystem and len(tool.parameters) == 1}
        names = "|".join(re.escape(tool.name) for tool in tools if tool.name not in block) or r"(?!)"
        line_call = re.compile(rf"({names})\[(.*)\]\s*")
        lines = text.split("\n")
        calls: list[int] = []
        for number, line in enumerate(lines):
            head, colon, _ = line.partition(":")
            if colon and head in block:
                if calls:
                    return self._several(text)
                rest = "\n".join(lines[number:])[len(head) + 1 :]
                command = rest.removeprefix(" ")
                return checked(text, head, {block[head].parameters[0].name: command}, tools)
            if line_call.fullmatch(line):
                calls.append(number)
        if len(calls) > 1:
            return self._several(text)
        if not calls:
            return self._none(text, lines, tools)
        if any(line.strip() for line in lines[calls[0] + 1 :]):
            return faulty(text, "trailing_text", "Text follows the action; the action must be the last line.")
        match = line_call.fullmatch(lines[calls[0]])
        name, inner = (match.group(1), match.group(2).strip()) if match else ("", "")
        tool = next(tool for tool in tools if tool.name == name)
        return checked(text, name, _bracket_arguments(inner, tool.parameters), tools)

    @staticmethod
    def _several(text: str) -> Action:
        return faulty(text, "several_actions", "The response holds more than one action; give exactly one.")

    @staticmethod
    def _none(text: str, lines: Sequence[str], tools: Sequence[Tool]) -> Action:
        last = next(line for line in reversed(lines) if line.strip())
        like_call = re.fullmatch(r"\s*([A-Za-z_]\w*)\s*\[.*\]\s*", last)
        if like_call and like_call.group(1) not in {tool.name for tool in tools}:
            return checked(text, like_call.group(1), {}, tools)
        return faulty(text, "no_action", "No action found; end the response with exactly one action.")


def _json_object(text: str) -> dict[str, object] | None:
    if not text.startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _bracket_arguments(inner: str, parameters: Sequence[Parameter]) -> object:
    """A JSON object of named arguments, or the one string that is required."""
    named, names = _json_object(inner), {parameter.name for parameter in parameters}
    if named is not None and {p.name for p in parameters if p.required} <= set(named) <= names:
        return named
    if not inner:
        return {parameters[0].name: ""} if len(parameters) == 1 else {}
    needed = [parameter for parameter in parameters if parameter.required]
    if named is None and len(needed) == 1 and needed[0].kind == "string":
        return {needed[0].name: inner}
    if len(parameters) == 1 and parameters[0].kind == "string":
        return {parameters[0].name: inner}
    return named if named is not None else {"text": inner}


class NativeDialect:
    """The model's own tool-call format: ``<tool_call>`` with XML-like or JSON content."""

    name = "native"

    _call = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)
    _function = re.compile(r"\s*<function=([^>\n]*)>(.*)</function>\s*", re.DOTALL)
    _parameter = re.compile(r"\s*<parameter=([^>\n]*)>(.*?)</parameter>", re.DOTALL)

    def describe(self, tools: Sequence[Tool]) -> str:
        """Empty: the chat template describes the tools."""
        return ""

    def render(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """The XML-like form; what is no string is written as JSON."""
        texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in arguments.items()}
        body = "".join(f"<parameter={name}>\n{text}\n</parameter>\n" for name, text in texts.items())
        return f"<tool_call>\n<function={tool}>\n{body}</function>\n</tool_call>"

    def parse(self, text: str, tools: Sequence[Tool]) -> Action:
        """Strict parse of what follows the last closed thought."""
        if not text.strip():
            return faulty(text, "empty", "The response is empty; end it with one tool call.")
        spoken = text.rpartition("</think>")[2]
        calls = list(self._call.finditer(spoken))
        if not calls:
            return faulty(text, "no_action", "No complete <tool_call>…</tool_call> found; end with exactly one.")
        if len(calls) > 1:
            return faulty(text, "several_actions", "The response holds more than one tool call; give exactly one.")
        if spoken[calls[0].end() :].strip():
            return faulty(text, "trailing_text", "Text follows the tool call; it must come last.")
        return self._content(text, calls[0].group(1), tools)

    def _content(self, raw: str, content: str, tools: Sequence[Tool]) -> Action:
        named = _json_object(content.strip())
        if named is not None:
            return checked(raw, str(named.get("name", "")), named.get("arguments", {}), tools)
        function = self._function.fullmatch(content)
        if function is None:
            return faulty(raw, "bad_arguments", "The tool call is neither <function=…> nor a JSON object.")
        arguments: dict[str, str] = {}
        position, body = 0, function.group(2)
        while match := self._parameter.match(body, position):
            if match.group(1) in arguments:
                return faulty(raw, "bad_arguments", f"Parameter {match.group(1)!r} is given twice.")
            arguments[match.group(1)] = _unwrap(match.group(2))
            position = match.end()
        if body[position:].strip():
            return faulty(raw, "bad_arguments", "Unexpected text between the parameters of the tool call.")
        name = function.group(1).strip()
        return checked(raw, name, _typed(arguments, name, tools), tools)


def _typed(texts: Mapping[str, str], name: str, tools: Sequence[Tool]) -> dict[str, Any]:
    """The XML-like form knows strings only: read what is declared otherwise as JSON; what is none stays a string."""
    kinds = {p.name: p.kind for tool in tools if tool.name == name for p in tool.parameters}
    values: dict[str, Any] = dict(texts)
    for key, text in texts.items():
        if kinds.get(key, "string") != "string":
            with contextlib.suppress(ValueError, RecursionError):
                values[key] = json.loads(text)
    return values


def _unwrap(value: str) -> str:
    """The template puts one line break after the opening and before the closing tag."""
    return value.removeprefix("\n").removesuffix("\n")


BRACKET = BracketDialect()
NATIVE = NativeDialect()
DIALECTS = {dialect.name: dialect for dialect in (BRACKET, NATIVE)}
