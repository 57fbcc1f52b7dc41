"""AgeMem's envelope: ``<think>…</think>``, then ``<tool_call>[{"name": …, "arguments": {…}}]</tool_call>`` or
``<answer>…</answer>``, and no text outside the tags.

The array has exactly one call here, since a response is one action. ``<answer>`` calls the environment's tool of that
name; where there is none, the terminal action is another tool, and the fault says so. The thought's tags may be absent:
chat templates open or write them as part of the prompt.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from camg.episode.actions import checked, faulty, signature
from camg.types import Action, Tool

ANSWER = "answer"
_OPEN, _CLOSE = "<think>", "</think>"
_CALL, _CALL_END = "<tool_call>", "</tool_call>"
_ANSWER, _ANSWER_END = f"<{ANSWER}>", f"</{ANSWER}>"

RULE = """\
Think in <think>…</think> if you like; then end with exactly one call, as an array of one, and no text beside it:
<think>…</think>
<tool_call>[{"name": "…", "arguments": {…}}]</tool_call>"""
RULE_ANSWER = "To give the final answer, end with <answer>…</answer> instead of a call."


class AgeMemDialect:
    """A :class:`camg.protocols.Dialect` for every tool of the run."""

    name = "agemem"

    def describe(self, tools: Sequence[Tool]) -> str:
        """One line per tool, and the rule."""
        lines = [f"- {tool.name}({signature(tool)})  {tool.summary}" for tool in tools]
        rule = [RULE, *([RULE_ANSWER] if _answer_parameter(tools) else [])]
        return "\n".join(["Tools (? marks an argument that may be left out):", *lines, *rule])

    def render(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """The text of a call; ``parse`` gives the same tool and arguments back.

        Within JSON ``<`` is escaped, so that no argument looks like the envelope.
        """
        call = json.dumps([{"name": tool, "arguments": dict(arguments)}]).replace("<", "\\u003c")
        return f"{_OPEN}{_CLOSE}\n{_CALL}{call}{_CALL_END}"

    def parse(self, text: str, tools: Sequence[Tool]) -> Action:
        """Strict parse; see the module's docstring."""
        if not text.strip():
            return faulty(text, "empty", f"The response is empty; end it with one {_CALL}.")
        spoken = _spoken(text.strip())
        if spoken.startswith(_CALL):
            return _call(text, spoken, tools)
        if spoken.startswith(_ANSWER):
            return _final(text, spoken, tools)
        detail = f"Expected {_CALL}[…]{_CALL_END} after the thought, with no text outside the tags."
        return faulty(text, "no_action", detail)


def _spoken(text: str) -> str:
    """What follows the thought; all of it where there is none."""
    if text.startswith((_CALL, _ANSWER)):
        return text  # a closing tag further on is an argument's
    thought, closed, rest = text.partition(_CLOSE)
    return rest.strip() if closed and _OPEN not in thought.removeprefix(_OPEN) else text


def _call(raw: str, spoken: str, tools: Sequence[Tool]) -> Action:
    body, closed, rest = spoken.removeprefix(_CALL).rpartition(_CALL_END)
    if not closed:
        return faulty(raw, "no_action", f"The call is not closed by {_CALL_END}.")
    if rest.strip():
        return _behind(raw, rest)
    try:
        calls = json.loads(body)
    except (ValueError, RecursionError):
        if _CALL_END in body or _ANSWER in body:
            return _several(raw)
        return faulty(raw, "bad_arguments", 'The call is no JSON array like [{"name": "…", "arguments": {…}}].')
    if not isinstance(calls, list) or not calls or not isinstance(calls[0], dict):
        return faulty(raw, "bad_arguments", 'Expected an array of one call: [{"name": "…", "arguments": {…}}].')
    if len(calls) > 1:
        return _several(raw)
    call = calls[0]
    if not isinstance(call.get("name"), str) or not set(call) <= {"name", "arguments"}:
        return faulty(raw, "bad_arguments", 'A call has the keys "name", a string, and "arguments", an object.')
    return checked(raw, call["name"], call.get("arguments", {}), tools)


def _final(raw: str, spoken: str, tools: Sequence[Tool]) -> Action:
    body, closed, rest = spoken.removeprefix(_ANSWER).rpartition(_ANSWER_END)
    if not closed:
        return faulty(raw, "no_action", f"The answer is not closed by {_ANSWER_END}.")
    if rest.strip():
        return _behind(raw, rest)
    if _CALL in body or _ANSWER in body:
        return _several(raw)
    parameter = _answer_parameter(tools)
    if parameter is None:
        detail = f"This task is not ended by {_ANSWER} but by one of its tools: call that with {_CALL}."
        return faulty(raw, "unknown_tool", detail)
    return checked(raw, ANSWER, {parameter: body.strip()}, tools)


def _behind(raw: str, rest: str) -> Action:
    if _CALL in rest or _ANSWER in rest:
        return _several(raw)
    return faulty(raw, "trailing_text", "Text follows the call; nothing may stand outside the tags.")


def _several(raw: str) -> Action:
    return faulty(raw, "several_actions", "The response holds more than one call; give an array of exactly one.")


def _answer_parameter(tools: Sequence[Tool]) -> str | None:
    """The one string that the environment's tool ``answer`` needs."""
    for tool in tools:
        needed = [parameter for parameter in tool.parameters if parameter.required]
        if tool.name == ANSWER and len(needed) == 1 and needed[0].kind == "string":
            return needed[0].name
    return None
