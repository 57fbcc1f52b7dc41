"""Lines and paragraphs."""

import pytest

from proselet import fill, indent, justify, shorten, wrap

FOX = "the quick brown fox jumps over the lazy dog"


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (100, [FOX]),
        (len(FOX), [FOX]),
        (20, ["the quick brown fox", "jumps over the lazy", "dog"]),
        (9, ["the quick", "brown fox", "jumps", "over the", "lazy dog"]),
        (5, ["the", "quick", "brown", "fox", "jumps", "over", "the", "lazy", "dog"]),
    ],
)
def test_wrap(width, lines):
    assert wrap(FOX, width) == lines


def test_long_words_are_cut():
    assert wrap("a incomprehensible b", 6) == ["a", "incomp", "rehens", "ible b"]


def test_blanks_are_one():
    assert wrap("  a \n\t b  ", 10) == ["a b"]
    assert wrap("   ", 10) == []


def test_prefixes():
    assert wrap("one two three four", 11, first="* ", rest="  ") == ["* one two", "  three", "  four"]


@pytest.mark.parametrize(("width", "prefix"), [(0, ""), (2, "> "), (-1, "")])
def test_no_room(width, prefix):
    with pytest.raises(ValueError, match="width above"):
        wrap("a", width, first=prefix)


@pytest.mark.parametrize("width", range(4, 30, 5))
def test_no_line_is_too_long_and_nothing_is_lost(width):
    lines = wrap(FOX, width)
    assert max(len(line) for line in lines) <= width
    assert "".join(lines).replace(" ", "") == FOX.replace(" ", "")


def test_fill_keeps_paragraphs():
    assert fill("one two three\n\n\n\nfour\nfive six", 8) == "one two\nthree\n\nfour\nfive six"


@pytest.mark.parametrize(
    ("line", "width", "expected"),
    [
        ("a b c", 7, "a  b  c"),
        ("a b c", 8, "a   b  c"),
        ("a b", 3, "a b"),
        ("alone", 20, "alone"),
        ("too  long already", 5, "too long already"),
        ("", 5, ""),
    ],
)
def test_justify(line, width, expected):
    assert justify(line, width) == expected


def test_indent():
    assert indent("a\n\n  b", "> ") == "> a\n\n>   b"
    assert indent("\na\nb", "  ", first="- ") == "\n- a\n  b"


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("one two three", 20, "one two three"),
        ("one  two three", 13, "one two three"),
        ("one two three", 12, "one two…"),
        ("one two three", 7, "one…"),
        ("incomprehensible", 5, "…"),
    ],
)
def test_shorten(text, width, expected):
    assert shorten(text, width) == expected


def test_shorten_with_another_mark():
    assert shorten("one two three", 10, mark=" [...]") == "one [...]"
    with pytest.raises(ValueError, match="wider than 2"):
        shorten("one", 2, mark="...")
