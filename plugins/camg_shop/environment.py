"""The Shop environment: splits, task ids, and the opening of episodes. The full catalogue is loaded when first needed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import overload

from camg.errors import DataError
from camg.protocols import Box
from camg.types import Parameter, Task, Tool
from camg_shop import pocket
from camg_shop.config import POCKET_BUDGET, ShopConfig
from camg_shop.plan import Plan
from camg_shop.session import ShopSession

TOOLS = (
    Tool("search", "search the store (search page)", (Parameter("query", "keywords"),)),
    Tool("click", "press a button or open a listed product", (Parameter("target", "the text of the button"),)),
    Tool("ask", "ask the customer", (Parameter("question", "your question"),)),
)

_POCKET_ID = re.compile(r"shop\.(pocket|pocket-eval)\.latent\.(\d{5})")


class TaskIds(Sequence[str]):
    """A long sequence of ids that are formed when asked for."""

    def __init__(self, size: int, form: str) -> None:
        self._size = size
        self._form = form

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return [self._form.format(i) for i in range(*index.indices(self._size))]
        return self._form.format(range(self._size)[index])

    def __iter__(self) -> Iterator[str]:
        return (self._form.format(index) for index in range(self._size))


class Shop:
    """The environment (:class:`camg.protocols.Environment`)."""

    tools: Sequence[Tool] = TOOLS

    def __init__(self, config: ShopConfig | None = None) -> None:
        self.config = config or ShopConfig()

    def task_ids(self, split: str) -> Sequence[str]:
        """The ids of a split, in a fixed order. Raises :class:`DataError` for an unknown split."""
        if split in pocket.SIZES:
            return TaskIds(pocket.SIZES[split], f"shop.{split}.{pocket.FAMILY}.{{:05d}}")
        raise DataError(f"Expected a split of shop ({', '.join(pocket.SIZES)}), got {split!r}.")

    def task(self, task_id: str) -> Task:
        """Raises :class:`DataError` for an unknown id."""
        if match := _POCKET_ID.fullmatch(task_id):
            split, index = match.group(1), int(match.group(2))
            if index < pocket.SIZES[split]:
                plan = pocket.pocket_plan(split, index, self.config.seed)
                return Task(task_id, "shop", split, POCKET_BUDGET, {"style": "pocket", **plan.payload()})
        raise DataError(f"Expected a task of shop, got {task_id!r}.", hint="`camg tasks show shop ID` shows one.")

    def open(self, task: Task, box: Box) -> ShopSession:
        """Start an episode. Shop places no files: the store is reached through its actions alone."""
        plan = Plan.parse(task.payload)
        return ShopSession(plan, pocket.PocketStore(plan), pocket.PocketStyle())
