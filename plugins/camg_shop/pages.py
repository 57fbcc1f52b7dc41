"""WebShop's text pages, in its two modes: ``simple`` joins what is visible, ``text_rich`` marks the buttons."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from camg_shop.browser import BACK, BUY, NEXT, PREVIOUS, SUBPAGES, Kind, Page
from camg_shop.plan import Product, Store


@frozen
class Element:
    """One visible string. ``button``: it can be clicked; ``chosen``: it was."""

    text: str
    button: bool = False
    chosen: bool = False


def render(page: Page, store: Store, mode: str) -> str:
    """The page as the policy reads it."""
    elements = list(_elements(page, store))
    if mode == "simple":
        return " [SEP] ".join(element.text for element in elements)
    return "\n".join(_marked(element) for element in elements)


def _marked(element: Element) -> str:
    if element.chosen:
        return f"[clicked button] {element.text} [clicked button_]"
    return f"[button] {element.text} [button_]" if element.button else element.text


def _elements(page: Page, store: Store) -> Iterator[Element]:
    if page.kind is Kind.SEARCH:
        yield Element("WebShop")
        yield Element("Search", button=True)
        return
    yield Element(BACK, button=True)
    if page.kind is Kind.RESULTS:
        yield from _results(page, store)
        return
    yield Element(PREVIOUS, button=True)
    product = store.product(page.product)
    yield from _item(page, product) if page.kind is Kind.ITEM else map(Element, _subpage(page.sub, product))


def _results(page: Page, store: Store) -> Iterator[Element]:
    yield Element(f"Page {page.number} (Total results: {len(page.results)})")
    if page.number > 1:
        yield Element(PREVIOUS, button=True)
    if page.number < page.pages:
        yield Element(NEXT, button=True)
    for product_id in page.shown:
        product = store.product(product_id)
        yield Element(product.id, button=True)
        yield Element(product.title)
        yield Element(product.shown_price)


def _item(page: Page, product: Product) -> Iterator[Element]:
    for name, values in product.options.items():
        yield Element(name)
        for value in values:
            yield Element(value, button=True, chosen=page.options.get(name) == value)
    yield Element(product.title)
    yield Element(f"Price: {product.shown_price}")
    yield Element(f"Rating: {product.rating}")
    for name in (*SUBPAGES, BUY):
        yield Element(name, button=True)


def _subpage(name: str, product: Product) -> tuple[str, ...]:
    content = {
        "Description": (product.description,),
        "Features": product.features,
        "Reviews": product.reviews,
        "Attributes": product.attributes,
    }[name]
    return tuple(text for text in content if text) or (f"No {name.lower()}.",)
