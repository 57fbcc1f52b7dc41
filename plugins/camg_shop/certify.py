"""Certification: which products tasks may use (paper A.1.1), and why the others not.

A product qualifies when its title is 8 to 240 characters without id, bracket or line break, its normalised title is
unique in the catalogue, exactly one value of an attribute axis is named by title, attributes and options, the title
as a query brings it up on the first results page, and search, open, buy replays to the same id and price.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from attrs import field, frozen

from camg_shop.browser import BUY, PAGE_SIZE, Browser, InvalidMove
from camg_shop.lexicon import normalised, single_value
from camg_shop.plan import Product, Store

CERTIFIED = "certified"
_ASIN = re.compile(r"\bB0[0-9A-Z]{8}\b")


@frozen
class Trait:
    """What a certified product is on the one axis that tasks may turn on."""

    product: str
    axis: str
    value: str
    category: str


@frozen
class Certification:
    """Certified products, and how many products met which fate."""

    traits: tuple[Trait, ...]
    reasons: dict[str, int] = field(factory=dict)


def certify(products: Sequence[Product], store: Store) -> Certification:
    """Certify every product through the live ``store``."""
    titles = Counter(normalised(product.title) for product in products)
    traits: list[Trait] = []
    reasons: Counter[str] = Counter()
    for product in products:
        trait = _trait(product)
        reason = _title_fault(product, titles) or _fault(product, trait, store) or CERTIFIED
        reasons[reason] += 1
        if reason == CERTIFIED and trait is not None:
            traits.append(trait)
    return Certification(tuple(traits), dict(reasons))


def _trait(product: Product) -> Trait | None:
    options = [value for values in product.options.values() for value in values]
    found = single_value(product.title, [*product.attributes, *options])
    if found is None or not product.category:
        return None
    return Trait(product.id, *found, category=product.category)


def _title_fault(product: Product, titles: Counter[str]) -> str:
    title = product.title
    if not 8 <= len(title) <= 240:
        return "title not of 8 to 240 characters"
    if _ASIN.search(title) or product.id.lower() in title.lower() or re.search(r"[\[\]\n\r]", title):
        return "id, bracket or line break in the title"
    if titles[normalised(title)] != 1:
        return "title not unique"
    return ""


def _fault(product: Product, trait: Trait | None, store: Store) -> str:
    if trait is None:
        return "no single attribute value"
    if product.id not in store.search(product.title)[:PAGE_SIZE]:
        return "not on the first page by its title"
    if not replays(product, store):
        return "purchase replays to another id or price"
    return ""


def replays(product: Product, store: Store) -> bool:
    """Search by title, open, buy: the same id and price?"""
    browser = Browser(store)
    try:
        browser.search(product.title)
        browser.click(product.id)
        bought = browser.click(BUY)
    except InvalidMove:
        return False
    return bought is not None and bought.product == product.id and store.product(bought.product).price == product.price
