"""Parsing and computing single expressions."""

import pytest

from tarnlang import EvaluationError, ParseError, evaluate
from tarnlang.evaluator import Scope, text
from tarnlang.parser import Binary, Choice, Compare, Literal, Name, parse_expression


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("10 - 4 - 3", 3),
        ("7 // 2 + 7 % 4", 6),
        ("9 / 2", 4.5),
        ("2 ** 3 ** 2", 512),
        ("-2 ** 2", -4),
        ("2 ** -1", 0.5),
        ("- - 3", 3),
        ('"ab" + "cd"', "abcd"),
        ("[1] + [2, 3,]", [1, 2, 3]),
        ("[[1, 2], [3]][0][1]", 2),
        ("[\n1,\n2]", [1, 2]),
    ],
)
def test_arithmetic(source, value):
    assert evaluate(source) == value


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("1 < 2 < 3", True),
        ("1 < 3 < 2", False),
        ("3 >= 3 > 2 != 1", True),
        ("2 == 2.0", True),
        ('"a" in ["a", "b"]', True),
        ('"x" in "abc"', False),
        ("not 1 == 2", True),
        ("not not true", True),
        ("true or false and false", True),
        ("0 or 5", 5),
        ("0 and unknown", 0),
        ("1 or unknown", 1),
        ("null == null", True),
    ],
)
def test_logic(source, value):
    assert evaluate(source) == value


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("if 1 < 2 then 10 else 20", 10),
        ("if 1 > 2 then 10 else 20", 20),
        ("if false then 1 else if true then 2 else 3", 2),
        ("1 + (if true then 1 else 0)", 2),
    ],
)
def test_choice(source, value):
    assert evaluate(source) == value


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("max(1, 5, 3)", 5),
        ("min([4, 2])", 2),
        ("len([1, 2]) + len('abc')", 5),
        ("upper('a') + lower('B')", "Ab"),
        ("join('-', [1, true, null])", "1-true-null"),
        ("min(max(-1, 0), 10)", 0),
        ("sum([1, 2, 3])", 6),
        ("sorted([3, 1, 2])[0]", 1),
        ("str([1, [true]])", "[1, [true]]"),
        ("abs(-3) + round(2.6) + int('4')", 10),
    ],
)
def test_functions(source, value):
    assert evaluate(source) == value


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("1 / 0", "division by zero"),
        ("1 + 'a'", "cannot join 1 and a"),
        ("'a' * 2", "wants numbers"),
        ("true + 1", "cannot join true and 1"),
        ("-'a'", "wants a number"),
        ("nothing", "unknown name 'nothing'"),
        ("shout(1)", "unknown function 'shout'"),
        ("[1][3]", "there is no '3'"),
        ("int('x')", "invalid literal"),
        ("1 < 'a'", "not supported"),
    ],
)
def test_faults(source, message):
    with pytest.raises(EvaluationError, match=message):
        evaluate(source)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("1 +", "expected an expression, got the end"),
        ("(1", r"expected '\)', got the end"),
        ("[1 2]", "expected ',', got 2"),
        ("1 2", "expected the end, got 2"),
        ("if 1 then 2", "expected 'else'"),
        ("a.", "expected a name"),
        ("then", "expected an expression, got 'then'"),
    ],
)
def test_bad_grammar(source, message):
    with pytest.raises(ParseError, match=message):
        evaluate(source)


def test_variables_and_paths():
    assert evaluate("a.b[1] + c", {"a": {"b": [1, 2]}, "c": 3}) == 5


def test_tree_of_a_sum():
    tree = parse_expression("1 - 2 - x")
    assert tree == Binary(1, "-", Binary(1, "-", Literal(1, 1), Literal(1, 2)), Name(1, "x"))


def test_tree_of_a_chain_and_a_choice():
    tree = parse_expression("if a < b <= 3 then 1 else 2")
    assert isinstance(tree, Choice)
    assert tree.condition == Compare(1, (Name(1, "a"), Name(1, "b"), Literal(1, 3)), ("<", "<="))


def test_scopes_look_outwards():
    inner = Scope({"a": 1}, Scope({"a": 2, "b": 3}))
    assert (inner.lookup("a"), inner.lookup("b")) == (1, 3)
    with pytest.raises(KeyError):
        inner.lookup("c")


def test_text_of_values():
    assert [text(value) for value in (None, True, False, 1.5, "a", [1, "b"])] == [
        "null", "true", "false", "1.5", "a", "[1, b]",
    ]  # fmt: skip
