"""WebShop's own reward, and the plain goals of a catalogue as episodes."""

from __future__ import annotations

import pytest

from camg.episode.actions import faulty
from camg.types import Action, EndReason, Observation, StepResult
from camg_shop.native import reward, type_reward
from camg_shop.plan import Product
from camg_shop.webshop import Goal

MUG = Product("B1", "Plain Red Mug", 1000, "mug", "Home › Kitchen › Mugs", attributes=("red", "easy clean"))
SHIRT = Product("B2", "Cotton Shirt", 3000, "shirt", "Clothing › Men › Shirts", attributes=("red",))


def goal(**changes):
    plain = {"product": "B1", "instruction": "a mug", "attributes": ("red",), "options": (), "price_upper": 2000}
    return Goal(**{**plain, **changes})


def test_the_right_product_earns_one():
    assert reward(goal(), MUG, {}, MUG) == 1.0
    assert reward(goal(options=("large",)), MUG, {"size": "large"}, MUG) == 1.0


def test_parts_count_in_equal_shares():
    assert reward(goal(attributes=("red", "soft")), MUG, {}, MUG) == pytest.approx(2 / 3)
    assert reward(goal(price_upper=900), MUG, {}, MUG) == pytest.approx(1 / 2)
    assert reward(goal(price_upper=0), MUG, {}, MUG) == 1.0  # no limit


@pytest.mark.parametrize(("aim", "chosen"), [("large", "x-large"), ("8", "8.5"), ("red", "red wine")])
def test_options_are_compared_for_equality(aim, chosen):
    """Upstream's token_set_ratio holds these equal."""
    assert reward(goal(attributes=("red",), options=(aim,)), MUG, {"o": chosen}, MUG) == pytest.approx(2 / 3)
    assert reward(goal(attributes=("red",), options=(aim,)), MUG, {"o": f" {aim.upper()} "}, MUG) == 1.0


def test_type_of_product():
    assert type_reward(SHIRT, MUG) == 0.0
    assert type_reward(Product("B3", "Blue Mug", 1, "other"), MUG) == 1.0  # a third of the title's words
    long = Product("B5", "one two three four five six seven eight nine mug", 1, "x")
    assert type_reward(Product("B6", "mug", 1, "y"), long) == 0.5
    longer = Product("B7", long.title + " ten eleven", 1, "x")
    assert type_reward(Product("B6", "mug", 1, "y"), longer) == 0.1


def test_goals_are_playable(shop):
    ids = shop.task_ids("goals")
    assert len(ids) == shop.catalogue().report["counts"]["goals"] > 50
    task = shop.task(ids[0])
    product = shop.catalogue().product(task.payload["product"])
    session = shop.open(task, None, None)
    assert task.payload["instruction"] in session.brief()
    assert product.id not in session.brief()
    assert session.step(Action("ask", {"question": "?"})).reward == -0.01
    assert session.after_action(faulty("", "empty", ""), StepResult(Observation("")), None).reward == -0.01
    session.step(Action("search", {"query": product.title}))
    session.step(Action("click", {"target": product.id}))
    for option in task.payload["options"]:
        session.step(Action("click", {"target": option}))
    result = session.step(Action("click", {"target": "Buy Now"}))
    assert result.terminated
    assert result.reward == pytest.approx(1.0)
    assert product.id not in result.observation.shown
    assert session.step(Action("click", {"target": "Buy Now"})).invalid
    _, outcome = session.finish(EndReason.TERMINATED)
    assert outcome.complete
    assert "notes.md" in session.reminder("notes.md", 10)
