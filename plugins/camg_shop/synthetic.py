"""A catalogue in exactly WebShop's file format, generated: texts and prices are our own, the irregularities real.

About 2,800 records for users without the WebShop scrape (whose data carries no licence). Deterministic by seed. What
the importer and the certification must cope with is all in it: see ``_spoil`` and ``_odd_record``.
"""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path
from typing import Any

VERSION = 1
PER_CELL = 14  # records of one (category, value)

_COLORS = ("black", "white", "gray", "blue", "red", "green", "pink", "purple")
_MATERIALS = ("bamboo", "leather", "cotton", "steel", "glass", "ceramic")
_FLAVORS = ("chocolate", "vanilla", "strawberry", "lemon", "caramel", "mint")
_SCENTS = ("lavender", "rose", "citrus", "sandalwood", "jasmine", "eucalyptus")

# query, department, product category, values
_SHELVES: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("phone case", "electronics", "Electronics › Cell Phones & Accessories › Cases", _COLORS),
    ("window curtain", "garden", "Home & Kitchen › Bedding › Window Treatments", _COLORS),
    ("backpack", "fashion", "Clothing › Luggage & Travel Gear › Backpacks", _COLORS),
    ("coffee mug", "garden", "Home & Kitchen › Kitchen & Dining › Drinkware", _COLORS),
    ("desk lamp", "garden", "Tools & Home Improvement › Lighting › Lamps", _COLORS),
    ("throw pillow", "garden", "Home & Kitchen › Bedding › Decorative Pillows", _COLORS),
    ("running shoes", "fashion", "Clothing › Shoes › Athletic", _COLORS),
    ("wall clock", "garden", "Home & Kitchen › Home Decor › Clocks", _COLORS),
    ("yoga mat", "fashion", "Sports & Outdoors › Exercise & Fitness › Mats", _COLORS),
    ("bath towel", "garden", "Home & Kitchen › Bath › Towels", _COLORS),
    ("umbrella", "fashion", "Clothing › Accessories › Umbrellas", _COLORS),
    ("office chair", "garden", "Office Products › Furniture › Chairs", _COLORS),
    ("storage basket", "garden", "Home & Kitchen › Storage & Organization › Baskets", _MATERIALS),
    ("serving tray", "garden", "Home & Kitchen › Kitchen & Dining › Trays", _MATERIALS),
    ("photo frame", "garden", "Home & Kitchen › Home Decor › Frames", _MATERIALS),
    ("drink coaster", "garden", "Home & Kitchen › Kitchen & Dining › Coasters", _MATERIALS),
    ("pencil holder", "garden", "Office Products › Desk Accessories › Holders", _MATERIALS),
    ("jewelry box", "fashion", "Clothing › Jewelry › Boxes", _MATERIALS),
    ("cake mix", "grocery", "Grocery & Gourmet Food › Baking › Mixes", _FLAVORS),
    ("frosting", "grocery", "Grocery & Gourmet Food › Baking › Frosting", _FLAVORS),
    ("protein bar", "grocery", "Grocery & Gourmet Food › Snacks › Bars", _FLAVORS),
    ("coffee syrup", "grocery", "Grocery & Gourmet Food › Beverages › Syrups", _FLAVORS),
    ("cookies", "grocery", "Grocery & Gourmet Food › Snacks › Cookies", _FLAVORS),
    ("pudding cups", "grocery", "Grocery & Gourmet Food › Snacks › Pudding", _FLAVORS),
    ("candle", "garden", "Home & Kitchen › Home Decor › Candles", _SCENTS),
    ("hand soap", "beauty", "Beauty & Personal Care › Bath › Soap", _SCENTS),
    ("body lotion", "beauty", "Beauty & Personal Care › Skin Care › Lotions", _SCENTS),
    ("room spray", "garden", "Health & Household › Household Supplies › Sprays", _SCENTS),
    ("bath salts", "beauty", "Beauty & Personal Care › Bath › Salts", _SCENTS),
)

_HEADS = (
    "Nor",
    "Vel",
    "Kas",
    "Tor",
    "Lum",
    "Bri",
    "Ost",
    "Mar",
    "Fen",
    "Quil",
    "Sab",
    "Hol",
    "Dra",
    "Ver",
    "Ald",
    "Pim",
)
_TAILS = ("vik", "tano", "wick", "ora", "mere", "dell", "sen", "quist", "by", "ford", "lux", "ine")
_LOOKS = ("Slim", "Classic", "Everyday", "Compact", "Premium", "Modern", "Sturdy", "Simple", "Soft Touch", "Handmade",
          "Travel", "Large", "Small", "Original", "Lightweight", "Deluxe")  # fmt: skip
_USES = ("for Home", "for Office", "for Gifts", "for Everyday Use", "for Guests", "for Kids", "for Adults",
         "for Travel", "for the Weekend", "for Small Rooms")  # fmt: skip
_PACKS = ("1 Count", "2 Pack", "Pack of 3", "Set of 4", "Single", "Value Pack", "12 oz", "16 oz", "Model 7", "Series 2")
_BULLETS = ("Made with care and checked by hand", "Arrives in recyclable packaging", "Easy to use straight away",
            "A thoughtful present for friends", "Backed by friendly customer service", "Designed to last for years",
            "Keeps its quality with regular use", "Fits most households")  # fmt: skip
