"""A place where a strategy can act: a function that draws one of the changes which are possible there."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from camg_coding.mutate.source import Edits

Place = Callable[[random.Random], Edits]


def choice(alternatives: Sequence[Edits]) -> Place:
    """A place with a fixed list of changes."""
    return lambda rng: rng.choice(alternatives)


def shuffled(count: int, rng: random.Random) -> list[int]:
    """An order of ``count`` (two or more) things that is not the present one."""
    present = list(range(count))
    order = present[:]
    while order == present:
        rng.shuffle(order)
    return order
