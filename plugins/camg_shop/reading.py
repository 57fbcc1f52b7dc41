"""Reading requests as a customer means them: facts kept from session to session, and which listings they admit.

Written against the words of the requests alone, apart from the code that writes them: the solver proves with it that
the texts of a task determine exactly its targets, and the oracle shops by it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from camg_shop.lexicon import AXES, values_in

_CONFIRM = re.compile(r"confirms listing (\d)")
_CHAIN = re.compile(r"Previous \w+ -> required \w+: (.+)\.")
_WISH = re.compile(r"from now on I want \w+ (.+?)\.")
_RECORD = re.compile(r"^- (.+), (current|replaced): (.+)$", re.MULTILINE)
_CODE = re.compile(r"The customer's code is (\w+);")
_DIRECTORY = re.compile(r"Directory of codes: (.+?)\. Buy")
_NEVER = re.compile(r"Never buy \w+ (.+?) for me")
_STANDING = re.compile(r"My standing preference: \w+ (.+?)\.")
_STATED = re.compile(r"This time I want \w+ (.+?);")
_REPLY = re.compile(r"I like \w+ (.+?) best")
_ASK = "I did not say which: ask me."

# a request that names no value, and the fact that it asks for
_RECALLS = (
    ("Use what you learned from my earlier choices", "learned"),
    ("Use my current preference", "wish"),
    ("this customer's current record", "record"),
    ("that I told you when you asked", "told"),
    (_ASK, "told"),
    ("use my standing preference", "standing"),
)


def axis_of(request: str) -> str | None:
    """The axis that a request names."""
    return next((axis for axis in AXES if re.search(rf"\b{axis}\b", request)), None)


def value_of(title: str, axis: str) -> str:
    """The one value of ``axis`` in a title; "" when there is none or several."""
    found = values_in(title, axis)
    return next(iter(found)) if len(found) == 1 else ""


def must_ask(request: str) -> bool:
    """Does the request leave open what only the customer can say?"""
    return _ASK in request


def _table(text: str) -> dict[str, str]:
    return dict(re.findall(r"([^;]+?) -> ([^;]+?)(?:; |$)", text))


class Ledger:
    """What is known of a customer: plain facts that fit into a memory file."""

    def __init__(self, customer: str, facts: Mapping[str, str] | None = None) -> None:
        self._customer = customer
        self.facts = dict(facts or {})

    def copy(self) -> Ledger:
        """An independent ledger with the same facts."""
        return Ledger(self._customer, self.facts)

    def read(self, request: str, reply: str = "") -> None:
        """Take the facts that a request, and the answer to a question, state."""
        axis = axis_of(request) or ""
        for name, pattern in (("wish", _WISH), ("code", _CODE), ("never", _NEVER), ("standing", _STANDING)):
            if match := pattern.search(request):
                self.facts[name] = match.group(1)
        if match := _DIRECTORY.search(request):
            self.facts["directory"] = match.group(1)
        if match := _REPLY.search(reply):
            self.facts["told"] = match.group(1)
        for who, state, what in _RECORD.findall(request):
            if who == self._customer and state == "current" and what.startswith(f"{axis} "):
                self.facts["record"] = what.removeprefix(f"{axis} ")

    def admits(self, request: str, values: Sequence[str]) -> list[int]:
        """Which listings the request admits, by their values. Nothing when a needed fact is not known."""
        facts = self.facts
        if match := _CONFIRM.search(request):
            return [int(match.group(1)) - 1]
        if _NEVER.search(request) or "what I excluded" in request:
            excluded = facts.get("never", "").split(" or ")
            return [place for place, value in enumerate(values) if value not in excluded] if excluded != [""] else []
        return [place for place, value in enumerate(values) if value and value == self._wanted(request)]

    def _wanted(self, request: str) -> str | None:
        facts = self.facts
        for pattern in (_STATED, _STANDING, _WISH):
            if match := pattern.search(request):
                return match.group(1)
        if match := _CHAIN.search(request):
            return _table(match.group(1)).get(facts.get("previous", ""))
        if "the customer's code" in request:
            return _table(facts.get("directory", "")).get(facts.get("code", ""))
        return next((facts.get(fact) for phrase, fact in _RECALLS if phrase in request), None)

    def bought(self, request: str, value: str) -> None:
        """A purchase was right: it tells its value, and a confirmed one a preference."""
        self.facts["previous"] = value
        if _CONFIRM.search(request):
            self.facts["learned"] = value
