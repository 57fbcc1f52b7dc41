"""Whole documents: sections, references, writing."""

import pytest

from tarnlang import EvaluationError, ParseError, TarnError, dumps, loads
from tarnlang.document import literal

SAMPLE = """
# a server
name = "demo"
base = 8000

[server]
port = base + 80
workers = if port > 8000 then 4 else 1

[server.tls]
enabled = server.port == 8080 and workers >= 2
files = [
    name + ".pem",   # the key
    name + ".crt",
]
"""


def test_sample():
    assert loads(SAMPLE) == {
        "name": "demo",
        "base": 8000,
        "server": {"port": 8080, "workers": 4, "tls": {"enabled": True, "files": ["demo.pem", "demo.crt"]}},
    }


def test_an_empty_document():
    assert loads("") == loads("# nothing\n\n") == {}


def test_own_section_first():
    assert loads("a = 1\n[s]\nb = a\na = 2\nc = a")["s"] == {"b": 1, "a": 2, "c": 2}


def test_variables_come_last():
    assert loads("a = home\nb = a + 1", {"home": 5, "a": 100}) == {"a": 5, "b": 6}


def test_an_empty_section_is_there():
    assert loads("[a.b]\n[c]\nx = 1") == {"a": {"b": {}}, "c": {"x": 1}}


def test_quoted_keys():
    assert loads('"two words" = 1\n"if" = 2') == {"two words": 1, "if": 2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = 1\na = 2", "line 2: 'a' appears twice"),
        ("[s]\nx = 1\n[s]\ny = 2", "line 3: section s appears twice"),
        ("a 1", "line 1, column 3: expected '=', got 1"),
        ("a = 1 b = 2", "expected a new line, got 'b'"),
        ("[a", r"expected '\]', got the end"),
        ("[a.if]", "expected a name"),
        ("if = 1", "expected a name, got 'if'"),
        ("a =\nb = 1", "expected an expression, got a new line"),
    ],
)
def test_refused(text, message):
    with pytest.raises(ParseError, match=message):
        loads(text)


def test_a_value_is_no_section():
    with pytest.raises(ParseError, match="line 1: 'a' appears twice"):
        loads("a = 1\n[a]\nx = 1")
    with pytest.raises(TarnError, match="line 3: "):
        loads("a = 1\n[b]\nx = a.y")


def test_later_entries_are_unknown():
    with pytest.raises(EvaluationError, match="line 1: unknown name 'b'"):
        loads("a = b\nb = 1")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (-3, "-3"),
        (1.5, "1.5"),
        ('a "b"\n\\', r'"a \"b\"\n\\"'),
        ([1, ["x"], ()], '[1, ["x"], []]'),
    ],
)
def test_literals(value, text):
    assert literal(value) == text


def test_layout():
    data = {"s": {"x": 1, "t": {"y": "z"}}, "a": None, "two words": False}
    assert dumps(data) == 'a = null\n"two words" = false\n\n[s]\nx = 1\n\n[s.t]\ny = "z"\n'
    assert dumps({}) == ""


@pytest.mark.parametrize(
    "data",
    [
        {"a": 1, "b": [True, None, "é\t"]},
        {"s": {"x": {"deep": -2.5}}, "top": "v"},
        {"not": 1, "x-y": "'"},
        {"s": {"a": [[1], [2, [3]]]}},
    ],
)
def test_round_trip(data):
    assert loads(dumps(data)) == data


def test_what_cannot_be_written():
    with pytest.raises(EvaluationError, match="cannot write a object"):
        dumps({"a": object()})
    with pytest.raises(EvaluationError, match="'two words' cannot name a section"):
        dumps({"two words": {"x": 1}})
