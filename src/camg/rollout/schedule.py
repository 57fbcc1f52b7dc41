"""The schedule: which task comes when, fixed by the seed alone.

``entry(i)`` is a pure function of the seed, the tasks and ``i``: nothing that happened during a run can move it, so a
resumed run asks for exactly what the interrupted one would have asked for (paper B.3). Draws are BLAKE2b hashes, not
``random``, so that they are the same under every Python.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence

from camg.errors import DataError, UsageError
from camg.types import Dispatch


def draw(*parts: object) -> int:
    """64 uniform bits, a pure function of the parts."""
    text = "\x1f".join(map(str, parts)).encode("utf-8", "surrogateescape")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")


class Schedule:
    """An endless list of dispatches.

    Groups of ``group_size`` consecutive ids share an environment and a task (group estimators compare them). The
    environment of a group is drawn uniformly (paper 5.1), its task is the next one of a seeded permutation of that
    environment's tasks: every task comes once in an epoch.
    """

    def __init__(self, seed: int, tasks: Mapping[str, Sequence[str]], group_size: int = 1) -> None:
        """``tasks``: task ids by environment. Raises :class:`DataError` when an environment has none."""
        if group_size < 1:
            raise UsageError(f"Expected a group size of at least 1, got {group_size}.")
        if not tasks:
            raise UsageError("Expected at least one environment to schedule, got none.")
        for env, ids in tasks.items():
            if not ids:
                raise DataError(f"Expected tasks in environment {env!r}, got an empty split.")
        self.group_size = group_size
        self._seed = seed
        self._envs = tuple(sorted(tasks))
        self._tasks = {env: tuple(tasks[env]) for env in self._envs}
        self._drawn: list[tuple[str, int]] = []  # group -> (environment, how many groups of it came before)
        self._counts = dict.fromkeys(self._envs, 0)
        self._epochs: dict[tuple[str, int], tuple[str, ...]] = {}

    def entry(self, index: int) -> Dispatch:
        """The dispatch with id ``index`` (from 0)."""
        if index < 0:
            raise UsageError(f"Expected a schedule position of at least 0, got {index}.")
        group = index // self.group_size
        env, ordinal = self._environment(group)
        epoch, position = divmod(ordinal, len(self._tasks[env]))
        seed = draw(self._seed, "episode", index) >> 1  # 63 bits: fits a signed integer everywhere
        return Dispatch(index, group, env, self._permutation(env, epoch)[position], seed)

    def entries(self, start: int, count: int) -> Iterator[Dispatch]:
        """``count`` dispatches from id ``start`` on."""
        return (self.entry(index) for index in range(start, start + count))

    def _environment(self, group: int) -> tuple[str, int]:
        while len(self._drawn) <= group:  # remembers a pure function; the order of the questions does not matter
            env = self._envs[draw(self._seed, "environment", len(self._drawn)) % len(self._envs)]
            self._drawn.append((env, self._counts[env]))
            self._counts[env] += 1
        return self._drawn[group]

    def _permutation(self, env: str, epoch: int) -> tuple[str, ...]:
        key = (env, epoch)
        if key not in self._epochs:
            order = sorted(self._tasks[env], key=lambda task: (draw(self._seed, "task", env, epoch, task), task))
            self._epochs = {k: v for k, v in self._epochs.items() if k[0] != env or abs(k[1] - epoch) <= 1}
            self._epochs[key] = tuple(order)
        return self._epochs[key]
