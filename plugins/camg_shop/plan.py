"""What one episode holds, and what a product is: plain records, JSON-able as a task's payload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from attrs import asdict, field, frozen


@frozen
class Product:
    """One product of a catalogue. ``price`` in integer cents; ``options``: name -> values, lower-cased."""

    id: str
    title: str
    price: int
    category: str = ""
    department: str = ""
    description: str = ""
    features: tuple[str, ...] = ()
    options: Mapping[str, tuple[str, ...]] = field(factory=dict)
    attributes: tuple[str, ...] = ()
    rating: str = "N.A."
    reviews: tuple[str, ...] = ()
    price_text: str = ""

    @property
    def shown_price(self) -> str:
        """As pages show it: WebShop's own text (a range, say), else dollars."""
        return self.price_text or dollars(self.price)


@frozen
class Visit:
    """One session: a request, the approved listings in the order shown, and which one is right.

    ``reply`` is what the customer answers to ``ask``; empty: nothing to add.
    """

    request: str
    listings: tuple[str, ...]
    target: int
    reply: str = ""


@frozen
class Plan:
    """One episode. ``products`` carries titles and prices of a pocket episode, which needs no catalogue.

    ``clue`` is the word whose presence in the context means that the wanted value is known (pocket only).
    """

    family: str
    visits: tuple[Visit, ...]
    budget: int  # cents
    customer: str = ""
    products: tuple[tuple[str, str, int], ...] = ()  # (value, title, price) of pocket listings
    clue: str = ""

    def payload(self) -> dict[str, Any]:
        """JSON-able; :meth:`parse` gives the same plan back."""
        return asdict(self)

    @classmethod
    def parse(cls, payload: Mapping[str, Any]) -> Plan:
        """From a payload, also one that went through JSON (lists for tuples)."""
        visits = tuple(
            Visit(row["request"], tuple(row["listings"]), row["target"], row.get("reply", ""))
            for row in payload["visits"]
        )
        products = tuple((str(v), str(t), int(p)) for v, t, p in payload.get("products", ()))
        return cls(
            family=payload["family"],
            visits=visits,
            budget=payload["budget"],
            customer=payload.get("customer", ""),
            products=products,
            clue=payload.get("clue", ""),
        )


class Store(Protocol):
    """What a browser needs of a catalogue."""

    def product(self, product_id: str) -> Product:
        """Raises ``KeyError``."""

    def search(self, query: str) -> Sequence[str]:
        """Ids of the hits, best first."""


def dollars(cents: int) -> str:
    """``1250 -> "$12.50"``."""
    return f"${cents / 100:.2f}"
