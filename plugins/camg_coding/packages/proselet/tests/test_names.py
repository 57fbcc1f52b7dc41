"""Slugs, cases and similarity."""

import pytest

from proselet import (
    camel_case, closest, distance, jaro, jaro_winkler, longest_common, overlap, slugify, snake_case, unique_slug, words,
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("Hello, World!", "hello-world"),
        ("  Crème brûlée  ", "creme-brulee"),
        ("Straße & Ærø", "strasse-aero"),
        ("don't stop", "dont-stop"),
        ("a--b__c", "a-b-c"),
        ("日本", ""),
        ("Top 10", "top-10"),
    ],
)
def test_slugify(text, slug):
    assert slugify(text) == slug


@pytest.mark.parametrize(("limit", "slug"), [(30, "one-two-three"), (13, "one-two-three"), (12, "one-two"), (2, "on")])
def test_slug_limit(limit, slug):
    assert slugify("One two three", limit=limit) == slug


def test_slug_separator():
    assert slugify("One two", separator="_") == "one_two"


def test_unique_slug():
    taken = set()
    for expected in ("a-b", "a-b-2", "a-b-3"):
        slug = unique_slug("A b", taken)
        assert slug == expected
        taken.add(slug)
    assert unique_slug("!?", {"untitled"}) == "untitled-2"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HTTPServer error", ["http", "server", "error"]),
        ("maxWidth2Max", ["max", "width2", "max"]),
        ("snake_case-and.dots", ["snake", "case", "and", "dots"]),
        ("ABC", ["abc"]),
        ("__", []),
    ],
)
def test_words(text, expected):
    assert words(text) == expected


def test_cases():
    assert snake_case("HTTPServer error") == "http_server_error"
    assert camel_case("http_server error") == "httpServerError"
    assert camel_case("http_server error", upper=True) == "HttpServerError"
    assert camel_case("") == ""


@pytest.mark.parametrize(
    ("first", "second", "steps", "with_exchange"),
    [
        ("", "", 0, 0),
        ("abc", "", 3, 3),
        ("kitten", "sitting", 3, 3),
        ("form", "from", 2, 1),
        ("ca", "abc", 3, 3),
        ("same", "same", 0, 0),
    ],
)
def test_distance(first, second, steps, with_exchange):
    assert distance(first, second) == distance(second, first) == steps
    assert distance(first, second, transpose=True) == with_exchange


def test_longest_common():
    assert longest_common("temple", "contemplate") == "templ"
    assert longest_common("abcab", "cab") == "cab"
    assert longest_common("abc", "xyz") == ""


@pytest.mark.parametrize(
    ("first", "second", "plain", "winkler"),
    [
        ("martha", "marhta", 0.9444, 0.9611),
        ("dixon", "dicksonx", 0.7667, 0.8133),
        ("abc", "xyz", 0.0, 0.0),
        ("", "a", 0.0, 0.0),
        ("a", "a", 1.0, 1.0),
    ],
)
def test_jaro(first, second, plain, winkler):
    assert jaro(first, second) == pytest.approx(plain, abs=1e-4)
    assert jaro_winkler(first, second) == pytest.approx(winkler, abs=1e-4)


def test_overlap():
    assert overlap("night", "nacht") == 0.25
    assert overlap("a", "b") == 0.0
    assert overlap("a", "a") == 1.0
    assert overlap("abcd", "abcx", size=3) == 0.5


def test_closest():
    names = ["colour", "color", "collar", "velour", "count"]
    assert closest("colur", names) == ["colour", "color", "collar"]
    assert closest("colur", names, count=1) == ["colour"]
    assert closest("zzz", names) == []
