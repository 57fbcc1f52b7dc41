"""The real WebShop files, with all their irregularities, become products and goals.

Differences from upstream's loader, each on purpose: a price range is drawn from sha256(seed:asin) in integer cents
(upstream draws unseeded); a malformed record is reported and left out instead of ending the load.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from attrs import field, frozen

from camg.errors import DataError
from camg_shop.permutation import number
from camg_shop.plan import Product

MISSING_PRICE = 10_000  # cents, as upstream
_CHUNK = 1 << 20
_LONGEST = 64 << 20  # characters of one record
_GAP = re.compile(r"[ \t\r\n,]*")


@frozen
class Fault:
    """A record that was left out, or used in part."""

    file: str
    record: str  # its position from 1, or its asin
    reason: str


@frozen
class Goal:
    """A plain WebShop goal: an instruction and what its reward compares (``price_upper`` in cents)."""

    product: str
    instruction: str
    attributes: tuple[str, ...]
    options: tuple[str, ...]
    price_upper: int


@frozen
class Import:
    """What the files gave. ``counts``: records read, used and left out, by reason."""

    products: tuple[Product, ...]
    goals: tuple[Goal, ...]
    faults: tuple[Fault, ...]
    counts: Mapping[str, int] = field(factory=dict)


def find_files(folder: Path) -> tuple[Path, Path, Path]:
    """Products, attributes, human instructions; the whole catalogue before the small one of 1,000.

    Raises:
        DataError: a file is missing; the message names it.
    """
    if not folder.is_dir():
        raise DataError(f"Expected a folder with the WebShop files, got {str(folder)!r}.")
    found = sorted(folder.glob("items_shuffle*.json"), key=lambda path: (len(path.name), path.name))
    if not found:
        raise DataError(f"Expected items_shuffle.json or items_shuffle_1000.json in {folder}, found neither.")
    suffix = found[0].stem.removeprefix("items_shuffle")
    wanted = (found[0], folder / f"items_ins_v2{suffix}.json", folder / "items_human_ins.json")
    for path in wanted:
        if not path.is_file():
            raise DataError(f"Expected {path.name} in {folder}, beside {found[0].name}; it is missing.")
    return wanted


def read_webshop(folder: Path, seed: int) -> Import:
    """Read a folder of WebShop files. Raises :class:`DataError` for a missing file or one that is no JSON at all."""
    items, ins, human = find_files(folder)
    faults: list[Fault] = []
    attributes = _attributes(ins, faults)
    products: dict[str, Product] = {}
    read = 0
    for read, record in enumerate(_records(items, faults), start=1):
        try:
            product = _product(record, seed, products, attributes)
        except ValueError as error:
            faults.append(Fault(items.name, str(read), str(error)))
            continue
        products[product.id] = product
    goals = _goals(human, products, seed, faults)
    counts = Counter(f"{fault.file}: {fault.reason}" for fault in faults)
    counts.update({"records": read, "products": len(products), "goals": len(goals)})
    return Import(tuple(products.values()), goals, tuple(faults), dict(counts))


# ---------------------------------------------------------------- files
def _records(path: Path, faults: list[Fault]) -> Iterator[Any]:
    """The elements of a JSON array, one by one: the whole catalogue is several GB.

    A file that breaks off or is no JSON from some record on gives what came before, and a fault.
    """
    decoder = json.JSONDecoder()
    count, place = 0, 0
    with path.open(encoding="utf-8", errors="replace") as source:
        buffer = source.read(_CHUNK).lstrip("\ufeff \t\r\n")
        if not buffer.startswith("["):
            raise DataError(f"Expected a JSON list in {path}, got {buffer[:20]!r}.")
        place, ended = 1, False
        while True:
            place = _GAP.match(buffer, place).end()  # type: ignore[union-attr]
            if buffer.startswith("]", place):
                return
            try:
                value, end = decoder.raw_decode(buffer, place)
                complete = ended or end < len(buffer)  # a number might go on in the next chunk
            except (json.JSONDecodeError, RecursionError):
                complete, value, end = False, None, place
            if complete:
                count, place = count + 1, end
                yield value
                continue
            if ended or len(buffer) - place > _LONGEST:
                faults.append(Fault(path.name, str(count + 1), "not JSON from here to the end of the file"))
                return
            more = source.read(max(_CHUNK, len(buffer) - place))
            ended = not more
            buffer, place = buffer[place:] + more, 0


def _mapping(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8", errors="replace"))
    except (json.JSONDecodeError, RecursionError) as error:
        raise DataError(f"Expected JSON in {path}, got: {error}.") from error
    if not isinstance(content, dict):
        raise DataError(f"Expected an object keyed by asin in {path}, got {type(content).__name__}.")
    return content


def _attributes(path: Path, faults: list[Fault]) -> dict[str, tuple[str, ...]]:
    found = {}
    for asin, entry in _mapping(path).items():
        listed = entry.get("attributes", []) if isinstance(entry, dict) else None
        if not isinstance(listed, list) or not all(isinstance(item, str) for item in listed):
            faults.append(Fault(path.name, asin, "attributes are not a list of strings"))
            continue
        found[asin] = tuple(item.strip().lower() for item in listed)
    return found


# ---------------------------------------------------------------- products
def _product(
    record: Any, seed: int, known: Mapping[str, Product], attributes: Mapping[str, tuple[str, ...]]
) -> Product:
    if not isinstance(record, dict):
        raise ValueError(f"not an object but {type(record).__name__}")
    asin, name = record.get("asin"), record.get("name")
    if not isinstance(asin, str) or not asin or asin == "nan":
        raise ValueError("no asin")
    if len(asin) > 10:
        raise ValueError("asin longer than 10")
    if asin in known:
        raise ValueError("asin repeated")
    if not isinstance(name, str) or not name.strip():
        raise ValueError("no name")
    price, price_text = _price(record.get("pricing"), f"{seed}:{asin}")
    return Product(
        id=asin,
        title=name.strip(),
        price=price,
        category=_text(record, "query").lower() or _text(record, "product_category").split("›")[-1].strip().lower(),
        department=_text(record, "product_category"),
        description=_text(record, "full_description"),
        features=_features(record.get("small_description")),
        options=_options(record.get("customization_options")),
        attributes=attributes.get(asin, ()),
        price_text=price_text,
    )


def _text(record: Mapping[str, Any], key: str) -> str:
    value = record.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"{key} is not a string")
    return value.strip()


def _price(pricing: Any, key: str) -> tuple[int, str]:
    """Cents, and the text that pages show ("" when it is the plain price)."""
    if pricing is None or pricing == "":
        return MISSING_PRICE, ""
    if not isinstance(pricing, str):
        raise ValueError("pricing is not a string")
    try:
        amounts = [Decimal(re.sub(r"[^\d.]", "", part)) for part in pricing.split("$")[1:]]
    except InvalidOperation:
        raise ValueError("pricing holds no amount") from None
    if not amounts:
        raise ValueError("pricing holds no amount")
    cents = sorted(int((amount * 100).to_integral_value()) for amount in amounts[:2])
    if cents[0] == cents[-1]:
        return cents[0], ""
    low, high = cents
    drawn = low + number(key, high - low + 1)
    return drawn, f"${low / 100:.2f} to ${high / 100:.2f}"


def _features(value: Any) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value or []
    if not isinstance(listed, list) or not all(isinstance(item, str) for item in listed):
        raise ValueError("small_description is neither a string nor a list of strings")
    return tuple(item.strip() for item in listed if item.strip())


def _options(value: Any) -> dict[str, tuple[str, ...]]:
    if value in ("", None):
        return {}
    if not isinstance(value, dict):
        raise ValueError("customization_options is neither empty nor an object")
    options: dict[str, tuple[str, ...]] = {}
    for name, rows in value.items():
        if not rows:
            continue
        if not isinstance(rows, list) or not all(isinstance(r, dict) and isinstance(r.get("value"), str) for r in rows):
            raise ValueError("an option is not a list of values")
        options[name.strip().lower()] = tuple(dict.fromkeys(option_value(row["value"]) for row in rows))
    return options


def option_value(text: str) -> str:
    """As WebShop shows it: stripped, ``/`` -> `` | ``, lower-cased."""
    return text.strip().replace("/", " | ").lower()


# ---------------------------------------------------------------- goals
def _goals(path: Path, products: Mapping[str, Product], seed: int, faults: list[Fault]) -> tuple[Goal, ...]:
    goals: dict[str, Goal] = {}
    for asin, rows in _mapping(path).items():
        for row in rows if isinstance(rows, list) else [None]:
            try:
                goal = _goal(asin, row, products, seed)
                if goal.instruction in goals:
                    raise ValueError("instruction repeated")
            except ValueError as error:
                faults.append(Fault(path.name, asin, str(error)))
                continue
            goals[goal.instruction] = goal
    return tuple(goals.values())


def _goal(asin: str, row: Any, products: Mapping[str, Product], seed: int) -> Goal:
    if not isinstance(row, dict) or not isinstance(row.get("instruction"), str):
        raise ValueError("no instruction")
    if asin not in products:
        raise ValueError("product unknown")
    options = row.get("instruction_options") or []
    options = list(options.values()) if isinstance(options, dict) else options
    attributes = row.get("instruction_attributes") or []
    for listed in (options, attributes):
        if not isinstance(listed, list) or not all(isinstance(item, str) for item in listed):
            raise ValueError("instruction attributes or options are not strings")
    if not attributes:
        raise ValueError("no instruction attributes")
    text = row["instruction"].strip().rstrip(".")
    upper = _price_upper(products[asin].price, f"{seed}:{asin}:{text}")
    return Goal(
        product=asin,
        instruction=f"{text}, and price lower than {upper / 100:.2f} dollars" if upper else text,
        attributes=tuple(item.strip().lower() for item in attributes),
        options=tuple(option_value(item) for item in options),
        price_upper=upper,
    )


def _price_upper(price: int, key: str) -> int:
    """One of the next round tens of dollars above the price, below 1,000 dollars; 0: no limit."""
    above = [cents for cents in range(1000, 100_000, 1000) if cents > price][:4]
    return above[1 + number(key, len(above) - 1)] if len(above) >= 2 else 0
