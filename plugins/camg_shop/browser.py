"""WebShop's state machine: search -> results(p) -> item -> subpage, and a purchase. Pure; texts are in ``pages``.

Only what the current page shows can be clicked, so no unlisted product can be bought. A new search, and opening
another product, clear the chosen options (upstream keeps them: a bug). WebShop's query prefixes (``<q>``, ``<a>``,
``<c>``, ``<r>``: lookups past the search engine) have no meaning here: they are searched for as plain words.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from attrs import evolve, field, frozen

from camg_shop.plan import Store

PAGE_SIZE = 10
HITS = 50

BACK = "Back to Search"
NEXT = "Next >"
PREVIOUS = "< Prev"
BUY = "Buy Now"


class Kind(StrEnum):
    """The page that the browser shows."""

    SEARCH = "search"
    RESULTS = "results"
    ITEM = "item"
    SUB = "sub"


SUBPAGES = ("Description", "Features", "Reviews", "Attributes")


@frozen
class Page:
    """What the browser shows. ``number`` counts from 1; ``options``: name -> chosen value."""

    kind: Kind = Kind.SEARCH
    query: str = ""
    results: tuple[str, ...] = ()
    number: int = 1
    product: str = ""
    options: Mapping[str, str] = field(factory=dict)
    sub: str = ""

    @property
    def shown(self) -> tuple[str, ...]:
        """Ids on this results page."""
        start = (self.number - 1) * PAGE_SIZE
        return self.results[start : start + PAGE_SIZE]

    @property
    def pages(self) -> int:
        """Number of results pages, at least 1."""
        return max(1, -(-len(self.results) // PAGE_SIZE))


@frozen
class Purchase:
    """What "Buy Now" bought."""

    product: str
    options: Mapping[str, str]


class InvalidMove(Exception):
    """The page offers no such thing; the message is for the policy."""


class Browser:
    """One session's browser. ``opening``: results that it starts on (pocket), instead of the search page.

    ``labels`` names further texts that click a listing: lower-cased text -> product id.
    """

    def __init__(self, store: Store, opening: tuple[str, ...] = (), labels: Mapping[str, str] | None = None) -> None:
        self._store = store
        self._labels = dict(labels or {})
        self._opening = opening
        self.page = Page(Kind.RESULTS, results=opening) if opening else Page()

    def search(self, query: str) -> None:
        """From the search page only, as in WebShop. Raises :class:`InvalidMove`."""
        if self.page.kind is not Kind.SEARCH:
            raise InvalidMove("Only the search page can search; click[Back to Search] first.")
        self.page = Page(Kind.RESULTS, query=query, results=tuple(self._store.search(query)[:HITS]))

    def click(self, label: str) -> Purchase | None:
        """Press what the page offers under ``label`` (case and outer spaces do not matter).

        Returns the purchase when the label was Buy Now. Raises :class:`InvalidMove`.
        """
        page, wanted = self.page, label.strip().casefold()
        if page.kind is Kind.SEARCH:
            raise InvalidMove("The search page has no button to click; search first.")
        if wanted == BACK.casefold() and not self._opening:
            self.page = Page()
            return None
        if page.kind is Kind.RESULTS:
            self.page = self._from_results(page, wanted)
            return None
        if wanted == PREVIOUS.casefold():
            self.page = evolve(page, kind=Kind.ITEM, sub="") if page.kind is Kind.SUB else self._leave(page)
            return None
        if page.kind is Kind.SUB:
            raise InvalidMove(f"There is no button {label[:80]!r} on this page.")
        return self._on_item(page, wanted, label)

    def _from_results(self, page: Page, wanted: str) -> Page:
        if wanted == NEXT.casefold() and page.number < page.pages:
            return evolve(page, number=page.number + 1)
        if wanted == PREVIOUS.casefold() and page.number > 1:
            return evolve(page, number=page.number - 1)
        wanted = self._labels.get(wanted, wanted)
        for product_id in page.shown:
            if product_id.casefold() == wanted.casefold():
                return evolve(page, kind=Kind.ITEM, product=product_id, options={}, sub="")
        raise InvalidMove("This page lists no such product or button.")

    @staticmethod
    def _leave(page: Page) -> Page:
        return evolve(page, kind=Kind.RESULTS, product="", options={}, sub="")

    def _on_item(self, page: Page, wanted: str, label: str) -> Purchase | None:
        if wanted == BUY.casefold():
            return Purchase(page.product, dict(page.options))
        for sub in SUBPAGES:
            if wanted == sub.casefold():
                self.page = evolve(page, kind=Kind.SUB, sub=sub)
                return None
        for name, values in self._store.product(page.product).options.items():
            if wanted in values:
                self.page = evolve(page, options={**page.options, name: wanted})
                return None
        raise InvalidMove(f"There is no button {label[:80]!r} on this page.")
