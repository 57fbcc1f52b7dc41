"""One Shop episode: sessions, money, boundaries, and Table 6's rewards. The texts come from a style.

Rewards (paper, Table 6, with n = number of sessions): e = 1 for a correct purchase in sessions 1 to n - 1, 2 in
session n, -0.01 for an invalid action or a wrong purchase; r = e / (n + 1) where e > 0, else r = e.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Protocol

from attrs import evolve

from camg.types import Action, CheckpointVerdict, EndReason, Observation, Outcome, StepResult
from camg_shop.browser import Browser, InvalidMove, Kind, Page, Purchase
from camg_shop.plan import Plan, Product, Store, Visit

PENALTY = -0.01


class Style(Protocol):
    """How an episode reads: ``camg_shop.texts`` for full episodes, ``camg_shop.pocket`` for pocket ones."""

    def brief(self, session: ShopSession) -> str: ...

    def page(self, page: Page, store: Store) -> str: ...

    def bought(self, session: ShopSession, product: Product) -> str: ...

    def wrong(self) -> str: ...

    def invalid(self, reason: str) -> str: ...

    def fault(self, shown: str) -> str: ...

    def reply(self, text: str) -> str: ...

    def reminder(self, session: ShopSession, path: str, limit: int) -> str: ...

    def labels(self, visit: Visit, plan: Plan) -> Mapping[str, str]: ...

    def opening(self, visit: Visit) -> tuple[str, ...]: ...


class ShopSession:
    """One episode (:class:`camg.protocols.Session`).

    A purchase is right when it is the session's target. Every right purchase but the last declares a boundary; until
    it is crossed native actions are invalid. ``cross`` drops browser, cart and page trace; customer, money and
    purchase history stay. A wrong purchase ends the episode.
    """

    def __init__(self, plan: Plan, store: Store, style: Style) -> None:
        self.plan = plan
        self._store = store
        self._style = style
        self.index = 0  # of the current session
        self.correct = 0
        self.spent = 0  # cents
        self.history: list[str] = []
        self._pending = False  # a boundary was declared and not yet crossed
        self._over = False
        self._known = bool(plan.clue) and plan.clue in plan.visits[0].request
        self._count = dict.fromkeys(("invalid", "asks", "shell", "known_right", "known_total", "wrong"), 0)
        self.browser = self._fresh_browser()

    # ------------------------------------------------------------ what texts ask
    @property
    def visit(self) -> Visit:
        """The current session's request and listings."""
        return self.plan.visits[self.index]

    @property
    def sessions(self) -> int:
        """Purchases in this episode."""
        return len(self.plan.visits)

    @property
    def reserved(self) -> int:
        """Cents set aside for earlier sessions: the dearest listing of each.

        Shown instead of what was really paid, which would tell the earlier choices apart without any memory.
        """
        return sum(max(self.product(i).price for i in visit.listings) for visit in self.plan.visits[: self.index])

    @property
    def closed(self) -> bool:
        """Was the current session's purchase made, and the boundary not yet crossed?"""
        return self._pending

    def product(self, product_id: str) -> Product:
        """A product of the store."""
        return self._store.product(product_id)

    def page_text(self) -> str:
        """The page that the browser shows."""
        return self._style.page(self.browser.page, self._store)

    # ------------------------------------------------------------ the protocol
    def brief(self) -> str:
        """The fixed task text with the current request and the current page."""
        return self._style.brief(self)

    def step(self, action: Action) -> StepResult:
        """Execute ``search``, ``click`` or ``ask``; the result is already priced by Table 6."""
        if self._over:
            return self._invalid("The episode is over.")
        if self._pending:
            return self._invalid("The session is closed; save the checkpoint first.")
        try:
            if action.tool == "search":
                self.browser.search(action.arguments["query"])
            elif action.tool == "click":
                purchase = self._click(action.arguments["target"])
                if purchase is not None:
                    return self._buy(purchase)
            elif action.tool == "ask":
                self._count["asks"] += 1
                return StepResult(Observation(self._style.reply(self.visit.reply)))
            else:
                return self._invalid(f"Shop has no action {action.tool!r}.")
        except InvalidMove as error:
            return self._invalid(str(error))
        return StepResult(Observation(self.page_text()))

    def after_action(self, action: Action, result: StepResult, checkpoint: CheckpointVerdict | None) -> StepResult:
        """Price what did not parse: -0.01, as any invalid action (Table 6).

        A native action's result was priced by ``step`` and is returned as it is. A failed shell command is a valid
        action and a refused checkpoint has no price in Shop: neither is charged beyond its slot.
        """
        if action.fault is not None:
            self._count["invalid"] += 1
            shown = evolve(result.observation, shown=self._style.fault(result.observation.shown))
            return evolve(result, observation=shown, reward=result.reward + PENALTY, invalid=True)
        if action.tool not in ("search", "click", "ask"):
            self._count["shell"] += 1
            self._notice_clue(action, result)
        return result

    def reminder(self, path: str, limit: int) -> str:
        """Asks for the checkpoint: objective, decisive evidence, workspace paths, next action."""
        return self._style.reminder(self, path, limit)

    def cross(self) -> str:
        """The boundary is confirmed: a fresh browser, and the next session's brief."""
        if self._pending:
            self._pending = False
            self.index += 1
            self.browser = self._fresh_browser()
            self._known = bool(self.plan.clue) and self.plan.clue in self.visit.request
        return self.brief()

    def finish(self, reason: EndReason) -> tuple[float, Outcome]:
        """No final reward. Success = right purchases / sessions; complete = all of them."""
        metrics: dict[str, float] = {"correct": self.correct, "spent_cents": self.spent, **self._count}
        success = self.correct / self.sessions
        return 0.0, Outcome(success, self.correct == self.sessions, score=self.correct, metrics=metrics)

    def close(self) -> None:
        """Nothing is held outside this object."""

    # ------------------------------------------------------------ inside
    def _fresh_browser(self) -> Browser:
        visit = self.visit
        return Browser(self._store, self._style.opening(visit), self._style.labels(visit, self.plan))

    def _invalid(self, reason: str) -> StepResult:
        self._count["invalid"] += 1
        return StepResult(Observation(self._style.invalid(reason)), reward=PENALTY, invalid=True)

    def _click(self, label: str) -> Purchase | None:
        opened = self.browser.page.kind is Kind.RESULTS
        purchase = self.browser.click(label)
        if opened and self._known and self.browser.page.kind is Kind.ITEM:
            self._count["known_total"] += 1
            self._count["known_right"] += self.browser.page.product == self.visit.listings[self.visit.target]
        return purchase

    def _buy(self, purchase: Purchase) -> StepResult:
        product = self._store.product(purchase.product)
        affordable = self.spent + product.price <= self.plan.budget
        if purchase.product != self.visit.listings[self.visit.target] or not affordable:
            self._over = True
            self._count["wrong"] = 1
            return StepResult(Observation(self._style.wrong()), reward=PENALTY, terminated=True)
        self.spent += product.price
        self.history.append(purchase.product)
        self.correct += 1
        last = self.correct == self.sessions
        self._pending, self._over = not last, last
        reward = (2.0 if last else 1.0) / (self.sessions + 1)
        shown = Observation(self._style.bought(self, product))
        return StepResult(shown, reward=reward, terminated=last, boundary=not last)

    def _notice_clue(self, action: Action, result: StepResult) -> None:
        """Did this output bring the wanted value into the context (and the command not just say it)?"""
        word = re.compile(rf"\b{re.escape(self.plan.clue)}\b")
        said = any(word.search(str(value)) for value in action.arguments.values())
        if self.plan.clue and not said and word.search(result.observation.shown):
            self._known = True
