"""Problem statements: what a user sees, and nothing of the tests."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from camg_coding.build.observe import Observation, public_name
from camg_coding.build.statement import leak, title_and_text
from camg_coding.build.statement import test_names as names_of_tests

TEST = """\
import pytest
from shop import cart


class TestCart:
    def test_total_of_two(self):
        assert cart.total([1, 2]) == 3


def test_refuses_nonsense():
    with pytest.raises(ValueError, match="no such article: spoon"):
        cart.add("spoon")
"""


def seen(**facts: object) -> Observation:
    base = {"exception": "AssertionError", "message": "assert 4 == 3", "raised": False, "entries": ("shop.cart.total",)}
    return Observation(**{**base, **facts})  # type: ignore[arg-type]


def text(*observations: Observation, seed: int = 0, messages: bool = True) -> str:
    return title_and_text(observations, "shop", "shop.cart", random.Random(seed), messages=messages)


def test_an_exception_is_told_with_its_message():
    told = text(seen(exception="TypeError", message="unsupported\n operand", raised=True))
    assert "Calling `shop.cart.total` raises `TypeError: unsupported operand`" in told
    assert "TypeError" in told.splitlines()[0]
    assert told.startswith("# ")
    bare = text(seen(exception="TypeError", message="unsupported operand", raised=True), messages=False)
    assert "unsupported" not in bare
    assert "`TypeError`" in bare


@pytest.mark.parametrize(
    ("message", "exception"),
    [("DID NOT RAISE <class 'ValueError'>", "Failed"), ("ValueError not raised", "AssertionError")],
)
def test_a_missing_exception_is_told(message, exception):
    told = text(seen(exception=exception, message=message))
    assert "gives no error where it should complain" in told
    assert "`ValueError`" in told


def compared(given: str) -> dict[str, object]:
    right = {"type": "bool", "value": "True"}
    return {"op": "==", "left": {"type": "bool", "value": "False"}, "right": right, "given": given}


def test_the_direction_of_a_comparison_is_told_only_where_it_is_known():
    assert "returns `False` where it should not" in text(seen(compared=compared("left")))
    assert "returns `True` where it should not" in text(seen(compared=compared("right")))
    vague = text(seen(compared=compared("")))
    assert "gives a wrong result" in vague
    assert "True" not in vague


def test_types_and_lengths_are_told_but_no_values():
    kinds = {"op": "==", "left": {"type": "list", "length": 2}, "right": {"type": "NoneType", "value": "None"}}
    assert "returns a `list` in some cases" in text(seen(compared={**kinds, "given": "left"}))
    assert "returns `None` in some cases" in text(seen(compared={**kinds, "given": "right"}))


def test_seeds_vary_the_words_and_repeat_them():
    versions = {text(seen(), seed=seed) for seed in range(30)}
    assert len(versions) > 10
    assert text(seen(), seed=3) == text(seen(), seed=3)


def test_nothing_seen_still_gives_a_statement():
    assert "`shop.cart`" in text()


def test_a_leak_is_found_by_line_and_by_name():
    assert leak("It fails at assert cart.total([1, 2]) == 3 for me", [TEST]) == "assert cart.total([1, 2]) == 3"
    assert leak("see test_refuses_nonsense", [TEST]) == "test_refuses_nonsense"
    assert leak("see TestCart", [TEST]) == "TestCart"
    assert leak("The attest_refuses_nonsensely is fine", [TEST]) == ""
    assert leak("total = total - 1 is in it", [], ["   total = total - 1"]) == "total = total - 1"
    assert leak("`shop.cart.total` is wrong", [TEST]) == ""


@given(st.text(max_size=40))
def test_a_repeated_line_is_always_found(line):
    line = " ".join(line.split())
    repeated = leak(f"before {line} after", [f"    {line}\n"])
    assert bool(repeated) == (len(line) >= 12)


def test_names_of_tests_are_read_from_files_that_do_not_parse_too():
    assert names_of_tests(TEST) == {"TestCart", "test_total_of_two", "test_refuses_nonsense"}
    assert names_of_tests("def test_old():\n    print 'x'\n") == {"test_old"}


def test_users_see_public_names():
    assert public_name("shop.cart:Cart.total") == "shop.cart.Cart.total"
    assert public_name("shop.cart:Cart.__init__") == "shop.cart.Cart"
    assert public_name("shop.cart:walk.<locals>.step") == "shop.cart.walk"
    assert public_name("shop.cart:_private") == ""
    assert public_name("shop.cart:<module>") == ""
