"""From certified products to tasks: the product-disjoint split, recipes, and a numbered space of counterfactual pairs.

A recipe is (axis, two values, four categories); the negative constraint takes three values. Every combination of
recipe, evidence, products, order of listings and chance bits has a number, and pair i of a family is the combination at
place i of a seeded permutation: no pair comes twice, and none is stored.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence

from attrs import frozen

from camg.errors import DataError
from camg_shop.certify import Trait
from camg_shop.families import CHANCE, FAMILIES, PRESERVING, Draw, Row, script
from camg_shop.lexicon import AXES
from camg_shop.permutation import Permutation, digits, number
from camg_shop.plan import Plan, Store, Visit

CATEGORIES = 4
# the category of each session, by number of evidence sessions; none comes more than twice
SCHEDULES: Mapping[int, tuple[int, ...]] = {1: (0, 1, 2, 3, 1, 2), 2: (0, 1, 2, 3, 0, 2), 3: (0, 1, 2, 3, 1, 3)}
CUSTOMERS = (
    "Mara Lind",
    "Jon Adler",
    "Elsa Brandt",
    "Omar Said",
    "Lena Fuchs",
    "Pavel Novak",
    "Aiko Mori",
    "Sara Diaz",
)
MARGIN = 2_000  # cents
HELD_OUT = 5  # one product in five serves evaluation

Cells = Mapping[tuple[str, str, str], tuple[str, ...]]  # (axis, category, value) -> product ids


def split_cells(traits: Sequence[Trait], seed: int) -> dict[str, Cells]:
    """Products of ``train`` and ``eval``: disjoint, and in every cell one in five is held out."""
    cells: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for trait in traits:
        cells[trait.axis, trait.category, trait.value].append(trait.product)
    sides: dict[str, dict[tuple[str, str, str], tuple[str, ...]]] = {"train": {}, "eval": {}}
    for key, ids in cells.items():
        ranked = sorted(ids, key=lambda product_id: number(f"{seed}:split:{product_id}", 1 << 64))
        sides["eval"][key] = tuple(ranked[1::HELD_OUT])
        sides["train"][key] = tuple(i for place, i in enumerate(ranked) if place % HELD_OUT != 1)
    return dict(sides)


@frozen
class Recipe:
    """``shelves[c][v]``: the product ids of category c and value v."""

    axis: str
    values: tuple[str, ...]
    categories: tuple[str, ...]
    shelves: tuple[tuple[tuple[str, ...], ...], ...]


def recipes(cells: Cells, width: int, seed: int) -> list[Recipe]:
    """All recipes with ``width`` values: each category appears in a window of four in a seeded order.

    A category serves when it has two products of each value, one for each time that a schedule may come to it.
    """
    found = []
    for axis, names in AXES.items():
        categories = sorted({key[1] for key in cells if key[0] == axis})
        categories.sort(key=lambda name: number(f"{seed}:category:{axis}:{name}", 1 << 64))
        for values in itertools.combinations(names, width):
            rich = [c for c in categories if all(len(cells.get((axis, c, v), ())) >= 2 for v in values)]
            if len(rich) < CATEGORIES:
                continue
            for start in range(len(rich) if len(rich) > CATEGORIES else 1):
                window = tuple(rich[(start + step) % len(rich)] for step in range(CATEGORIES))
                shelves = tuple(tuple(cells[axis, c, v] for v in values) for c in window)
                found.append(Recipe(axis, values, window, shelves))
    return found


@frozen
class Member:
    """One task before it becomes a payload."""

    plan: Plan
    rows: tuple[Row, ...]
    draw: Draw
    root: int
    noisy: bool


class Space:
    """All pairs of one family in one split. ``len`` may be astronomic; :meth:`pair` decodes one by its number."""

    def __init__(self, family: str, split: str, cells: Cells, store: Store, *, seed: int, sessions: int) -> None:
        self.family = family
        self._store = store
        self._sessions = sessions
        found = recipes(cells, 3 if family == "negative" else 2, seed)
        if not found:
            raise DataError(
                f"Expected certified products for the {family} tasks of {split}: four categories with two products of "
                f"each of their values; got none in {len(cells)} cells.",
                hint="`camg tasks check shop` shows the yield by reason.",
            )
        self._units = [(recipe, evidence) for recipe in found for evidence in SCHEDULES]
        self._ends = list(itertools.accumulate(math.prod(self._radices(*unit)) for unit in self._units))
        self.size = self._ends[-1]
        self._order = Permutation(self.size, f"{seed}:{split}:{family}")

    def _shelves(self, recipe: Recipe, evidence: int) -> list[list[tuple[str, ...]]]:
        """``[session][value]``: the products to choose from. A second visit to a category has products of its own."""
        schedule = SCHEDULES[evidence][: self._sessions]
        return [
            [ids[schedule[:place].count(category) :: 2] for ids in recipe.shelves[category]]
            for place, category in enumerate(schedule)
        ]

    def _radices(self, recipe: Recipe, evidence: int) -> tuple[int, ...]:
        """Customer, the family's chance, the order of each session's listings; then each session's products."""
        orders = (math.factorial(len(recipe.values)),) * self._sessions
        picks = (len(ids) for shelf in self._shelves(recipe, evidence) for ids in shelf)
        return (len(CUSTOMERS), *CHANCE[self.family], *orders, *picks)

    def pair(self, index: int) -> tuple[Member, Member]:
        """The two members of pair ``index``. Raises ``IndexError``."""
        place = self._order(index)
        which = bisect_right(self._ends, place)
        recipe, evidence = self._units[which]
        local = place - (self._ends[which - 1] if which else 0)
        customer, *rest = digits(local, self._radices(recipe, evidence))
        chance, rest = rest[: len(CHANCE[self.family])], rest[len(CHANCE[self.family]) :]
        permutations = tuple(itertools.permutations(range(len(recipe.values))))
        orders = tuple(permutations[which] for which in rest[: self._sessions])
        listings = self._listings(recipe, evidence, orders, rest[self._sessions :])
        values = recipe.values
        if self.family == "negative":  # turn the values, so that any of the three may be the one never wanted
            turn = chance[0]
            values = values[turn:] + values[:turn]
            orders = tuple(tuple((value - turn) % 3 for value in order) for order in orders)
        draw = Draw(recipe.axis, values, CUSTOMERS[customer], evidence, orders, tuple(chance))
        if self.family in PRESERVING:
            return self.member(draw, listings, chance[0], False), self.member(draw, listings, chance[0], True)
        return self.member(draw, listings, 0, False), self.member(draw, listings, 1, False)

    def _listings(
        self, recipe: Recipe, evidence: int, orders: tuple[tuple[int, ...], ...], picks: Sequence[int]
    ) -> tuple[tuple[str, ...], ...]:
        """Product ids as shown, session by session."""
        width = len(recipe.values)
        return tuple(
            tuple(shelf[value][picks[session * width + value]] for value in orders[session])
            for session, shelf in enumerate(self._shelves(recipe, evidence))
        )

    def flipped(self, member: Member) -> Member:
        """The same task with the other root, all else equal: what a pair is for the families that flip."""
        listings = tuple(visit.listings for visit in member.plan.visits)
        return self.member(member.draw, listings, 1 - member.root, member.noisy)

    def member(self, draw: Draw, listings: tuple[tuple[str, ...], ...], root: int, noisy: bool) -> Member:
        """Requests, targets and budget of one member."""
        rows = script(self.family, draw, root, noisy)
        visits = tuple(
            Visit(row.request, listing, order.index(row.target), row.reply)
            for row, listing, order in zip(rows, listings, draw.orders, strict=True)
        )
        dearest = sum(max(self._store.product(product_id).price for product_id in row) for row in listings)
        budget = math.ceil(dearest / 1000) * 1000 + MARGIN
        return Member(Plan(self.family, visits, budget, draw.customer), rows, draw, root, noisy)


class Tasks:
    """The spaces of all families over one catalogue, made when first asked for."""

    def __init__(self, store: Store, traits: Sequence[Trait], *, seed: int, sessions: int) -> None:
        self._store = store
        self._seed = seed
        self._sessions = sessions
        self.cells = split_cells(traits, seed)
        self._spaces: dict[tuple[str, str], Space] = {}

    def space(self, split: str, family: str) -> Space:
        """Raises :class:`DataError` when the catalogue cannot serve it."""
        if family not in FAMILIES:
            raise DataError(f"Expected a family of {', '.join(FAMILIES)}, got {family!r}.")
        key = (split, family)
        if key not in self._spaces:
            self._spaces[key] = Space(
                family, split, self.cells[split], self._store, seed=self._seed, sessions=self._sessions
            )
        return self._spaces[key]
