"""A small configuration language with expressions: ``loads`` reads it, ``dumps`` writes it."""

from tarnlang.document import dumps, evaluate, loads
from tarnlang.errors import EvaluationError, ParseError, TarnError, TokenError

__all__ = ["EvaluationError", "ParseError", "TarnError", "TokenError", "dumps", "evaluate", "loads"]
