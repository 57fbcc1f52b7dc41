"""What the tokenizer cuts, and what it refuses."""

import pytest

from tarnlang.errors import TokenError
from tarnlang.tokens import END, NAME, NEWLINE, NUMBER, OPERATOR, STRING, Scanner, tokenize


def values(text):
    return [token.value for token in tokenize(text)[:-1]]


def kinds(text):
    return [token.kind for token in tokenize(text)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("42", 42),
        ("1_000", 1000),
        ("0.5", 0.5),
        ("7_0.2_5", 70.25),
        ("1.5", 1.5),
        ("2e3", 2000.0),
        ("1.5E-2", 0.015),
    ],
)
def test_numbers(text, value):
    (found,) = values(text)
    assert found == value
    assert type(found) is type(value)


def test_malformed_numbers():
    for text in ("1__0", "1__0.5_", "2_"):
        with pytest.raises(TokenError, match="malformed number"):
            tokenize(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"plain"', "plain"),
        ('""', ""),
        (r'"a\nb\tc"', "a\nb\tc"),
        (r'"say \"hi\" \\"', 'say "hi" \\'),
        ('"é"', "é"),
        (r"'raw \n'", r"raw \n"),
        ("'a \"quoted\" word'", 'a "quoted" word'),
    ],
)
def test_strings(text, value):
    assert values(text) == [value]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('"open', "unterminated"),
        ("'open\n'", "unterminated"),
        (r'"\q"', "unknown escape"),
        (r'"\u{e9}"', "unknown escape"),
        ("a $ b", "unexpected character"),
    ],
)
def test_refused(text, message):
    with pytest.raises(TokenError, match=message):
        tokenize(text)


def test_operators_take_the_longest():
    assert values("a**b//c<=d!=e") == ["a", "**", "b", "//", "c", "<=", "d", "!=", "e"]


def test_names_may_hold_dashes_and_digits():
    assert values("max-size_2 = x") == ["max-size_2", "=", "x"]
    assert kinds("max-size_2 = x") == [NAME, OPERATOR, NAME, END]


def test_kinds():
    assert kinds('a = 1 + "b"\n') == [NAME, OPERATOR, NUMBER, OPERATOR, STRING, NEWLINE, END]


def test_comments_and_blank_lines_vanish():
    assert values("\n\n# first\na # second\n\n\nb") == ["a", "\n", "b"]


def test_newlines_inside_brackets_vanish():
    assert values("[1,\n 2\n]\nx") == ["[", 1, ",", 2, "]", "\n", "x"]


def test_places():
    token = tokenize("a\n  bc")[2]
    assert (token.value, token.line, token.column) == ("bc", 2, 3)


def test_error_names_the_place():
    with pytest.raises(TokenError) as caught:
        tokenize("x = 1\ny = ?")
    assert (caught.value.line, caught.value.column) == (2, 5)
    assert str(caught.value) == "line 2, column 5: unexpected character '?'"


def test_scanner_moves_over_lines():
    scanner = Scanner("ab\ncd")
    assert scanner.advance(3) == "ab\n"
    assert (scanner.line, scanner.column, scanner.peek(), scanner.peek(9)) == (2, 1, "c", "")
    assert scanner.take_while(str.isalpha) == "cd"
    assert scanner.at_end()
