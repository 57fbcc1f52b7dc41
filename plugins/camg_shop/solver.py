"""The solver: proves the invariants of a counterfactual pair, or names each one that fails (paper, A.1.1).

1. Of all paths through the listings exactly one agrees with the texts, and it is the target path.
2. Requests and listings of sessions that do not reveal the root are byte-identical across the pair, whole briefs
   included; there the targets flip where the session depends on the root and stay elsewhere. So whatever a policy
   without memory does in a dependent session, it is right for one member at most: chance.
3. No product comes twice, all are of the split, each listing carries its own one value.
4. Every path stays within the budget, which both members share.
5. No brief holds a product id.
6. Every listing is on the first results page for its title, and search, open, buy works in the live session.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen

from camg.types import Action
from camg_shop.browser import BUY, PAGE_SIZE
from camg_shop.generate import Member, Space
from camg_shop.plan import Plan, Product, Store
from camg_shop.pocket import SAME, PocketStore, PocketStyle
from camg_shop.reading import Ledger, value_of
from camg_shop.session import ShopSession, Style


class RememberingStore:
    """A store that searches each query once: the index does not change."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._hits: dict[str, Sequence[str]] = {}

    def product(self, product_id: str) -> Product:
        """Raises ``KeyError``."""
        return self._store.product(product_id)

    def search(self, query: str) -> Sequence[str]:
        """As the store."""
        if query not in self._hits:
            self._hits[query] = tuple(self._store.search(query))
        return self._hits[query]


@frozen
class Walk:
    """The target path, walked in the live session."""

    briefs: tuple[str, ...]
    reward: float
    complete: bool


def walk(plan: Plan, store: Store, style: Style) -> Walk:
    """Walk the target path: search, open, buy, cross, as a policy would."""
    session = ShopSession(plan, store, style)
    briefs, total, complete = [session.brief()], 0.0, False
    for number, visit in enumerate(plan.visits):
        product = store.product(visit.listings[visit.target])
        if not style.opening(visit):
            total += session.step(Action("search", {"query": product.title})).reward
        total += session.step(Action("click", {"target": product.id})).reward
        result = session.step(Action("click", {"target": BUY}))
        total += result.reward
        complete = result.terminated and not result.invalid and session.correct == len(plan.visits)
        if number + 1 < len(plan.visits):
            briefs.append(session.cross())
    return Walk(tuple(briefs), total, complete)


def paths(member: Member, store: Store) -> list[tuple[int, ...]]:
    """All paths, as places in the listings, that agree with the texts; every path is tried."""
    plan, axis = member.plan, member.draw.axis
    values = [[value_of(store.product(i).title, axis) for i in visit.listings] for visit in plan.visits]

    def follow(session: int, ledger: Ledger) -> Iterator[tuple[int, ...]]:
        if session == len(plan.visits):
            yield ()
            return
        visit = plan.visits[session]
        ledger.read(visit.request, visit.reply)
        admitted = ledger.admits(visit.request, values[session])
        for place in range(len(visit.listings)):
            if place in admitted:
                onward = ledger.copy()
                onward.bought(visit.request, values[session][place])
                yield from ((place, *rest) for rest in follow(session + 1, onward))

    return list(follow(0, Ledger(plan.customer)))


