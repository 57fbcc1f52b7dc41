"""The pocket split: Shop small enough for the embedded policy. Same session, browser and rewards, short texts.

Three sessions of four listings. Session 1 states one of eight values, the later ones say "same as before": only a
file that the policy wrote and read can tell. Each session opens on the results page of its listings. Values,
products, listings and their order are uniform, so a policy without memory is right once in four times.

A *class* is (value, product of each session). Every eighth class is held out for ``pocket-eval``, and the order of
the listings is drawn without repetition inside a split: no (value, products, order) appears in both or twice.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

from camg_shop.browser import BUY, Kind, Page
from camg_shop.config import POCKET_SESSIONS
from camg_shop.permutation import Permutation, digits, number
from camg_shop.plan import Plan, Product, Store, Visit
from camg_shop.session import ShopSession

VALUES = ("red", "blue", "green", "black", "white", "pink", "gray", "gold")
PRODUCTS = ("mug", "hat", "pen", "bag", "cup", "box", "lamp", "ring")
LISTINGS = 4
SIZES = {"pocket": 20_000, "pocket-eval": 1_024}
FAMILY = "latent"
SAME = "same as before"

_SIDES = tuple(itertools.permutations(range(len(VALUES) - 1), LISTINGS - 1))  # the other listings, in order
_ORDERS = len(_SIDES) * LISTINGS


@lru_cache(maxsize=4)
def _classes(split: str, seed: int) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """All (value, products) of a split: disjoint between the two."""
    every = itertools.product(range(len(VALUES)), itertools.permutations(range(len(PRODUCTS)), POCKET_SESSIONS))
    held_out = split == "pocket-eval"
    return tuple(row for row in every if (number(f"{seed}:class:{row}", 8) == 0) == held_out)


@lru_cache(maxsize=4)
def _order(split: str, seed: int) -> Permutation:
    size = len(_classes(split, seed)) * _ORDERS**POCKET_SESSIONS
    return Permutation(size, f"{seed}:{split}")


def pocket_plan(split: str, index: int, seed: int) -> Plan:
    """The plan of task ``index`` of a pocket split. Raises ``IndexError``."""
    if not 0 <= index < SIZES[split]:
        raise IndexError(f"Expected an index below {SIZES[split]}, got {index}.")
    classes = _classes(split, seed)
    which, *orders = digits(_order(split, seed)(index), (len(classes), *[_ORDERS] * POCKET_SESSIONS))
    value, nouns = classes[which]
    products: list[tuple[str, str, int]] = []
    visits = []
    for session, (noun, order) in enumerate(zip(nouns, orders, strict=True)):
        side, target = divmod(order, LISTINGS)
        shown = [(value + 1 + step) % len(VALUES) for step in _SIDES[side]]
        shown.insert(target, value)
        rows = [(VALUES[v], f"{VALUES[v]} {PRODUCTS[noun]}", 500 + 100 * noun) for v in shown]
        ids = tuple(title for _, title, _ in rows)
        products += rows
        visits.append(Visit(f"want={VALUES[value]}" if session == 0 else SAME, ids, target))
    dearest = sum(500 + 100 * noun for noun in nouns)
    budget = math.ceil(dearest / 1000) * 1000 + 1000
    return Plan(FAMILY, tuple(visits), budget, products=tuple(products), clue=VALUES[value])


class PocketStore:
    """The listings of one pocket episode; a product's id is its title."""

    def __init__(self, plan: Plan) -> None:
        self._products = {title: Product(title, title, price) for _, title, price in plan.products}

    def product(self, product_id: str) -> Product:
        """Raises ``KeyError``."""
        return self._products[product_id]

    def search(self, query: str) -> Sequence[str]:
        """A pocket browser has no search page."""
        return ()


class PocketStyle:
    """Texts of a few tokens. Buttons stand in brackets, so that a click copies what it reads."""

    def brief(self, session: ShopSession) -> str:
        """``Buy 1/3: want=red`` and the page."""
        head = f"Buy {session.index + 1}/{session.sessions}: {session.visit.request}"
        return f"{head}\n{session.page_text()}"

    def page(self, page: Page, store: Store) -> str:
        """``[red mug] [gold mug]`` or ``red mug [Buy Now]``."""
        if page.kind is Kind.RESULTS:
            return " ".join(f"[{product_id}]" for product_id in page.shown)
        if page.kind is Kind.SUB:
            return "nothing [< Prev]"
        return f"{page.product} [{BUY}]"

    def bought(self, session: ShopSession, product: Product) -> str:
        """Short."""
        return "bought"

    def wrong(self) -> str:
        """Short."""
        return "wrong"

    def invalid(self, reason: str) -> str:
        """Short; the reason is plain from the page."""
        return "invalid"

    def fault(self, shown: str) -> str:
        """What did not parse is answered as shortly."""
        return "invalid"

    def reply(self, text: str) -> str:
        """There is nothing to ask."""
        return "no"

    def reminder(self, session: ShopSession, path: str, limit: int) -> str:
        """One line; the number makes each note another text than the one before."""
        return f"save {session.index + 1} to {path}"

    def labels(self, visit: Visit, plan: Plan) -> Mapping[str, str]:
        """A listing may also be clicked by its value: ``click[red]``."""
        return {title.split()[0]: title for title in visit.listings}

    def opening(self, visit: Visit) -> tuple[str, ...]:
        """The results page."""
        return visit.listings
