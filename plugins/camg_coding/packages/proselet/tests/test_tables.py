"""Tables."""

import pytest

from proselet import Column, MarkdownTable, PlainTable


def stock(kind, **options):
    table = kind(["item", Column("price", "right"), Column("new", "centre")], **options)
    table.add("apple", 1.5, True)
    table.add("fig", 12.25, False)
    table.add("nut | seed", None, None)
    return table


def test_plain():
    assert str(stock(PlainTable)).split("\n") == [
        "item        price  new",
        "----------  -----  ---",
        "apple        1.50  yes",
        "fig         12.25  no",
        "nut | seed",
    ]


def test_markdown():
    assert str(stock(MarkdownTable)).split("\n") == [
        "| item        | price | new |",
        "| ----------- | ----: | :-: |",
        "| apple       |  1.50 | yes |",
        "| fig         | 12.25 | no  |",
        "| nut \\| seed |       |     |",
    ]


def test_a_narrow_markdown_column_has_three_dashes():
    table = MarkdownTable([Column("a", "centre")])
    table.add(1)
    assert str(table) == "|  a  |\n| :-: |\n|  1  |"


def test_without_rows():
    assert str(PlainTable(["one", "two"])) == "one  two\n---  ---"


@pytest.mark.parametrize(("align", "expected"), [("left", "ab   "), ("right", "   ab"), ("centre", " ab  ")])
def test_pad(align, expected):
    assert Column("x", align).pad("ab", 5) == expected
    assert Column("x", align).pad("abcdef", 5) == "abcdef"


def test_unknown_alignment():
    with pytest.raises(ValueError, match="got 'middle'"):
        Column("x", "middle")


@pytest.mark.parametrize(
    ("value", "text"), [(None, ""), (True, "yes"), (False, "no"), (2.0, "2.00"), (3, "3"), ("a", "a")]
)
def test_cells(value, text):
    table = PlainTable(["x"])
    table.add(value)
    assert table.rows == [[text]]


def test_limit():
    table = PlainTable([Column("x", limit=8)])
    table.add("a long sentence")
    table.add("short")
    assert table.rows == [["a long…"], ["short"]]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_wrong_number_of_values(count):
    with pytest.raises(ValueError, match=f"expected 2 values, got {count}"):
        PlainTable(["a", "b"]).add(*["x"] * count)


def test_no_columns():
    with pytest.raises(ValueError, match="at least one"):
        PlainTable([])


def test_sort():
    table = stock(PlainTable)
    table.sort("item", reverse=True)
    assert [row[0] for row in table.rows] == ["nut | seed", "fig", "apple"]
    table.sort("price")
    assert [row[1] for row in table.rows] == ["", "1.50", "12.25"]
    with pytest.raises(KeyError):
        table.sort("colour")
