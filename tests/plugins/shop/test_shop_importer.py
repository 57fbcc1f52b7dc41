"""WebShop's files: each irregularity, and what happens to malformed and missing ones."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from camg.errors import DataError
from camg_shop import synthetic
from camg_shop.catalogue import load
from camg_shop.webshop import MISSING_PRICE, _product, option_value, read_webshop


def record(**changes):
    """A plain record."""
    plain = {
        "asin": "B000000001",
        "name": "Plain Red Mug",
        "full_description": "A mug.",
        "small_description": ["one", "two"],
        "pricing": "$12.50",
        "category": "garden",
        "query": "Coffee Mug",
        "product_category": "Home › Mugs",
        "images": [],
        "customization_options": "",
    }
    return {**plain, **changes}


def folder(tmp_path, records, ins=None, human=None, suffix=""):
    """The three files."""
    (tmp_path / f"items_shuffle{suffix}.json").write_text(json.dumps(records))
    (tmp_path / f"items_ins_v2{suffix}.json").write_text(json.dumps(ins or {}))
    (tmp_path / "items_human_ins.json").write_text(json.dumps(human or {}))
    return tmp_path


def one(tmp_path, **changes):
    """The product that a changed record becomes."""
    return read_webshop(folder(tmp_path, [record(**changes)]), 0).products[0]


@pytest.mark.parametrize(
    ("pricing", "cents"),
    [
        ("$12.50", 1250),
        ("$1,299.00", 129_900),
        ("", MISSING_PRICE),
        (None, MISSING_PRICE),
        ("$7", 700),
        ("$5.00$5.00", 500),
    ],
)
def test_prices(tmp_path, pricing, cents):
    assert one(tmp_path, pricing=pricing).price == cents


def test_a_price_range_is_drawn_by_seed_and_asin_in_cents(tmp_path):
    files = folder(tmp_path, [record(pricing="$30.00 - $10.00"), record(asin="B000000002", pricing="$10.00 - $30.00")])
    first, again, other = (read_webshop(files, seed).products for seed in (0, 0, 1))
    assert [p.price for p in first] == [p.price for p in again] != [p.price for p in other]
    assert all(1000 <= product.price <= 3000 for product in (*first, *other))
    assert first[0].price != first[1].price
    assert first[0].shown_price == "$10.00 to $30.00"


def test_descriptions_and_options(tmp_path):
    product = one(
        tmp_path,
        small_description="only one",
        full_description=None,
        customization_options={" Size ": [{"value": " Large/X-Large "}, {"value": "SMALL"}], "Style": None, "Fit": []},
    )
    assert product.features == ("only one",)
    assert product.description == ""
    assert product.options == {"size": ("large | x-large", "small")}
    assert product.category == "coffee mug"


@given(st.text(max_size=20))
def test_option_values_are_normalised(text):
    value = option_value(text)
    assert value == value.lower()
    assert "/" not in value


def other(**changes):
    """A record under another id."""
    return record(asin="B000000005", **changes)


MALFORMED = [
    ("not an object but str", "text"),
    ("not an object but NoneType", None),
    ("no asin", record(asin="nan")),
    ("no asin", record(asin=None)),
    ("asin longer than 10", record(asin="B0000000012")),
    ("no name", other(name=None)),
    ("pricing holds no amount", other(pricing="$ask")),
    ("pricing holds no amount", other(pricing="free")),
    ("pricing is not a string", other(pricing=12)),
    ("small_description is neither", other(small_description={"a": 1})),
    ("customization_options is neither", other(customization_options=[1])),
    ("an option is not a list of values", other(customization_options={"size": "small"})),
    ("query is not a string", other(query=["mug"])),
]


@pytest.mark.parametrize(("reason", "broken"), MALFORMED)
def test_malformed_records_are_reported_and_the_rest_is_used(tmp_path, reason, broken):
    result = read_webshop(folder(tmp_path, [record(), broken, record(asin="B000000009")]), 0)
    assert [product.id for product in result.products] == ["B000000001", "B000000009"]
    (fault,) = result.faults
    assert (fault.file, fault.record) == ("items_shuffle.json", "2")
    assert fault.reason.startswith(reason)
    assert result.counts["records"] == 3
    assert result.counts["products"] == 2
    assert result.counts[f"items_shuffle.json: {fault.reason}"] == 1


@given(
    st.dictionaries(
        st.sampled_from([*record()]),
        st.none() | st.integers() | st.text(max_size=5) | st.lists(st.text(max_size=3), max_size=2),
    )
)
def test_no_record_can_crash_the_import(changes):
    try:
        product = _product(record(**changes), 0, {}, {})
    except ValueError:
        return
    assert product.title
    assert product.price >= 0


def test_repeated_ids_count_once(tmp_path):
    result = read_webshop(folder(tmp_path, [record(), record(name="Another Mug Here")]), 0)
    assert [product.title for product in result.products] == ["Plain Red Mug"]
    assert result.faults[0].reason == "asin repeated"


def test_a_file_that_breaks_off_gives_what_came_before(tmp_path):
    files = folder(tmp_path, [record(), record(asin="B000000002")])
    path = files / "items_shuffle.json"
    path.write_text(path.read_text()[:-40])
    result = read_webshop(files, 0)
    assert len(result.products) == 1
    assert (result.faults[0].record, result.faults[0].reason) == ("2", "not JSON from here to the end of the file")


def test_records_longer_than_a_chunk_are_read(tmp_path):
    long = record(full_description="word " * 500_000)
    result = read_webshop(folder(tmp_path, [long, record(asin="B000000002")]), 0)
    assert len(result.products) == 2
    assert not result.faults


def test_attributes_and_goals(tmp_path):
    ins = {"B000000001": {"attributes": ["Red ", "easy"]}, "B000000002": {"attributes": "red"}, "x": {}}
    goal = {"instruction": "a red mug.", "instruction_attributes": ["Red"], "instruction_options": {"size": "S/M"}}
    human = {
        "B000000001": [goal, goal, {"instruction": "b", "instruction_attributes": []}, {"no": 1}],
        "B0UNKNOWN0": [goal],
        "B000000003": None,
    }
    result = read_webshop(folder(tmp_path, [record(), record(asin="B000000002")], ins, human), 0)
    assert result.products[0].attributes == ("red", "easy")
    assert result.products[1].attributes == ()
    (found,) = result.goals
    assert found.attributes == ("red",)
    assert found.options == ("s | m",)
    assert found.price_upper > 1250
    assert found.instruction == f"a red mug, and price lower than {found.price_upper / 100:.2f} dollars"
    reasons = sorted(fault.reason for fault in result.faults)
    assert reasons == [
        "attributes are not a list of strings",
        "instruction repeated",
        "no instruction",
        "no instruction",
        "no instruction attributes",
        "product unknown",
    ]


@pytest.mark.parametrize("missing", ["items_shuffle.json", "items_ins_v2.json", "items_human_ins.json"])
def test_a_missing_file_is_named(tmp_path, missing):
    files = folder(tmp_path, [record()])
    (files / missing).unlink()
    with pytest.raises(DataError, match=missing):
        read_webshop(files, 0)


def test_the_small_catalogue_takes_its_own_attributes(tmp_path):
    result = read_webshop(folder(tmp_path, [record()], {"B000000001": {"attributes": ["small"]}}, suffix="_1000"), 0)
    assert result.products[0].attributes == ("small",)


def test_what_is_no_json_is_named(tmp_path):
    files = folder(tmp_path, [record()])
    (files / "items_ins_v2.json").write_text("{")
    with pytest.raises(DataError, match=r"items_ins_v2\.json"):
        read_webshop(files, 0)
    (files / "items_ins_v2.json").write_text("{}")
    (files / "items_shuffle.json").write_text('{"a": 1}')
    with pytest.raises(DataError, match="JSON list"):
        read_webshop(files, 0)


def test_the_generated_catalogue_has_every_irregularity_and_is_deterministic(shop):
    assert synthetic.generate(3) == synthetic.generate(3) != synthetic.generate(4)
    report = shop.catalogue().report
    assert {"no asin", "asin longer than 10", "asin repeated", "no name"} <= {
        key.partition(": ")[2] for key in report["counts"]
    }
    certification = report["certification"]
    assert certification["certified"] > 2000
    assert {"title not unique", "no single attribute value"} <= set(certification)
    assert sum(certification.values()) == report["counts"]["products"] == len(shop.catalogue().products)


def test_prepared_catalogues_are_keyed_by_content(tmp_path):
    (tmp_path / "files").mkdir()
    files = folder(tmp_path / "files", [record()])
    first = load(str(files), 0, root=tmp_path / "cache")
    assert load(str(files), 0, root=tmp_path / "cache").products == first.products
    folder(files, [record(name="Another Red Mug Entirely")])
    second = load(str(files), 0, root=tmp_path / "cache")
    assert second.products[0].title == "Another Red Mug Entirely"
    prepared = sorted(path.name for path in (tmp_path / "cache").iterdir() if path.name != "hashes")
    assert len(prepared) == 2
    (tmp_path / "cache" / prepared[0] / "products.json").write_text("{")
    (tmp_path / "cache" / prepared[1] / "products.json").write_text("{")
    with pytest.raises(DataError, match="prepared catalogue"):
        load(str(files), 0, root=tmp_path / "cache")
