"""A scripted policy that solves a Shop pocket task *through* any memory, by that memory's habit."""

from __future__ import annotations

import re

from camg.episode.actions import BRACKET
from camg.protocols import Dialect, Habit, Memory
from camg.testing import play
from camg.types import Episode
from camg_shop.browser import BUY
from camg_shop.demonstrator import _HEAD, _ITEM, _LISTING, _NOTE, _SAVE
from camg_shop.environment import Shop

_MESSAGE = re.compile(r"<\|(system|user|assistant)\|>(.*?)(?=<\|end\|>|<\|(?:system|user|assistant)\|>|$)", re.DOTALL)


class Shopper:
    """Knows only what its context says. ``eager``: nothing asks for notes, so one is kept before each purchase."""

    def __init__(self, habit: Habit, dialect: Dialect, eager: bool) -> None:
        self.habit, self.dialect, self.eager = habit, dialect, eager
        self.bought = ""  # what a summary is to say
        self.recalled: set[str] = set()
        self.kept: set[str] = set()

    def __call__(self, context: str) -> str:
        if self.habit.asked(context):
            return self.bought
        seen = [text for role, text in _MESSAGE.findall(context) if role != "assistant"]
        whole = "\n".join(seen)
        head = _HEAD.search(whole)
        assert head, f"no brief in {whole!r}"
        number, known = head.group(1), head.group(3) or "".join(_NOTE.findall(whole)[:1])
        if _SAVE.search(seen[-1]):
            return self._call(self.habit.keep(self.bought))
        recall = self.habit.recall()
        if not known and recall and number not in self.recalled:
            self.recalled.add(number)
            return self._call(recall)
        pages = [text for text in seen if _ITEM.search(text) or _LISTING.search(text)]
        if item := _ITEM.search(pages[-1]):
            self.bought = f"{number}={item.group(1)}"
            keep = self.habit.keep(self.bought) if self.eager else None
            if keep and number not in self.kept:
                self.kept.add(number)
                return self._call(keep)
            return self._call(("click", {"target": BUY}))
        titles = _LISTING.findall(pages[-1])
        right = [title for title in titles if title.split()[0] == known]
        return self._call(("click", {"target": (right or titles)[0]}))

    def _call(self, call) -> str:
        return self.dialect.render(call[0], call[1])


def solve(memory: Memory, habit: Habit, *, eager: bool = False, sandbox=None, index: int = 0) -> Episode:
    """One pocket episode. The caller has a cache of its own (``XDG_CACHE_HOME``)."""
    shop = Shop()
    dialect = getattr(memory, "dialect", None) or BRACKET
    task = shop.task_ids("pocket")[index]
    return play(shop, memory, lambda task, seed: Shopper(habit, dialect, eager), task, sandbox=sandbox)