class Solver:
    """Checks the pairs of one space. ``products``: ids of the split; ``store`` may remember its searches."""

    def __init__(self, space: Space, store: Store, products: frozenset[str], style: Style) -> None:
        self._space = space
        self._store = store
        self._products = products
        self._style = style

    def check(self, index: int) -> list[str]:
        """Every invariant that pair ``index`` breaks, in words; empty when it is proven."""
        first, second = self._space.pair(index)
        return self.check_pair(first, second)

    def check_pair(self, first: Member, second: Member) -> list[str]:
        """As :meth:`check`, for two given members."""
        pair = (first, second)
        walks = [walk(member.plan, self._store, self._style) for member in pair]
        faults = [fault for member, done in zip(pair, walks, strict=True) for fault in self._one(member, done)]
        if first.plan.budget != second.plan.budget:
            faults.append("the budget differs within the pair")
        if first.root == second.root:
            faults += self._preserved(first, second, walks)
            second = self._space.flipped(first)
            walks[1] = walk(second.plan, self._store, self._style)
        return faults + self._flipped(first, second, walks)

    def _one(self, member: Member, done: Walk) -> Iterator[str]:
        plan = member.plan
        targets = tuple(visit.target for visit in plan.visits)
        found = paths(member, self._store)
        if found != [targets]:
            yield f"expected exactly the target path, found {len(found)} paths"
        shown = [product_id for visit in plan.visits for product_id in visit.listings]
        if len(set(shown)) != len(shown):
            yield "a product comes twice"
        if not self._products.issuperset(shown):
            yield "a product is of another split"
        for visit in plan.visits:
            values = sorted(value_of(self._store.product(i).title, member.draw.axis) for i in visit.listings)
            if values != sorted(member.draw.values):
                yield "the listings do not carry each value once"
        if sum(max(self._store.product(i).price for i in visit.listings) for visit in plan.visits) > plan.budget:
            yield "a path passes the budget"
        if any(product_id in brief for product_id in shown for brief in done.briefs):
            yield "a product id is in a brief"
        for product_id in shown:
            if product_id not in self._store.search(self._store.product(product_id).title)[:PAGE_SIZE]:
                yield "a listing is not on the first page for its title"
        if not done.complete or abs(done.reward - 1.0) > 1e-9:
            yield f"the target path earns {done.reward:.3f} and not 1"

    @staticmethod
    def _preserved(first: Member, second: Member, walks: Sequence[Walk]) -> Iterator[str]:
        """An answer-preserving pair: same targets, same later briefs."""
        if [visit.target for visit in first.plan.visits] != [visit.target for visit in second.plan.visits]:
            yield "the noise changes a target"
        if walks[0].briefs[1:] != walks[1].briefs[1:]:
            yield "a later brief differs within the pair"

    @staticmethod
    def _flipped(first: Member, second: Member, walks: Sequence[Walk]) -> list[str]:
        """What only the root tells apart, and what a policy without memory can therefore not know."""
        faults = []
        dependent = 0
        for session, (row, other) in enumerate(zip(first.rows, second.rows, strict=True)):
            flips = first.plan.visits[session].target != second.plan.visits[session].target
            if not row.reveals and walks[0].briefs[session] != walks[1].briefs[session]:
                faults.append(f"the brief of session {session + 1} differs though it reveals nothing")
            if row.dependent != other.dependent or (not row.reveals and row.dependent != flips):
                faults.append(f"the target of session {session + 1} does not flip as it should")
            dependent += row.dependent and flips
        if not dependent:
            faults.append("no session depends on an earlier one")
        return faults


def check_pocket(plan: Plan) -> list[str]:
    """The invariants of a pocket task: one path by its texts, no product twice, the target path earns 1."""
    faults = []
    for visit in plan.visits:
        right = [place for place, title in enumerate(visit.listings) if title.split()[0] == plan.clue]
        if right != [visit.target]:
            faults.append("not exactly one listing carries the value")
    if plan.visits[0].request != f"want={plan.clue}" or any(visit.request != SAME for visit in plan.visits[1:]):
        faults.append("the requests do not state the value once")
    shown = [title for visit in plan.visits for title in visit.listings]
    if len(set(shown)) != len(shown):
        faults.append("a product comes twice")
    done = walk(plan, PocketStore(plan), PocketStyle())
    if not done.complete or abs(done.reward - 1.0) > 1e-9:
        faults.append(f"the target path earns {done.reward:.3f} and not 1")
    if any(plan.clue in brief.partition("\n")[0] for brief in done.briefs[1:]):
        faults.append("a later brief states the value")
    return faults
