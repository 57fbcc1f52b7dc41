"""The pocket split: disjoint, unbiased, solvable through memory alone, and its imperfect demonstrations."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from camg.episode.actions import BRACKET, NATIVE
from camg.errors import DataError
from camg.types import Action, EndReason
from camg_shop.demonstrator import demonstrator
from camg_shop.oracle import oracle
from camg_shop.plan import Plan


def tasks(shop, split, count, step=1):
    ids = shop.task_ids(split)
    return [shop.task(ids[i * step]) for i in range(count)]


def combination(task):
    return tuple((visit["listings"], visit["target"]) for visit in task.payload["visits"])


def test_splits_are_large_and_share_no_combination(shop):
    train, held_out = shop.task_ids("pocket"), shop.task_ids("pocket-eval")
    assert len(train) == 20_000
    assert len(held_out) >= 512
    sample = tasks(shop, "pocket", 2000, 10)
    evaluation = tasks(shop, "pocket-eval", len(held_out))
    classes = {
        (task.payload["clue"], tuple(v["listings"][0].split()[1] for v in task.payload["visits"])) for task in sample
    }
    for task in evaluation:
        nouns = tuple(v["listings"][0].split()[1] for v in task.payload["visits"])
        assert (task.payload["clue"], nouns) not in classes
    assert len({str(combination(task)) for task in sample}) == len(sample)


def test_every_task_is_well_formed(shop):
    for task in tasks(shop, "pocket", 400, 50) + tasks(shop, "pocket-eval", 200):
        plan = Plan.parse(task.payload)
        assert len(plan.visits) == 3
        assert len({title for visit in plan.visits for title in visit.listings}) == 12
        for visit in plan.visits:
            assert visit.listings[visit.target].split()[0] == plan.clue
        assert plan.visits[0].request == f"want={plan.clue}"
        assert plan.visits[1].request == plan.visits[2].request == "same as before"
        assert task.budget == 16


def test_no_position_and_no_value_is_favoured(shop):
    rows = tasks(shop, "pocket", 4000)
    for session in range(3):
        places = Counter(task.payload["visits"][session]["target"] for task in rows)
        assert all(900 < places[place] < 1100 for place in range(4))
    values = Counter(task.payload["clue"] for task in rows)
    assert all(400 < values[value] < 600 for value in values)
    assert len(values) == 8


def test_a_policy_without_memory_is_right_once_in_four(shop):
    """It buys perfectly in session 1 and then knows nothing: any rule over the page alone is at chance."""
    rng, right, total = random.Random(1), 0, 0
    for task in tasks(shop, "pocket", 1500):
        plan = Plan.parse(task.payload)
        for visit in plan.visits[1:]:
            guess = sorted(visit.listings)[rng.randrange(2)]
            right += guess == visit.listings[visit.target]
            total += 1
    assert abs(right / total - 0.25) < 0.03


@pytest.mark.parametrize("split", ["pocket", "pocket-eval"])
def test_oracle_solves_through_its_file(shop, player, split):
    for task_id in shop.task_ids(split)[: 12 * 37 : 37]:
        episode = player(shop, task_id, oracle)
        assert episode.outcome.complete
        assert episode.outcome.success == 1.0
        assert len(episode.replacements) == 2
        assert [turn.reward for turn in episode.turns] == [0, 0.25, 0, 0, 0, 0.25, 0, 0, 0, 0.5]
        assert episode.outcome.metrics["known_total"] == episode.outcome.metrics["known_right"] == 3


def test_contexts_are_short(shop, player):
    episode = player(shop, shop.task_ids("pocket")[0], oracle)
    assert max(turn.prompt_length for turn in episode.turns) < 420  # bytes


def test_demonstrations_are_imperfect_at_the_stated_rates(shop, player):
    played = [player(shop, task_id, demonstrator) for task_id in shop.task_ids("pocket")[:300]]
    complete = sum(episode.outcome.complete for episode in played) / len(played)
    assert 0.03 < complete < 0.13
    assert not any("no output" in turn.text for episode in played for turn in episode.turns)
    known = sum(episode.outcome.metrics["known_total"] for episode in played)
    right = sum(episode.outcome.metrics["known_right"] for episode in played)
    assert 0.6 < right / known < 0.8  # 0.6 + 0.4 / 4
    invalid = sum(episode.outcome.metrics["invalid"] for episode in played)
    assert 0.02 < invalid / sum(len(episode.turns) for episode in played) < 0.09  # two junk kinds of three


def test_scripts_are_reproducible_and_render_through_the_dialect(shop, player):
    first, second = (player(shop, shop.task_ids("pocket")[5], demonstrator, 3) for _ in range(2))
    assert [turn.text for turn in first.turns] == [turn.text for turn in second.turns]
    task = shop.task(shop.task_ids("pocket")[5])
    response = oracle(task, 0, NATIVE)(shop.open(task, None, None).brief())
    assert NATIVE.parse(response, shop.tools).tool == "click"


def test_a_listing_is_clicked_by_title_or_value_and_nothing_else(shop):
    task = shop.task(shop.task_ids("pocket")[0])
    plan = Plan.parse(task.payload)
    title = plan.visits[0].listings[0]
    for label, invalid in ((title, False), (title.split()[0], False), (plan.visits[1].listings[0], True), ("1", True)):
        session = shop.open(task, None, None)
        assert session.step(Action("click", {"target": label})).invalid is invalid
    session = shop.open(task, None, None)
    assert session.step(Action("search", {"query": "red"})).invalid


def test_demonstrator_refuses_other_splits(shop):
    task = shop.task(shop.task_ids("pocket")[0])
    other = type(task)("x", "shop", "train", 1, {"style": "full"})
    with pytest.raises(DataError, match="pocket task"):
        demonstrator(other, 0, BRACKET)


def test_guess_without_reading_is_not_counted_as_known(shop):
    task = shop.task(shop.task_ids("pocket")[0])
    session = shop.open(task, None, None)
    plan = session.plan
    session.step(Action("click", {"target": plan.clue}))
    assert session.step(Action("click", {"target": "Buy Now"})).boundary
    assert session.step(Action("click", {"target": "< Prev"})).reward == -0.01  # pending
    session.cross()
    session.step(Action("click", {"target": plan.clue}))
    _, outcome = session.finish(EndReason.ACTION_LIMIT)
    assert outcome.success == pytest.approx(1 / 3)
    assert outcome.metrics["known_total"] == outcome.metrics["known_right"] == 1
