"""Which segments share an optimiser step, a forward pass and a row. Pure: lengths in, indices out, by seed.

Mini-batch (one optimiser step) > micro-batch (one forward pass) > row > segment. Segments are never cut.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

Row = list[int]
"""Indices of the segments that share one row, in order."""


def minibatches(responses: Sequence[int], limit: int, seed: str) -> list[list[int]]:
    """Split segments at random into as few mini-batches as ``limit`` responses each allow, of about equal size.

    ``responses[i]`` counts the trained responses of segment i. Deterministic in ``seed``. A segment with more than
    ``limit`` responses has a mini-batch of its own. Equal sizes rather than full ones and a rest: each optimiser step
    averages over its own tokens, and a small rest would weigh as much as a full batch.
    """
    order = list(range(len(responses)))
    random.Random(seed).shuffle(order)
    count = -(-sum(responses) // limit)
    bins: list[list[int]] = [[] for _ in range(count)]
    loads = [0] * count
    for index in order:
        lightest = min(range(len(bins)), key=loads.__getitem__)
        if loads[lightest] and loads[lightest] + responses[index] > limit:
            lightest = len(bins)
            bins.append([])
            loads.append(0)
        bins[lightest].append(index)
        loads[lightest] += responses[index]
    return [sorted(indices) for indices in bins if indices]


def microbatches(lengths: Sequence[int], members: Iterable[int], budget: int, *, pack: bool) -> list[list[Row]]:
    """Lay segments out in rectangles of at most ``budget`` tokens, padding included.

    ``lengths[i]`` is the length of segment i, ``members`` the segments to lay out. Longest first, so that rows of about
    the same length meet and padding is small. With ``pack``, several segments share a row no wider than the longest
    segment (first fit): wider rows would save nothing, since attention grows with the square of the width. A segment
    longer than the budget has a micro-batch of its own.
    """
    batches: list[list[Row]] = []
    room: list[int] = []  # left in each row of the last batch
    width = 0
    for index in sorted(members, key=lambda index: (-lengths[index], index)):
        length = lengths[index]
        fitting = next((row for row, left in enumerate(room) if left >= length), None) if pack else None
        if fitting is not None:
            batches[-1][fitting].append(index)
            room[fitting] -= length
            continue
        if not batches or (len(room) + 1) * width > budget:
            batches.append([])
            room, width = [], length
        batches[-1].append([index])
        room.append(width - length)
    return batches
