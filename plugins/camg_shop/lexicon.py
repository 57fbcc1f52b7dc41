"""The attribute axes that tasks turn on, and how a value is read from a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

AXES: Mapping[str, tuple[str, ...]] = {
    "flavor": (
        "chocolate",
        "vanilla",
        "strawberry",
        "lemon",
        "caramel",
        "mint",
        "peanut butter",
        "coconut",
        "cinnamon",
    ),
    "scent": ("lavender", "rose", "citrus", "sandalwood", "jasmine", "eucalyptus", "unscented"),
    "material": ("bamboo", "leather", "cotton", "steel", "glass", "ceramic", "linen", "plastic", "wool", "velvet"),
    "color": ("black", "white", "gray", "blue", "red", "green", "pink", "purple", "brown", "yellow", "orange", "beige"),
}
"""Axis -> values, most telling axis first: a product belongs to the first axis that it has exactly one value of."""

SYNONYMS: Mapping[str, str] = {"grey": "gray", "stainless": "steel"}

_WORD = re.compile(r"[a-z0-9]+")


def words(text: str) -> list[str]:
    """Lower-cased alphanumeric words, spelling variants of values unified."""
    return [SYNONYMS.get(word, word) for word in _WORD.findall(text.lower())]


def normalised(text: str) -> str:
    """For comparing titles and options: words joined by single spaces."""
    return " ".join(words(text))


def values_in(text: str, axis: str) -> frozenset[str]:
    """The values of ``axis`` that ``text`` names, as whole words."""
    padded = f" {normalised(text)} "
    return frozenset(value for value in AXES[axis] if f" {value} " in padded)


def single_value(title: str, others: Iterable[str]) -> tuple[str, str] | None:
    """``(axis, value)`` of the first axis with exactly one value in the title and no other value elsewhere."""
    rest = " ; ".join(others)
    for axis in AXES:
        named = values_in(title, axis)
        if len(named) == 1 and values_in(rest, axis) <= named:
            return axis, next(iter(named))
    return None
