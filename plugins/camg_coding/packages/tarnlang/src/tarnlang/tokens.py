"""Text to tokens."""

from dataclasses import dataclass

from tarnlang.errors import TokenError

NUMBER = "number"
STRING = "string"
NAME = "name"
OPERATOR = "operator"
NEWLINE = "newline"
END = "end"

TWO_CHARACTERS = ("**", "//", "==", "!=", "<=", ">=")
ONE_CHARACTER = "+-*/%<>=()[],."
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", '"': '"', "\\": "\\"}


@dataclass(frozen=True)
class Token:
    """One token; ``line`` and ``column`` count from 1."""

    kind: str
    value: object
    line: int
    column: int


class Scanner:
    """A position in a text, which knows its line and column."""

    def __init__(self, text):
        self.text = text
        self.position = 0
        self.line = 1
        self.column = 1

    def at_end(self):
        """Is everything read?"""
        return self.position >= len(self.text)

    def peek(self, ahead=0):
        """The character ``ahead`` places further on, ``""`` behind the end."""
        index = self.position + ahead
        return self.text[index] if index < len(self.text) else ""

    def advance(self, count=1):
        """Read ``count`` characters and return them."""
        taken = self.text[self.position : self.position + count]
        for character in taken:
            if character == "\n":
                self.line += 1
                self.column = 1
            else:
                self.column += 1
        self.position += len(taken)
        return taken

    def take_while(self, accept):
        """Read as long as ``accept(character)`` is true."""
        taken = ""
        while not self.at_end() and accept(self.peek()):
            taken += self.advance()
        return taken


class Tokenizer(Scanner):
    """Cuts a document into tokens.

    Spaces, tabs, carriage returns and ``#`` comments are skipped. A newline is a token, except inside brackets,
    after another newline and at the beginning of the text.
    """

    def __init__(self, text):
        super().__init__(text)
        self.depth = 0

    def tokens(self):
        """All tokens, the last one of kind ``END``; raises ``TokenError``."""
        found = []
        while True:
            self.skip_blank()
            token = self.next_token()
            if token.kind == NEWLINE and (self.depth > 0 or not found or found[-1].kind == NEWLINE):
                continue
            found.append(token)
            if token.kind == END:
                return found

    def skip_blank(self):
        """Skip blanks and comments."""
        while not self.at_end():
            if self.peek() in " \t\r":
                self.advance()
            elif self.peek() == "#":
                self.take_while(lambda character: character != "\n")
            else:
                break

    def next_token(self):
        """The token that begins here."""
        line, column = self.line, self.column
        character = self.peek()
        if character == "":
            return Token(END, None, line, column)
        if character == "\n":
            return Token(NEWLINE, self.advance(), line, column)
        if character.isdigit():
            return Token(NUMBER, self.number(), line, column)
        if character in "\"'":
            return Token(STRING, self.string(), line, column)
        if character.isalpha() or character == "_":
            name = self.take_while(lambda each: each.isalnum() or each in "_-")
            return Token(NAME, name, line, column)
        return Token(OPERATOR, self.operator(), line, column)

    def number(self):
        """An integer, or a float (with a point or an exponent); ``_`` may stand between digits."""
        line, column = self.line, self.column
        digits = self.take_while(lambda each: each.isdigit() or each == "_")
        convert = int
        if self.peek() == "." and self.peek(1).isdigit():
            digits += self.advance() + self.take_while(lambda each: each.isdigit() or each == "_")
            convert = float
        exponent = self.peek(2) if self.peek(1) in ("+", "-") else self.peek(1)
        if self.peek() in ("e", "E") and exponent.isdigit():
            digits += self.advance(2) + self.take_while(str.isdigit)
            convert = float
        try:
            return convert(digits)
        except ValueError:
            raise TokenError(f"malformed number {digits!r}", line, column) from None

    def string(self):
        """A string in double quotes with escapes, or in single quotes as it stands; it ends on its line."""
        line, column = self.line, self.column
        quote = self.advance()
        value = ""
        while self.peek() != quote:
            if self.at_end() or self.peek() == "\n":
                raise TokenError("unterminated string", line, column)
            if quote == '"' and self.peek() == "\\":
                value += self.escape()
            else:
                value += self.advance()
        self.advance()
        return value

    def escape(self):
        """``\\n \\t \\r \\0 \\" \\\\``."""
        line, column = self.line, self.column
        self.advance()
        letter = self.advance()
        if letter not in ESCAPES:
            raise TokenError(f"unknown escape \\{letter}", line, column)
        return ESCAPES[letter]

    def operator(self):
        """The longest operator that stands here; counts the depth of brackets."""
        line, column = self.line, self.column
        pair = self.peek() + self.peek(1)
        if pair in TWO_CHARACTERS:
            return self.advance(2)
        if self.peek() not in ONE_CHARACTER:
            raise TokenError(f"unexpected character {self.peek()!r}", line, column)
        symbol = self.advance()
        if symbol in "([":
            self.depth += 1
        elif symbol in ")]":
            self.depth = max(0, self.depth - 1)
        return symbol


def tokenize(text):
    """The tokens of ``text``, the last one of kind ``END``."""
    return Tokenizer(text).tokens()
