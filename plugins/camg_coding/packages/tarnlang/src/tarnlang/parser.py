"""Tokens to expressions and entries.

From loosest to tightest: ``if then else``, ``or``, ``and``, ``not``, comparisons, ``+ -``, ``* / // %``, unary ``-``,
``**`` (right associative), then ``.name``, ``[index]`` and calls.
"""

from dataclasses import dataclass

from tarnlang.errors import ParseError
from tarnlang.tokens import END, NAME, NEWLINE, NUMBER, OPERATOR, STRING, tokenize

CONSTANTS = {"true": True, "false": False, "null": None}
RESERVED = {"true", "false", "null", "if", "then", "else", "and", "or", "not", "in"}
COMPARISONS = {"==", "!=", "<", "<=", ">", ">="}


@dataclass(frozen=True)
class Node:
    """Base of all expressions."""

    line: int


@dataclass(frozen=True)
class Literal(Node):
    value: object


@dataclass(frozen=True)
class Name(Node):
    name: str


@dataclass(frozen=True)
class ListOf(Node):
    items: tuple


@dataclass(frozen=True)
class Unary(Node):
    operator: str
    operand: Node


@dataclass(frozen=True)
class Binary(Node):
    operator: str
    left: Node
    right: Node


@dataclass(frozen=True)
class Compare(Node):
    """``operands[0] operators[0] operands[1] …``: true if every neighbouring pair holds."""

    operands: tuple
    operators: tuple


@dataclass(frozen=True)
class Choice(Node):
    condition: Node
    then: Node
    otherwise: Node


@dataclass(frozen=True)
class Index(Node):
    """``base[key]`` and ``base.key``."""

    base: Node
    key: Node


@dataclass(frozen=True)
class Call(Node):
    function: str
    arguments: tuple


@dataclass(frozen=True)
class Entry:
    """``key = expression`` in the section with this path (``()`` is the top)."""

    section: tuple
    key: str
    expression: Node
    line: int


class Parser:
    """A recursive descent over a list of tokens; every method raises ``ParseError``."""

    def __init__(self, text):
        self.tokens = tokenize(text)
        self.position = 0

    @property
    def current(self):
        return self.tokens[self.position]

    def fail(self, expected):
        """Raise: ``expected … got …``."""
        token = self.current
        got = "the end" if token.kind == END else "a new line" if token.kind == NEWLINE else repr(token.value)
        raise ParseError(f"expected {expected}, got {got}", token.line, token.column)

    def take(self):
        """The current token; goes on to the next."""
        token = self.current
        if token.kind != END:
            self.position += 1
        return token

    def at(self, *symbols):
        """Is the current token one of these operators or keywords?"""
        return self.current.kind in (OPERATOR, NAME) and self.current.value in symbols

    def accept(self, *symbols):
        """Take the current token if it is one of ``symbols``, else return None."""
        return self.take() if self.at(*symbols) else None

    def expect(self, symbol):
        """Take this operator or keyword, or fail."""
        if not self.at(symbol):
            self.fail(repr(symbol))
        return self.take()

    def word(self):
        """Take a name that is not reserved."""
        if self.current.kind != NAME or self.current.value in RESERVED:
            self.fail("a name")
        return self.take().value

    def end_of_line(self):
        """Take a newline, or stand at the end."""
        if self.current.kind not in (NEWLINE, END):
            self.fail("a new line")
        self.take()

    def document(self):
        """``(entries, sections)``: entries in order, and the paths of all section headings in order."""
        entries, sections, section = [], [], ()
        while self.current.kind != END:
            if self.current.kind == NEWLINE:
                self.take()
            elif self.at("["):
                line = self.current.line
                section = self.heading()
                if section in sections:
                    raise ParseError(f"section {'.'.join(section)} appears twice", line)
                sections.append(section)
            else:
                line = self.current.line
                key = self.take().value if self.current.kind == STRING else self.word()
                self.expect("=")
                entries.append(Entry(section, key, self.expression(), line))
                self.end_of_line()
        return entries, sections

    def heading(self):
        """``[name.name…]`` and the end of the line."""
        self.expect("[")
        path = [self.word()]
        while self.accept("."):
            path.append(self.word())
        self.expect("]")
        self.end_of_line()
        return tuple(path)

    def expression(self):
        """Any expression."""
        start = self.accept("if")
        if start is None:
            return self.disjunction()
        condition = self.expression()
        self.expect("then")
        then = self.expression()
        self.expect("else")
        return Choice(start.line, condition, then, self.expression())

    def chain(self, operand, *symbols):
        """Operands between ``symbols``, grouped from the left."""
        left = operand()
        while token := self.accept(*symbols):
            left = Binary(token.line, token.value, left, operand())
        return left

    def disjunction(self):
        return self.chain(self.conjunction, "or")

    def conjunction(self):
        return self.chain(self.negation, "and")

    def negation(self):
        if token := self.accept("not"):
            return Unary(token.line, "not", self.negation())
        return self.comparison()

    def comparison(self):
        operands, operators = [self.sum()], []
        while self.at(*COMPARISONS) or self.at("in"):
            operators.append(self.take().value)
            operands.append(self.sum())
        if not operators:
            return operands[0]
        return Compare(operands[0].line, tuple(operands), tuple(operators))

    def sum(self):
        return self.chain(self.product, "+", "-")

    def product(self):
        return self.chain(self.unary, "*", "/", "//", "%")

    def unary(self):
        if token := self.accept("-"):
            return Unary(token.line, "-", self.unary())
        return self.power()

    def power(self):
        base = self.postfix()
        if token := self.accept("**"):
            return Binary(token.line, "**", base, self.unary())
        return base

    def postfix(self):
        node = self.atom()
        while True:
            if token := self.accept("."):
                node = Index(token.line, node, Literal(token.line, self.word()))
            elif token := self.accept("["):
                node = Index(token.line, node, self.expression())
                self.expect("]")
            else:
                return node

    def atom(self):
        token = self.current
        if token.kind in (NUMBER, STRING):
            return Literal(token.line, self.take().value)
        if token.kind == NAME and token.value in CONSTANTS:
            return Literal(token.line, CONSTANTS[self.take().value])
        if self.accept("("):
            inner = self.expression()
            self.expect(")")
            return inner
        if self.accept("["):
            return ListOf(token.line, self.items("]"))
        if token.kind == NAME and token.value not in RESERVED:
            name = self.word()
            return Call(token.line, name, self.items(")")) if self.accept("(") else Name(token.line, name)
        return self.fail("an expression")

    def items(self, closing):
        """Expressions between commas up to ``closing``; a comma may follow the last one."""
        found = []
        while not self.accept(closing):
            found.append(self.expression())
            if not self.at(closing):
                self.expect(",")
        return tuple(found)


def parse_expression(text):
    """One expression and nothing behind it."""
    parser = Parser(text)
    node = parser.expression()
    if parser.current.kind == NEWLINE:
        parser.take()
    if parser.current.kind != END:
        parser.fail("the end")
    return node


def parse_document(text):
    """``(entries, sections)`` of a document."""
    return Parser(text).document()
