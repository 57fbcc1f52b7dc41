"""A Shop pocket task solved *through* any memory: perfect play that keeps its notes by the memory's habit."""

from __future__ import annotations

from camg.episode.actions import BRACKET
from camg.protocols import Habit, Memory
from camg.testing import play
from camg.types import Episode
from camg_shop.demonstrator import PERFECT, pocket_script
from camg_shop.environment import Shop


def solve(memory: Memory, habit: Habit, *, sandbox=None, index: int = 0) -> Episode:
    """One pocket episode. The caller has a cache of its own (``XDG_CACHE_HOME``)."""
    shop = Shop()
    dialect = getattr(memory, "dialect", None) or BRACKET
    task = shop.task_ids("pocket")[index]
    return play(
        shop, memory, lambda task, seed: pocket_script(task, seed, dialect, PERFECT, habit), task, sandbox=sandbox
    )
