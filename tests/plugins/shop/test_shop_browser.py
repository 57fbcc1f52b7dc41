"""The browser's state machine, the two page modes, and the holes that must stay closed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from camg_shop.browser import BACK, BUY, NEXT, PREVIOUS, Browser, InvalidMove, Kind
from camg_shop.pages import render
from camg_shop.plan import Product


class Shelf:
    """Twenty-five mugs; every search finds all."""

    def __init__(self):
        options = {"size": ("small", "large"), "color": ("red",)}
        self.products = {
            f"B0000000{n:02d}": Product(
                f"B0000000{n:02d}",
                f"Mug number {n}",
                100 * n,
                options=options,
                description=f"About {n}.",
                features=("a", "b"),
            )
            for n in range(25)
        }

    def product(self, product_id):
        return self.products[product_id]

    def search(self, query):
        return [] if query == "none" else list(self.products)


@pytest.fixture
def browser():
    return Browser(Shelf())


def test_the_way_to_a_purchase(browser):
    browser.search("mug")
    assert browser.page.kind is Kind.RESULTS
    browser.click("b000000003")
    browser.click("Large")
    browser.click("Description")
    assert browser.page.kind is Kind.SUB
    browser.click(PREVIOUS)
    bought = browser.click("buy now")
    assert (bought.product, bought.options) == ("B000000003", {"size": "large"})


def test_pages_of_results_turn_and_end(browser):
    browser.search("mug")
    with pytest.raises(InvalidMove):
        browser.click(PREVIOUS)
    browser.click(NEXT)
    browser.click(NEXT)
    assert browser.page.number == browser.page.pages == 3
    assert browser.page.shown == ("B000000020", "B000000021", "B000000022", "B000000023", "B000000024")
    with pytest.raises(InvalidMove):
        browser.click(NEXT)
    browser.click("B000000020")
    browser.click(PREVIOUS)
    assert browser.page.number == 3  # back where one was


def test_only_what_the_page_lists_can_be_opened(browser):
    browser.search("mug")
    with pytest.raises(InvalidMove):
        browser.click("B000000012")  # exists, on page 2
    with pytest.raises(InvalidMove):
        browser.click("B099999999")
    browser.click("B000000001")
    with pytest.raises(InvalidMove):
        browser.click("B000000002")  # not from an item page


def test_opening_another_product_clears_the_options(browser):
    browser.search("mug")
    browser.click("B000000001")
    browser.click("large")
    browser.click(PREVIOUS)
    browser.click("B000000002")
    assert browser.click(BUY).options == {}


def test_a_new_search_clears_product_and_options(browser):
    browser.search("mug")
    browser.click("B000000001")
    browser.click("large")
    browser.click(BACK)
    browser.search("mug")
    assert browser.page.product == ""
    assert browser.page.options == {}


def test_searching_and_buying_have_their_pages(browser):
    with pytest.raises(InvalidMove):
        browser.click(BUY)
    with pytest.raises(InvalidMove):
        browser.click(BACK)
    browser.search("none")
    assert browser.page.shown == ()
    with pytest.raises(InvalidMove):
        browser.search("mug")
    with pytest.raises(InvalidMove):
        browser.click(BUY)


def test_query_prefixes_of_webshop_open_no_door(shop):
    """Upstream's ``<q>``, ``<a>``, ``<c>``, ``<r>`` bypass the engine; here they are words like others."""
    store = shop.catalogue()
    for prefix in ("<r>", "<q>", "<a> ", "<c>"):
        assert list(store.search(f"{prefix}red mug")) == list(store.search(f"{prefix[1]} red mug"))


def test_pages_in_both_modes(browser):
    store = Shelf()
    assert render(browser.page, store, "simple") == "WebShop [SEP] Search"
    browser.search("mug")
    simple, rich = (render(browser.page, store, mode) for mode in ("simple", "text_rich"))
    assert simple.startswith("Back to Search [SEP] Page 1 (Total results: 25) [SEP] Next > [SEP] B000000000 [SEP] Mug")
    assert "[button] B000000009 [button_]\nMug number 9\n$9.00" in rich
    assert "B000000010" not in rich
    browser.click("B000000002")
    browser.click("small")
    rich = render(browser.page, store, "text_rich")
    assert "[clicked button] small [clicked button_]\n[button] large [button_]" in rich
    assert "Price: $2.00\nRating: N.A." in rich
    browser.click("Features")
    assert render(browser.page, store, "simple") == "Back to Search [SEP] < Prev [SEP] a [SEP] b"
    browser.click(PREVIOUS)
    browser.click("Reviews")
    assert render(browser.page, store, "simple").endswith("No reviews.")


LABELS = [BACK, NEXT, PREVIOUS, BUY, "Description", "Attributes", "large", "B000000001", "B000000015", "nonsense", ""]


@given(st.lists(st.sampled_from([*LABELS, "?mug", "?none"]), max_size=30))
@settings(max_examples=150, deadline=None)
def test_any_walk_keeps_its_promises(moves):
    """No label crashes; only a listed product is ever bought; an invalid move changes nothing."""
    browser, store = Browser(Shelf()), Shelf()
    for move in moves:
        before = browser.page
        try:
            bought = browser.search(move[1:]) if move.startswith("?") else browser.click(move)
        except InvalidMove:
            assert browser.page == before
            continue
        if bought is not None:
            assert bought.product == before.product
            assert before.product in before.shown
        assert render(browser.page, store, "text_rich")
