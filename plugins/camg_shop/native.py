"""Plain WebShop goals under WebShop's own reward (the ``goals`` split): one instruction, one purchase.

r = r_type * (n_attributes + n_options + [price <= upper]) / (|attributes| + |options| + 1), from WebShop's source.
Faults of upstream that are not copied: fuzzy comparison held 'large' and 'x-large', '8' and '8.5' equal: options are
compared for equality after normalisation; a goal without price limit raised, here any price is within it. Upstream
takes nouns for r_type from a language model's tagger; here every word of the title counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import asdict, evolve

from camg.types import Action, CheckpointVerdict, EndReason, Observation, Outcome, StepResult
from camg_shop.browser import Browser, InvalidMove
from camg_shop.lexicon import normalised, words
from camg_shop.pages import render
from camg_shop.plan import Product, Store
from camg_shop.webshop import Goal

SPLIT = "goals"
PENALTY = -0.01


def payload(goal: Goal) -> dict[str, Any]:
    """JSON-able."""
    return {"style": "goal", **asdict(goal)}


def parse(stored: Mapping[str, Any]) -> Goal:
    """From a payload, also one that went through JSON."""
    return Goal(
        product=stored["product"],
        instruction=stored["instruction"],
        attributes=tuple(stored["attributes"]),
        options=tuple(stored["options"]),
        price_upper=stored["price_upper"],
    )


def type_reward(bought: Product, wanted: Product) -> float:
    """1, 0.5, 0.1 or 0: is it the same kind of product, by query, two shared categories, or title words?"""
    aimed = set(words(wanted.title))
    shared = len(aimed & set(words(bought.title))) / len(aimed) if aimed else 0.2
    categories = [{part.strip() for part in p.department.split("›") if part.strip()} for p in (bought, wanted)]
    match = bought.category == wanted.category or len(categories[0] & categories[1]) >= 2 or shared > 0.2
    if shared == 0.0:
        return 0.0
    if shared < 0.1:
        return 0.1
    return 1.0 if match else 0.5


def _matched(aims: Iterable[str], texts: Iterable[str]) -> int:
    known = {normalised(text) for text in texts}
    return sum(normalised(aim) in known for aim in aims)


def _attributes(goal: Goal, bought: Product) -> int:
    """Attributes that the product lists, or that its texts name as whole words."""
    listed = {normalised(text) for text in bought.attributes}
    told = f" {normalised(' '.join((bought.title, bought.description, *bought.features)))} "
    return sum(normalised(aim) in listed or f" {normalised(aim)} " in told for aim in goal.attributes)


def reward(goal: Goal, bought: Product, options: Mapping[str, str], wanted: Product) -> float:
    """WebShop's reward in [0, 1] of buying ``bought`` with ``options``."""
    cheap = not goal.price_upper or bought.price <= goal.price_upper
    hits = _attributes(goal, bought) + _matched(goal.options, options.values()) + cheap
    return type_reward(bought, wanted) * hits / (len(goal.attributes) + len(goal.options) + 1)


class GoalSession:
    """One plain WebShop episode (:class:`camg.protocols.Session`). The purchase ends it with WebShop's reward."""

    def __init__(self, goal: Goal, store: Store, mode: str) -> None:
        self._goal = goal
        self._store = store
        self._mode = mode
        self._browser = Browser(store)
        self._reward: float | None = None
        self._invalid_count = 0

    def brief(self) -> str:
        """The instruction, and the search page."""
        rules = "Buy one product that fits the instruction: search, click a product id, choose options, click Buy Now."
        opening = render(Browser(self._store).page, self._store, self._mode)
        return f"{rules}\nInstruction: {self._goal.instruction}\n\nThe session opens on this page:\n{opening}"

    def step(self, action: Action) -> StepResult:
        """Execute ``search`` or ``click``; nobody answers ``ask``."""
        if self._reward is not None:
            return self._invalid("The episode is over.")
        try:
            if action.tool == "search":
                self._browser.search(action.arguments["query"])
            elif action.tool == "click":
                bought = self._browser.click(action.arguments["target"])
                if bought is not None:
                    wanted = self._store.product(self._goal.product)
                    self._reward = reward(self._goal, self._store.product(bought.product), bought.options, wanted)
                    shown = Observation(f"Bought. Score: {self._reward:.3f}.")
                    return StepResult(shown, reward=self._reward, terminated=True)
            else:
                return self._invalid("Nobody answers here; the instruction is all there is.")
        except InvalidMove as error:
            return self._invalid(str(error))
        return StepResult(Observation(render(self._browser.page, self._store, self._mode)))

    def _invalid(self, reason: str) -> StepResult:
        self._invalid_count += 1
        return StepResult(Observation(f"Invalid action: {reason}"), reward=PENALTY, invalid=True)

    def after_action(self, action: Action, result: StepResult, checkpoint: CheckpointVerdict | None) -> StepResult:
        """What did not parse costs 0.01, as in all of Shop."""
        if action.fault is None:
            return result
        self._invalid_count += 1
        return evolve(result, reward=result.reward + PENALTY, invalid=True)

    def reminder(self, path: str, limit: int) -> str:
        """Under context pressure only: a plain goal has no boundary of its own."""
        return (
            f"The context is nearly full and will be replaced. Spend your next response on writing {path} with one "
            f"filesystem action (at most {limit} bytes): the products that you have seen, and the next action, as in\n"
            f"mkdir -p {path.rpartition('/')[0] or '.'} && cat > {path} <<'EOF'\n…\nEOF"
        )

    def cross(self) -> str:
        """There is no further session."""
        return self.brief()

    def finish(self, reason: EndReason) -> tuple[float, Outcome]:
        """Success is the reward that was earned; complete a reward of 1."""
        earned = self._reward or 0.0
        metrics = {"invalid": float(self._invalid_count)}
        return 0.0, Outcome(earned, earned >= 1.0 - 1e-9, score=earned, metrics=metrics)

    def close(self) -> None:
        """Nothing is held."""
