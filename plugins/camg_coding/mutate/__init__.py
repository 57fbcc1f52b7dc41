"""Bugs by procedure: SWE-smith's thirteen strategies on Python's syntax tree, and combinations of what they give."""

from __future__ import annotations

from camg_coding.mutate.bugs import Bug, combine_file, combine_module, digest
from camg_coding.mutate.source import Entity, entities
from camg_coding.mutate.strategies import STRATEGIES, Mutation, Strategy, candidates

__all__ = [
    "STRATEGIES",
    "Bug",
    "Entity",
    "Mutation",
    "Strategy",
    "candidates",
    "combine_file",
    "combine_module",
    "digest",
    "entities",
]
