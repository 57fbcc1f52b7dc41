"""Imperfect demonstrations of the pocket split: the behaviour is all there, each part at a low rate.

What reinforcement learning finds in the warm start is what these rates put there; every session right comes out in
about 7.5 % of episodes (a test measures it). With all rates at 1 and no junk it is the pocket oracle.
"""

from __future__ import annotations

import random
import re

from attrs import frozen

from camg.errors import DataError
from camg.protocols import Dialect, Script
from camg.types import Task
from camg_shop.browser import BUY
from camg_shop.follow import CONTINUATION, FOLDER, Follower, click, shell
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


def demonstrator(task: Task, seed: int, dialect: Dialect) -> Script:
    """An imperfect policy for one pocket episode. Raises :class:`DataError` for a task of another split."""
    return pocket_script(task, seed, dialect, Rates())


def pocket_script(task: Task, seed: int, dialect: Dialect, rates: Rates) -> Script:
    """A policy with given rates; it sees the decoded context alone."""
    if task.payload.get("style") != "pocket":
        raise DataError(f"Expected a pocket task to demonstrate, got {task.id!r}.")
    return _Demonstrator(random.Random(f"{task.id}:{seed}"), dialect, rates)


class _Demonstrator:
    def __init__(self, rng: random.Random, dialect: Dialect, rates: Rates) -> None:
        self._rng = rng
        self._dialect = dialect
        self._rates = rates
        self._follower = Follower()
        self._known = ""  # the wanted value, once the context shows it
        self._listings: list[str] = []
        self._opened = ""  # the item page that is open
        self._save = 0  # the number that a pending checkpoint asks for
        self._may_read = False

    def __call__(self, context: str) -> str:
        self._observe(context)
        junk = self._rng.random() < self._rates.junk
        return self._follower.say(self._junk() if junk else self._act())

    def _observe(self, context: str) -> None:
        news = self._follower.read(context)
        if news.fresh:
            head = _HEAD.search(news.text)
            self._known = (head.group(3) or "") if head else ""
            self._may_read = bool(head) and CONTINUATION in news.text
            self._opened, self._save = "", 0
        if note := _NOTE.search(news.text):
            self._known = note.group(1)
        if save := _SAVE.search(news.text):
            self._save = int(save.group(1))
        if item := _ITEM.search(news.text):
            self._opened = item.group(1)
        elif listings := _LISTING.findall(news.text):
            self._listings, self._opened = listings, ""

    def _act(self) -> str:
        if self._save:
            return self._note()
        if self._opened:
            return click(self._dialect, BUY)
        if self._may_read:
            self._may_read = False
            if self._rng.random() < self._rates.read:
                return shell(self._dialect, f"cat {CONTINUATION}")
        wanted = [title for title in self._listings if title.split()[0] == self._known]
        informed = wanted and self._rng.random() < self._rates.buy_known
        return click(self._dialect, self._rng.choice(wanted if informed else self._listings))

    def _note(self) -> str:
        """What was bought is what was wanted: the purchase was right, or there would be no checkpoint."""
        useful = self._rng.random() < self._rates.useful_note
        # the two differ by "=", which only notes hold: what clicks teach about copying must not favour either
        word = f"={self._opened}" if useful else ""
        return shell(self._dialect, f"mkdir -p {FOLDER}; echo {self._save}{word} > {CONTINUATION}")

    def _junk(self) -> str:
        noun = self._rng.choice(PRODUCTS)
        return self._rng.choice((noun, click(self._dialect, noun), shell(self._dialect, "ls")))