_ATTRIBUTES = ("easy to use", "long lasting", "gift ready", "high quality", "light weight", "easy clean", "hand made")
_OPTIONS = {"Size": ("Small", "Medium", "Large / X-Large"), "Pack ": (" 1 Count", "2 Count", "4 Count")}


def generate(seed: int) -> dict[str, Any]:
    """The three files' contents: file name -> JSON value."""
    rng = random.Random(f"camg-shop-{VERSION}-{seed}")
    records: list[Any] = []
    attributes: dict[str, Any] = {}
    instructions: dict[str, Any] = {}
    for shelf in _SHELVES:
        for value in shelf[3]:
            for copy in range(PER_CELL):
                record = _record(rng, seed, shelf, value, copy)
                attributes[record["asin"]] = {"attributes": [value, *rng.sample(_ATTRIBUTES, 2)]}
                _spoil(rng, record, attributes, shelf[3])
                records.append(record)
                if rng.random() < 0.05:
                    instructions[record["asin"]] = [_instruction(rng, record, value)]
    records += [_odd_record(rng, records[rng.randrange(len(records))], kind) for kind in range(5) for _ in range(4)]
    rng.shuffle(records)
    return {
        "items_shuffle.json": records,
        "items_ins_v2.json": attributes,
        "items_human_ins.json": instructions,
    }


def write(folder: Path, seed: int) -> None:
    """Write the three files into an existing folder."""
    for name, content in generate(seed).items():
        (folder / name).write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def _asin(text: str) -> str:
    digest = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    letters = []
    for _ in range(8):
        digest, place = divmod(digest, len(alphabet))
        letters.append(alphabet[place])
    return "B0" + "".join(letters)


def _record(rng: random.Random, seed: int, shelf: tuple[Any, ...], value: str, copy: int) -> dict[str, Any]:
    query, department, product_category, _ = shelf
    noun = query.title()
    brand = rng.choice(_HEADS) + rng.choice(_TAILS)
    name = f"{brand} {rng.choice(_LOOKS)} {value.title()} {noun} {rng.choice(_USES)}, {rng.choice(_PACKS)}"
    bullets = rng.sample(_BULLETS, 3)
    options = {key: _choices(values) for key, values in _OPTIONS.items() if rng.random() < 0.3}
    return {
        "asin": _asin(f"{seed}:{query}:{value}:{copy}"),
        "name": name,
        "full_description": f"The {brand} {query} in {value}. {rng.choice(_BULLETS)}.",
        "small_description": bullets,
        "pricing": f"${rng.randrange(500, 6000) / 100:.2f}",
        "category": department,
        "query": query,
        "product_category": product_category,
        "images": [],
        "customization_options": options or "",
    }


def _choices(values: tuple[str, ...]) -> list[dict[str, Any]]:
    return [{"is_selected": False, "value": value, "asin": None, "image": None} for value in values]


def _spoil(rng: random.Random, record: dict[str, Any], attributes: dict[str, Any], values: tuple[str, ...]) -> None:
    """The irregularities of the real files, each at a few percent; several may meet in one record."""

    def sometimes(share: float) -> bool:
        return rng.random() < share

    if sometimes(0.05):
        record["pricing"] = ""
    if sometimes(0.08):
        low = rng.randrange(500, 3000)
        record["pricing"] = f"${low / 100:.2f} - ${(low + rng.randrange(100, 3000)) / 100:.2f}"
    if sometimes(0.01):
        record["pricing"] = "$1,299.00"
    if sometimes(0.10):
        record["small_description"] = record["small_description"][0]
    if sometimes(0.04):
        record["full_description"] = None
    if sometimes(0.03):
        record["customization_options"] = {"Size": None, "Style": []}
    if sometimes(0.03):
        del attributes[record["asin"]]
    if sometimes(0.01):
        record["name"] = record["name"].replace(" for ", f" and {rng.choice(values).title()} for ", 1)
    if sometimes(0.005):
        record["name"] += " [New Version]"
    if sometimes(0.005):
        record["name"] += " with Many Words" * 16
    if sometimes(0.005):
        record["customization_options"] = {"Color": _choices(("Black", "White"))}


def _odd_record(rng: random.Random, base: dict[str, Any], kind: int) -> Any:
    """Records that a loader must skip, and twins that certification must refuse."""
    odd = dict(base)
    if kind == 0:
        odd["asin"] = "nan"
    elif kind == 1:
        odd["asin"] = base["asin"] + "XL"
    elif kind == 2:
        odd["name"] = None
        odd["asin"] = _asin(f"odd:{rng.random()}")
    elif kind == 3:
        odd["asin"] = _asin(f"twin:{rng.random()}")  # the same title under another id
    return odd  # kind 4: the same record again


def _instruction(rng: random.Random, record: dict[str, Any], value: str) -> dict[str, Any]:
    options = record["customization_options"] or {}
    chosen = [rows[0]["value"].strip().lower() for rows in options.values() if rows][:1]
    return {
        "asin": record["asin"],
        "instruction": f"i am looking for a {value} {record['query']}",
        "attributes": [value],
        "options": [],
        "instruction_attributes": [value],
        "instruction_options": chosen,
    }
