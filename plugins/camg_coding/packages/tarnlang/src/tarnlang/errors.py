"""Errors, each with the place in the text that caused it."""


class TarnError(ValueError):
    """Base of all errors; ``str()`` begins with ``line L, column C: `` where the place is known."""

    def __init__(self, message, line=None, column=None):
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column

    def __str__(self):
        if self.line is None:
            return self.message
        if self.column is None:
            return f"line {self.line}: {self.message}"
        return f"line {self.line}, column {self.column}: {self.message}"


class TokenError(TarnError):
    """The text holds something that is no token."""


class ParseError(TarnError):
    """The tokens are not in an order that the grammar knows."""


class EvaluationError(TarnError):
    """An expression cannot be computed: unknown name, wrong type, division by zero."""
