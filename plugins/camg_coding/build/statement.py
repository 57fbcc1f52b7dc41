"""Problem statements from a template: what a user sees of a bug, in varied words, without any text of the tests."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import frozen

from camg_coding.build.observe import Observation

DOCUMENTED = "The documented result"
NO_EXCEPTION = "A result, without an exception"
SILENT, WRONG = "silent", "wrong"  # kinds of behaviour, beside the names of exceptions
_MOST_SHOWN = 4
LEAST_LINE = 12  # characters of a test's line that may not be repeated
_MESSAGE = 160
_NOT_RAISED = re.compile(r"DID NOT (RAISE|WARN)(?:.*?<class '([\w.]+)'>| ([\w.]+))?|^([\w.]+) not raised", re.DOTALL)
_OPENINGS = (
    "After updating to the current revision, I ran into a regression in `{package}`.",
    "`{package}` does not behave as documented any more.",
    "I think that I found a bug in `{package}`.",
    "Something in `{package}` broke recently.",
    "Code of ours that uses `{package}` stopped working.",
    "There is a problem with `{package}` in this version.",
)
_CLOSINGS = (
    "Earlier versions handled this correctly, and the documentation still describes the old behaviour.",
    "Please restore the behaviour that the documentation describes; what works now should go on working.",
    "I would expect the documented result here. Everything else that I tried was fine.",
    "The inputs are ordinary ones; nothing special about the environment seems to be involved.",
    "The same calls gave the right results before.",
)
_HEADINGS = (("### What happens", "### What I expected"), ("**Actual behaviour**", "**Expected behaviour**"), ("", ""))


@frozen
class Behaviour:
    """What happens with a public name, and what should."""

    name: str
    kind: str
    actual: str
    expected: str


def title_and_text(
    observations: Sequence[Observation], package: str, area: str, rng: random.Random, *, messages: bool = True
) -> str:
    """A statement in Markdown. ``area``: the public name to speak of where a test shows none.

    ``messages``: whether the words of exceptions may be quoted (see :func:`leak`).
    """
    groups: dict[tuple[str, str], list[Behaviour]] = {}
    for seen in observations:
        behaviour = _behaviour(seen, seen.entries[-1] if seen.entries else area, messages)
        groups.setdefault((behaviour.name, behaviour.kind), []).append(behaviour)
    if not groups:
        groups[area, ""] = [Behaviour(area, "", f"Using `{area}` does not give the right result", DOCUMENTED)]
    shown = [found[0] for found in sorted(groups.values(), key=len, reverse=True)[:_MOST_SHOWN]]
    lines = [f"# {_title(shown[0], rng)}", "", rng.choice(_OPENINGS).format(package=package), ""]
    before, after = rng.choice(_HEADINGS)
    if len(shown) > 1:
        lines += [before, *(f"- {_in_list(one)}." for one in shown)]
    else:
        lines += [before, f"{shown[0].actual}.", "", after, f"{shown[0].expected}."]
    told = {behaviour.name for behaviour in shown}
    others = [
        name for name in dict.fromkeys(name for seen in observations for name in seen.entries) if name not in told
    ]
    if others:
        lines += ["", f"It shows up together with {_listed(others[:3])}."]
    lines += ["", rng.choice(_CLOSINGS)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


def _title(behaviour: Behaviour, rng: random.Random) -> str:
    name = behaviour.name
    short = ".".join(name.split(".")[-2:]) if name.count(".") > 1 else name
    if behaviour.kind == SILENT:
        return rng.choice((f"`{short}` accepts what it should refuse", f"Missing error from `{short}`"))
    if behaviour.kind and behaviour.kind != WRONG:
        error = behaviour.kind
        return rng.choice((f"`{short}` raises {error}", f"{error} from `{short}`", f"Unexpected {error} in `{short}`"))
    return rng.choice((f"Wrong result from `{short}`", f"`{short}` is wrong", f"`{short}` gives incorrect results"))


def _behaviour(seen: Observation, name: str, messages: bool) -> Behaviour:
    silent = _NOT_RAISED.search(seen.message)
    if silent and seen.exception in ("Failed", "AssertionError"):
        error = (silent[2] or silent[3] or silent[4] or "").rpartition(".")[2]
        what = "warning" if silent[1] == "WARN" else "error"
        expected = f"A `{error}`" if error else f"An {what}" if what == "error" else f"A {what}"
        return Behaviour(name, SILENT, f"`{name}` gives no {what} where it should complain", expected)
    if seen.exception not in ("AssertionError", "Failed"):
        words = " ".join(seen.message.split())[:_MESSAGE] if messages else ""
        error = f"`{seen.exception}: {words}`" if words and "`" not in words else f"`{seen.exception}`"
        return Behaviour(name, seen.exception, f"Calling `{name}` raises {error}", NO_EXCEPTION)
    actual, expected = _compared(seen.compared, name)
    return Behaviour(name, WRONG, actual, expected)


def _compared(compared: Mapping[str, Any], name: str) -> tuple[str, str]:
    """What happens and what should; without a direction where it is not known which side the project gave."""
    plain = f"`{name}` gives a wrong result", DOCUMENTED
    if not compared or not compared["given"]:
        return plain
    got, wanted = compared["left"], compared["right"]
    if compared["given"] == "right":
        got, wanted = wanted, got
    if "value" in got and "value" in wanted and got["value"] != wanted["value"]:
        return f"`{name}` returns `{got['value']}` where it should not", f"`{wanted['value']}`"
    if got["type"] != wanted["type"]:
        return f"`{name}` returns {_a(got['type'])} in some cases", _a(wanted["type"]).capitalize()
    if compared["op"] != "==" or "length" not in got:
        return f"`{name}` returns {_a(got['type'])} with a wrong value", DOCUMENTED
    if got["length"] != wanted["length"]:
        return (
            f"`{name}` returns {_a(got['type'])} of length {got['length']} in a case that I looked at",
            f"One of length {wanted['length']}",
        )
    return f"`{name}` returns {_a(got['type'])} of the right length, but with wrong contents", DOCUMENTED


def _a(kind: str) -> str:
    if kind == "NoneType":
        return "`None`"
    return f"{'an' if kind[:1].lower() in 'aeiou' else 'a'} `{kind}`"


def _in_list(behaviour: Behaviour) -> str:
    expected = behaviour.expected
    if expected in (DOCUMENTED, NO_EXCEPTION):
        return behaviour.actual
    return f"{behaviour.actual}; {expected[:1].lower()}{expected[1:]} is right"


def _listed(names: Sequence[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + " and " + quoted[-1]


def leak(statement: str, test_sources: Iterable[str], forbidden: Iterable[str] = ()) -> str:
    """What of the tests (or of other ``forbidden`` lines) the statement repeats: a line, or a test's name; else ''."""
    for source in test_sources:
        for line in source.splitlines():
            if len(line.strip()) >= LEAST_LINE and line.strip() in statement:
                return line.strip()
        for name in test_names(source):
            if re.search(rf"\b{re.escape(name)}\b", statement):
                return name
    for line in forbidden:
        if len(line.strip()) >= LEAST_LINE and line.strip() in statement:
            return line.strip()
    return ""


def test_names(source: str) -> set[str]:
    """Names of test functions and classes in a test file."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return set(re.findall(r"\b(?:def|class) ((?:test_|Test)\w+)", source))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, kinds) and node.name.lower().startswith("test") and len(node.name) > 4
    }
