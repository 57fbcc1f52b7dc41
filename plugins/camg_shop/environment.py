"""The Shop environment: splits, task ids, and the opening of episodes. The catalogue is loaded when first needed."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import overload

from camg.errors import DataError
from camg.protocols import Box, Boxes
from camg.types import Parameter, Task, Tool, Workspace
from camg_shop import native, pocket
from camg_shop.catalogue import Catalogue, load
from camg_shop.config import BUDGET, EVAL_PAIRS, POCKET_BUDGET, TRAIN_PAIRS, ShopConfig
from camg_shop.families import FAMILIES
from camg_shop.generate import Tasks
from camg_shop.plan import Plan
from camg_shop.session import ShopSession
from camg_shop.texts import FullStyle

TOOLS = (
    Tool("search", "search the store (on its search page)", (Parameter("query", "keywords"),)),
    Tool("click", "press a button, or open a listed product by its id", (Parameter("target", "the button's text"),)),
    Tool("ask", "ask the customer to clarify a request", (Parameter("question", "your question"),)),
)
PAIRS = {"train": TRAIN_PAIRS, "eval": EVAL_PAIRS}
SPLITS = (*PAIRS, *pocket.SIZES, native.SPLIT)

_POCKET_ID = re.compile(r"shop\.(pocket|pocket-eval)\.latent\.(\d{5})")
_FULL_ID = re.compile(rf"shop\.(train|eval)\.({'|'.join(FAMILIES)})\.(\d{{5}})\.([ab])")
_GOAL_ID = re.compile(rf"shop\.{native.SPLIT}\.goal\.(\d{{5}})")


class TaskIds(Sequence[str]):
    """A long sequence of ids that are formed when asked for."""

    def __init__(self, size: int, form: Callable[[int], str]) -> None:
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
            return [self._form(place) for place in range(*index.indices(self._size))]
        return self._form(range(self._size)[index])

    def __iter__(self) -> Iterator[str]:
        return map(self._form, range(self._size))


def full_id(split: str, place: int) -> str:
    """Families take turns; the two members of a pair are neighbours."""
    pair, member = divmod(place, 2)
    number, family = divmod(pair, len(FAMILIES))
    return f"shop.{split}.{FAMILIES[family]}.{number:05d}.{'ab'[member]}"


class Shop:
    """The environment (:class:`camg.protocols.Environment`).

    Splits: ``train`` (65,536 pairs), ``eval`` (64 pairs, other products), ``pocket`` and ``pocket-eval`` (short
    texts), ``goals`` (WebShop's plain goals under its own reward, as many as the catalogue brings).
    """

    tools: Sequence[Tool] = TOOLS

    def __init__(self, config: ShopConfig | None = None) -> None:
        self.config = config or ShopConfig()
        self._lock = threading.Lock()
        self._loaded: tuple[Catalogue, Tasks] | None = None

    def catalogue(self) -> Catalogue:
        """The store of full episodes; prepared and cached on the first call. Raises :class:`DataError`."""
        return self._full()[0]

    def tasks(self) -> Tasks:
        """The generator over that store."""
        return self._full()[1]

    def _full(self) -> tuple[Catalogue, Tasks]:
        with self._lock:
            if self._loaded is None:
                config = self.config
                store = load(config.webshop, config.seed)
                self._loaded = store, Tasks(store, store.traits, seed=config.seed, sessions=config.sessions)
            return self._loaded

    def task_ids(self, split: str) -> Sequence[str]:
        """The ids of a split, in a fixed order. Raises :class:`DataError` for an unknown split."""
        if split in pocket.SIZES:
            return TaskIds(pocket.SIZES[split], lambda place: f"shop.{split}.{pocket.FAMILY}.{place:05d}")
        if split in PAIRS:
            return TaskIds(2 * PAIRS[split], lambda place: full_id(split, place))
        if split == native.SPLIT:
            return TaskIds(len(self.catalogue().goals), lambda place: f"shop.{split}.goal.{place:05d}")
        raise DataError(f"Expected a split of shop ({', '.join(SPLITS)}), got {split!r}.")

    def task(self, task_id: str) -> Task:
        """Raises :class:`DataError` for an unknown id."""
        if match := _POCKET_ID.fullmatch(task_id):
            split, place = match.group(1), int(match.group(2))
            if place < pocket.SIZES[split]:
                plan = pocket.pocket_plan(split, place, self.config.seed)
                return Task(task_id, "shop", split, POCKET_BUDGET, {"style": "pocket", **plan.payload()})
        elif match := _FULL_ID.fullmatch(task_id):
            split, family, place = match.group(1), match.group(2), int(match.group(3))
            if place < PAIRS[split] // len(FAMILIES):
                member = self.tasks().space(split, family).pair(place)["ab".index(match.group(4))]
                return Task(task_id, "shop", split, BUDGET, {"style": "full", **member.plan.payload()})
        elif match := _GOAL_ID.fullmatch(task_id):
            goals = self.catalogue().goals
            if int(match.group(1)) < len(goals):
                return Task(task_id, "shop", native.SPLIT, BUDGET, native.payload(goals[int(match.group(1))]))
        raise DataError(f"Expected a task of shop, got {task_id!r}.", hint="`camg tasks show shop ID` shows one.")

    def workspace(self, task: Task) -> Workspace:
        """An empty folder: the store is reached through its actions alone."""
        return Workspace()

    def open(self, task: Task, box: Box, boxes: Boxes) -> ShopSession | native.GoalSession:
        """Start an episode."""
        style = task.payload.get("style")
        if style == "goal":
            return native.GoalSession(native.parse(task.payload), self.catalogue(), self.config.observation)
        plan = Plan.parse(task.payload)
        if style == "pocket":
            return ShopSession(plan, pocket.PocketStore(plan), pocket.PocketStyle())
        return ShopSession(plan, self.catalogue(), FullStyle(self.config.observation))
