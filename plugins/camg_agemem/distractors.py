"""Sentences that have nothing to do with any task: what a policy has to look past in the second stage of the recipe."""

from __future__ import annotations

import random

SENTENCES = (
    "The ferry to the island leaves at ten past six.",
    "A kilo of pears costs less on market days.",
    "The clock in the station hall was repaired in spring.",
    "Her cousin plays the viola in a village orchestra.",
    "Slate roofs last longer than those of tin.",
    "The museum's east wing is closed on Tuesdays.",
    "He paints fences in the summer and boats in autumn.",
    "Two herons nest behind the old mill.",
    "The recipe asks for four eggs and a pinch of mace.",
    "Gate 12 was moved to the other side of the terminal.",
    "The choir rehearses in room B on the second floor.",
    "A blue kite hung in the chestnut tree for weeks.",
    "The bridge carries bicycles but no lorries.",
    "Their dog is afraid of umbrellas.",
    "The library charges nothing for the first week.",
    "Barley was sown late after the wet April.",
)


def distraction(seed: str, count: int) -> str:
    """``count`` of the sentences, the same for the same seed, one a line; some again where there are not enough."""
    rng = random.Random(seed)
    return "\n".join(rng.choice(SENTENCES) for _ in range(count))
