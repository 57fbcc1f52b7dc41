"""Imperfect demonstrations of the pocket split: the behaviour is all there, each part at a low rate.

What reinforcement learning finds in the warm start is what these rates put there. With all rates at 1 and no junk it is
the pocket oracle.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from camg.errors import DataError
from camg.protocols import Dialect, Habit, Script
from camg.types import Task
from camg_coding.config import SENTINEL
from camg_coding.pocket import CHECK, NAMES, OPERATORS

FOLDER = ".agent_memory"
CONTINUATION = f"{FOLDER}/CONTINUATION.md"

CHECK_FIRST = 0.80  # looks before it changes something
USEFUL_NOTE = 0.30  # a note carries the finding, not just a number
READ = 0.40  # a later context opens with a read of the note
APPLY_KNOWN = 0.70  # a known finding decides the repair; else it is a guess
CHECK_AGAIN = 0.15  # without a finding, in a later context
JUNK = 0.06  # a response without use

_NAME = "|".join(NAMES)
_OPERATOR = "|".join(map(re.escape, OPERATORS))
_BRIEF = re.compile(rf"Repair one of ((?:(?:{_NAME})\.py ?)+)")
_FINDING = re.compile(rf"FAIL ({_NAME})\.py: want a ({_OPERATOR}) b")
_NOTE = re.compile(rf"\b\d=({_NAME}) ({_OPERATOR})(?:\s|$|<)")
_SAVE = re.compile(r"save (\d+) to ")


@frozen
class Rates:
    """Probabilities of the behaviours."""

    check_first: float = CHECK_FIRST
    useful_note: float = USEFUL_NOTE
    read: float = READ
    apply_known: float = APPLY_KNOWN
    check_again: float = CHECK_AGAIN
    junk: float = JUNK


PERFECT = Rates(1.0, 1.0, 1.0, 1.0, 1.0, 0.0)


class _Files:
    """A :class:`camg.protocols.Habit`: the continuation file, by shell. What scripts do where no other is named."""

    eager = False

    def keep(self, note: str) -> tuple[str, Mapping[str, Any]]:
        """Write the file; ``note`` is one plain line."""
        return "shell_command", {"command": f"mkdir -p {FOLDER}; echo '{note}' > {CONTINUATION}"}

    def recall(self) -> tuple[str, Mapping[str, Any]]:
        """Read it."""
        return "shell_command", {"command": f"cat {CONTINUATION}"}

    def asked(self, prompt: str) -> bool:
        """Never."""
        return False


def demonstrator(task: Task, seed: int, dialect: Dialect, habit: Habit | None = None) -> Script:
    """An imperfect policy for one pocket episode. Raises :class:`DataError` for a task of another split."""
    return pocket_script(task, seed, dialect, Rates(), habit)


def pocket_script(task: Task, seed: int, dialect: Dialect, rates: Rates, habit: Habit | None = None) -> Script:
    """A policy with given rates, which keeps notes by ``habit`` (None: files); it sees the decoded context alone."""
    if task.payload.get("style") != "pocket":
        raise DataError(f"Expected a pocket task to demonstrate, got {task.id!r}.")
    return _Demonstrator(random.Random(f"{task.id}:{seed}"), dialect, rates, habit or _Files())


class _Demonstrator:
    def __init__(self, rng: random.Random, dialect: Dialect, rates: Rates, habit: Habit) -> None:
        self._rng = rng
        self._dialect = dialect
        self._rates = rates
        self._habit = habit
        self._seen = ""
        self._said = ""
        self._modules: list[str] = []
        self._known: tuple[str, str] | None = None  # module and operator, once the context shows them
        self._save = 0  # the number that a pending checkpoint asks for
        self._may_read = self._may_check = self._repaired = False

    def __call__(self, context: str) -> str:
        if self._habit.asked(context):
            self._learn(context)  # pressure asks before the script has seen what filled the context
            return self._note()
        self._observe(context)
        junk = self._rng.random() < self._rates.junk
        self._said = self._dialect.render(*(self._shell(self._junk()) if junk else self._act()))
        return self._said

    def _observe(self, context: str) -> None:
        fresh = not self._seen or not context.startswith(self._seen)
        news = context if fresh else context[len(self._seen) :].removeprefix(self._said)
        if fresh:
            brief = _BRIEF.search(news)
            self._modules = re.findall(_NAME, brief.group(1)) if brief else []
            self._may_read = bool(self._seen)  # not the first context
            look = self._rates.check_again if self._may_read else self._rates.check_first
            self._may_check = self._rng.random() < look
            self._known, self._save = None, 0
        self._seen = context
        self._learn(news)
        if save := _SAVE.search(news):
            self._save = int(save.group(1))

    def _learn(self, text: str) -> None:
        if found := _FINDING.search(text) or _NOTE.search(text):
            self._known = found.group(1), found.group(2)

    def _act(self) -> tuple[str, Mapping[str, Any]]:
        if self._save and (call := self._habit.keep(self._note())):
            return call
        if self._repaired:
            return self._shell(f"echo {SENTINEL}")
        recall = self._habit.recall() if self._may_read else None
        self._may_read = False
        if recall and self._rng.random() < self._rates.read:
            return recall
        if self._known is None and self._may_check:
            self._may_check = False
            return self._shell(f"python {CHECK}")
        self._repaired = True
        informed = self._known is not None and self._rng.random() < self._rates.apply_known
        guess = self._rng.choice(self._modules or NAMES), self._rng.choice(OPERATORS)
        name, operator = self._known if informed and self._known else guess
        return self._shell(f"sed -i 's/a . b/a {operator} b/' {name}.py")

    def _note(self) -> str:
        useful = self._known is not None and self._rng.random() < self._rates.useful_note
        # the two differ by "=", which only notes hold: what repairs teach about copying must not favour either
        word = f"={' '.join(self._known)}" if useful and self._known else ""
        return f"{self._save or 1}{word}"

    def _junk(self) -> str:
        return self._rng.choice(("ls", "pwd", f"cat {self._rng.choice(self._modules or NAMES)}.py"))

    def _shell(self, command: str) -> tuple[str, Mapping[str, Any]]:
        return "shell_command", {"command": command}
