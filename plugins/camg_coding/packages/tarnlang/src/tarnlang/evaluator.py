"""Expressions to values."""

import operator

from tarnlang.errors import EvaluationError

ARITHMETIC = {
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}
COMPARE = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda left, right: left in right,
}


def is_number(value):
    """Is it an int or a float? (True and False are none.)"""
    return isinstance(value, int | float) and not isinstance(value, bool)


class Scope:
    """Names and values; what is not found is looked up in ``parent``."""

    def __init__(self, values, parent=None):
        self.values = values
        self.parent = parent

    def lookup(self, name):
        """The value of ``name`` in the nearest scope; raises ``KeyError``."""
        scope = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.parent
        raise KeyError(name)


def _join(separator, items):
    return separator.join(text(item) for item in items)


def text(value):
    """A value as ``str()`` of the language shows it: ``true``, ``false``, ``null``; lists as ``[a, b]``."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(text(item) for item in value) + "]"
    return str(value)


FUNCTIONS = {
    "abs": abs,
    "int": int,
    "join": _join,
    "len": len,
    "lower": str.lower,
    "max": max,
    "min": min,
    "round": round,
    "sorted": sorted,
    "str": text,
    "sum": sum,
    "upper": str.upper,
}


class Evaluator:
    """Computes expressions in a scope; every fault is an ``EvaluationError`` with its line."""

    def __init__(self, scope, functions=FUNCTIONS):
        self.scope = scope
        self.functions = functions

    def value(self, node):
        """The value of ``node``."""
        method = getattr(self, "visit_" + type(node).__name__.lower())
        try:
            return method(node)
        except EvaluationError:
            raise
        except ZeroDivisionError:
            raise EvaluationError("division by zero", node.line) from None
        except (TypeError, ValueError) as error:
            raise EvaluationError(str(error), node.line) from error

    def visit_literal(self, node):
        return node.value

    def visit_name(self, node):
        try:
            return self.scope.lookup(node.name)
        except KeyError:
            raise EvaluationError(f"unknown name {node.name!r}", node.line) from None

    def visit_listof(self, node):
        return [self.value(item) for item in node.items]

    def visit_unary(self, node):
        operand = self.value(node.operand)
        if node.operator == "not":
            return not operand
        if not is_number(operand):
            raise EvaluationError(f"- wants a number, got {text(operand)}", node.line)
        return -operand

    def visit_binary(self, node):
        left = self.value(node.left)
        if node.operator == "and":
            return self.value(node.right) if left else left
        if node.operator == "or":
            return left if left else self.value(node.right)
        right = self.value(node.right)
        if node.operator == "+":
            return self.add(left, right, node.line)
        if not (is_number(left) and is_number(right)):
            raise EvaluationError(f"{node.operator} wants numbers, got {text(left)} and {text(right)}", node.line)
        return ARITHMETIC[node.operator](left, right)

    def add(self, left, right, line):
        """``+`` adds numbers and joins two strings or two lists."""
        for fits in (is_number, lambda value: isinstance(value, str), lambda value: isinstance(value, list)):
            if fits(left) and fits(right):
                return left + right
        raise EvaluationError(f"+ cannot join {text(left)} and {text(right)}", line)

    def visit_compare(self, node):
        left = self.value(node.operands[0])
        for symbol, operand in zip(node.operators, node.operands[1:]):
            right = self.value(operand)
            if not COMPARE[symbol](left, right):
                return False
            left = right
        return True

    def visit_choice(self, node):
        return self.value(node.then if self.value(node.condition) else node.otherwise)

    def visit_index(self, node):
        base, key = self.value(node.base), self.value(node.key)
        try:
            return base[key]
        except (KeyError, IndexError):
            raise EvaluationError(f"there is no {text(key)!r}", node.line) from None

    def visit_call(self, node):
        if node.function not in self.functions:
            raise EvaluationError(f"unknown function {node.function!r}", node.line)
        return self.functions[node.function](*[self.value(argument) for argument in node.arguments])
