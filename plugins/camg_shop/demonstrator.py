"""Imperfect demonstrations of the pocket split: the behaviour is all there, each part at a low rate.

What reinforcement learning finds in the warm start is what these rates put there; every session right comes out in
about 7.5 % of episodes (a test measures it). With all rates at 1 and no junk it is the pocket oracle.
"""

from __future__ import annotations

import random
import re

from attrs import frozen

from camg.errors import DataError
from camg.protocols import Dialect, Habit, Script
from camg.types import Task
from camg_shop.browser import BUY
from camg_shop.follow import CONTINUATION, Files, Follower, click, shell
from camg_shop.pocket import PRODUCTS, VALUES

USEFUL_NOTE = 0.30  # a note carries the value, not just a number
READ = 0.40  # a later session opens with a read of the note
BUY_KNOWN = 0.60  # a known value decides the click; else the click is uniform
JUNK = 0.08  # a response without use

_HEAD = re.compile(r"Buy (\d)/(\d): (?:want=(\w+))?")
_NOTE = re.compile(rf"\b\d=({'|'.join(VALUES)})\b")
_TITLE = rf"(?:{'|'.join(VALUES)}) (?:{'|'.join(PRODUCTS)})"
_LISTING = re.compile(rf"\[({_TITLE})\]")
_ITEM = re.compile(rf"([a-z]+) [a-z]+ \[{BUY}\]")
_SAVE = re.compile(r"save (\d) to ")


@frozen
class Rates:
    """Probabilities of the behaviours."""

    useful_note: float = USEFUL_NOTE
    read: float = READ
    buy_known: float = BUY_KNOWN
    junk: float = JUNK


PERFECT = Rates(1.0, 1.0, 1.0, 0.0)


def demonstrator(task: Task, seed: int, dialect: Dialect, habit: Habit | None = None) -> Script:
    """An imperfect policy for one pocket episode. Raises :class:`DataError` for a task of another split."""
    return pocket_script(task, seed, dialect, Rates(), habit)


def pocket_script(task: Task, seed: int, dialect: Dialect, rates: Rates, habit: Habit | None = None) -> Script:
    """A policy with given rates, which keeps notes by ``habit`` (None: files); it sees the decoded context alone."""
    if task.payload.get("style") != "pocket":
        raise DataError(f"Expected a pocket task to demonstrate, got {task.id!r}.")
    return _Demonstrator(random.Random(f"{task.id}:{seed}"), dialect, rates, habit or Files())


class _Demonstrator:
    def __init__(self, rng: random.Random, dialect: Dialect, rates: Rates, habit: Habit) -> None:
        self._rng = rng
        self._dialect = dialect
        self._rates = rates
        self._habit = habit
        self._follower = Follower()
        self._known = ""  # the wanted value, once the context shows it
        self._listings: list[str] = []
        self._opened = ""  # the item page that is open
        self._number = 0  # of the session: what a note begins with
        self._save = False  # a checkpoint is asked for
        self._kept = self._may_read = False

    def __call__(self, context: str) -> str:
        if self._habit.asked(context):
            return self._note()
        self._observe(context)
        junk = self._rng.random() < self._rates.junk
        return self._follower.say(self._junk() if junk else self._act())

    def _observe(self, context: str) -> None:
        news = self._follower.read(context)
        if news.fresh:
            head = _HEAD.search(news.text)
            self._known = (head.group(3) or "") if head else ""
            self._number = int(head.group(1)) if head else 0
            self._may_read = CONTINUATION in news.text or self._number > 1
            self._opened, self._save, self._kept = "", False, False
        if note := _NOTE.search(news.text):
            self._known = note.group(1)
        if _SAVE.search(news.text):
            self._save = True
        if item := _ITEM.search(news.text):
            self._opened = item.group(1)
        elif listings := _LISTING.findall(news.text):
            self._listings, self._opened = listings, ""

    def _act(self) -> str:
        if self._save or (self._habit.eager and self._opened and not self._kept):
            self._kept = True
            if call := self._habit.keep(self._note()):
                return self._dialect.render(*call)
        if self._opened:
            return click(self._dialect, BUY)
        recall = self._habit.recall() if self._may_read else None
        self._may_read = False
        if recall and self._rng.random() < self._rates.read:
            return self._dialect.render(*recall)
        wanted = [title for title in self._listings if title.split()[0] == self._known]
        informed = wanted and self._rng.random() < self._rates.buy_known
        return click(self._dialect, self._rng.choice(wanted if informed else self._listings))

    def _note(self) -> str:
        """What is bought is what is wanted, as far as the script knows; before a checkpoint it was right."""
        useful = self._rng.random() < self._rates.useful_note
        # the two differ by "=", which only notes hold: what clicks teach about copying must not favour either
        return f"{self._number}={self._opened}" if useful else str(self._number)

    def _junk(self) -> str:
        noun = self._rng.choice(PRODUCTS)
        return self._rng.choice((noun, click(self._dialect, noun), shell(self._dialect, "ls")))
