"""Templates."""

import pytest

from proselet import Column, TemplateError, render
from proselet.templates import Block, lookup, parse


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("plain", "plain"),
        ("", ""),
        ("a {{ x }} b {{y}}", "a 1 b two"),
        ("{{ y | upper }}", "TWO"),
        ("{{ y | title | trim }}", "Two"),
        ("{{ items | count }}: {{ items | join }}", "3: 3, 4, 5"),
        ("{{ title | slug }}", "a-tale"),
        ("{{ nothing }}", ""),
        ("{{ person.name }} {{ items.1 }}", "Ada 4"),
    ],
)
def test_fields(template, text):
    values = {
        "x": 1, "y": "two", "items": [3, 4, 5], "title": " A Tale ", "nothing": None, "person": {"name": "Ada"},
    }  # fmt: skip
    assert render(template, values) == text


@pytest.mark.parametrize(
    ("template", "yes", "no"),
    [
        ("{% if x %}A{% end %}", "A", ""),
        ("{% if x %}A{% else %}B{% end %}", "A", "B"),
        ("{% if not x %}A{% else %}B{% end %}", "B", "A"),
        ("{% if x %}{% if not x %}A{% else %}B{% end %}{% end %}!", "B!", "!"),
    ],
)
def test_conditions(template, yes, no):
    assert render(template, {"x": 1}) == yes
    assert render(template, {"x": 0}) == no


def test_loops():
    assert render("{% for x in xs %}{{ number }}{{ x }} {% end %}", {"xs": "ab"}) == "1a 2b "
    assert render("{% for x in xs %}never{% end %}", {"xs": []}) == ""


def test_nested_loops():
    template = "{% for row in rows %}{% for x in row %}{{ x }}{% end %};{% end %}"
    assert render(template, {"rows": [[1, 2], [3]]}) == "12;3;"


def test_a_loop_name_ends_with_its_loop():
    assert render("{% for x in xs %}{{ x }}{% end %}{{ x }}", {"xs": [1], "x": 9}) == "19"


def test_lookup_of_attributes():
    assert lookup("column.title", {"column": Column("a")}) == "a"


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ missing }}", "no 'missing'"),
        ("{{ x.y }}", "no 'y' in 'x.y'"),
        ("{{ x | shout }}", "unknown filter 'shout'"),
        ("{% if x %}", "is not closed"),
        ("{% for y in x %}{% else %}{% end %}", "is not closed"),
        ("{% end %}", "closes nothing"),
        ("{% else %}", "closes nothing"),
        ("{% while x %}{% end %}", "unknown statement"),
        ("{% for x in %}{% end %}", "unknown statement"),
    ],
)
def test_faults(template, message):
    with pytest.raises(TemplateError, match=message):
        render(template, {"x": 1})


def test_everything_is_a_block():
    group = parse("a{{ x }}{% if x %}b{% end %}{% for y in x %}c{% end %}")
    assert all(isinstance(block, Block) for block in [group, *group.blocks])
    assert [type(block).__name__ for block in group.blocks] == ["Text", "Field", "Condition", "Loop"]


def test_the_base_writes_nothing():
    with pytest.raises(TypeError, match="Block cannot be written"):
        Block().write({})
