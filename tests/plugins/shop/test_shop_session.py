"""A full episode: Table 6 to the letter, boundaries, and what must not be told or survive."""

from __future__ import annotations

import pytest

from camg.episode.actions import faulty
from camg.types import Action, CheckpointFailure, CheckpointVerdict, EndReason, Observation, StepResult
from camg_shop.plan import Plan

PATH = ".agent_memory/CONTINUATION.md"


def open_(shop, task_id="shop.eval.latent.00000.a"):
    return shop.open(shop.task(task_id), None, None)


def search(session, title):
    return session.step(Action("search", {"query": title}))


def click(session, target):
    return session.step(Action("click", {"target": target}))


def buy(session, right=True):
    """Buy the target, or another listing."""
    visit = session.visit
    product = session.product(visit.listings[visit.target if right else visit.target - 1])
    search(session, product.title)
    click(session, product.id)
    return click(session, "Buy Now")


def test_rewards_of_a_perfect_episode(shop):
    session, rewards = open_(shop), []
    for number in range(6):
        result = buy(session)
        rewards.append(result.reward)
        assert result.boundary is (number < 5)
        assert result.terminated is (number == 5)
        if result.boundary:
            session.cross()
    assert rewards == [1 / 7] * 5 + [2 / 7]
    reward, outcome = session.finish(EndReason.TERMINATED)
    assert (reward, outcome.success, outcome.complete) == (0.0, 1.0, True)


def test_a_wrong_purchase_costs_and_ends(shop):
    session = open_(shop)
    buy(session)
    session.cross()
    result = buy(session, right=False)
    assert (result.reward, result.terminated, result.boundary) == (-0.01, True, False)
    _, outcome = session.finish(EndReason.TERMINATED)
    assert outcome.success == pytest.approx(1 / 6)
    assert not outcome.complete
    visit = session.visit
    told = result.observation.shown
    assert session.product(visit.listings[visit.target]).title not in told
    assert not any(product_id in told for product_id in visit.listings)


def test_buying_an_unlisted_product_is_wrong(shop):
    session = open_(shop)
    page = search(session, session.visit.request + " towel mug lamp")
    assert not page.invalid
    other = next(i for i in session.browser.page.shown if i not in session.visit.listings)
    click(session, other)
    assert click(session, "Buy Now").terminated


@pytest.mark.parametrize("action", [Action("click", {"target": "Buy Now"}), Action("click", {"target": "B0AAAAAAAA"})])
def test_invalid_actions_cost_a_hundredth_and_change_nothing(shop, action):
    session = open_(shop)
    before = session.browser.page
    result = session.after_action(action, session.step(action), None)
    assert (result.reward, result.invalid, result.terminated) == (-0.01, True, False)
    assert session.browser.page == before


def test_parse_faults_are_priced_once_and_shell_commands_and_refused_checkpoints_not(shop):
    session = open_(shop)
    fault = faulty("hm", "no_action", "No action.")
    assert session.after_action(fault, StepResult(Observation("x"), invalid=True), None).reward == -0.01
    refused = CheckpointVerdict(False, CheckpointFailure.UNCHANGED, "x")
    shell = Action("shell_command", {"command": "false"})
    failed = StepResult(Observation("", exit_status=1))
    assert session.after_action(shell, failed, None) is failed
    assert session.after_action(shell, failed, refused) is failed
    native = Action("click", {"target": "nonsense"})
    assert session.after_action(native, session.step(native), refused).reward == -0.01


def test_native_actions_are_invalid_while_the_checkpoint_is_pending(shop):
    session = open_(shop)
    assert buy(session).boundary
    for action in (
        Action("search", {"query": "mug"}),
        Action("click", {"target": "Buy Now"}),
        Action("ask", {"question": "?"}),
    ):
        result = session.step(action)
        assert (result.reward, result.invalid, result.boundary) == (-0.01, True, False)
    session.cross()
    assert not search(session, "mug").invalid


def test_nothing_of_the_browser_survives_a_boundary(shop):
    session = open_(shop)
    buy(session)
    old = session.visit
    brief = session.cross()
    assert session.browser.page.kind == "search"
    assert not any(session.product(product_id).title in brief for product_id in old.listings)
    assert "Purchase 2 of 6" in brief
    assert session.plan.customer in brief
    assert click(session, old.listings[old.target]).invalid


def test_the_brief_shows_money_without_telling_the_choice(shop):
    briefs = []
    for member in "ab":
        session = open_(shop, f"shop.eval.latent.00002.{member}")
        buy(session)
        briefs.append(session.cross())
        assert session.spent == session.product(session.history[0]).price <= session.reserved
    first, second = (brief.splitlines()[2] for brief in briefs)
    assert first == second
    assert "reserved for earlier purchases" in first


def test_a_right_purchase_beyond_the_budget_is_wrong(shop):
    task = shop.task("shop.eval.latent.00000.a")
    poor = type(task)(task.id, "shop", "eval", 42, {**task.payload, "budget": 1})
    assert buy(shop.open(poor, None, None)).terminated


def test_ask_is_answered_once_there_is_something_to_ask(shop):
    session = open_(shop, "shop.eval.clarification.00000.a")
    question = Action("ask", {"question": "Which one?"})
    first = session.step(question)
    assert (first.reward, first.invalid) == (0.0, False)
    assert "I like" in first.observation.shown
    buy(session)
    session.cross()
    assert "nothing to add" in session.step(question).observation.shown


def test_reminders_say_what_to_keep_and_how(shop):
    session = open_(shop)
    pressure = session.reminder(PATH, 8192)
    buy(session)
    declared = session.reminder(PATH, 8192)
    for text in (pressure, declared):
        for part in (PATH, "8192", "objective", "decisive_evidence", "workspace_paths", "next_action", "<<'EOF'"):
            assert part in text
    assert "Session 1 of 6 ends" in declared
    assert "nearly full" in pressure


def test_after_the_end_everything_is_invalid_and_finish_counts(shop):
    session = open_(shop)
    buy(session, right=False)
    assert search(session, "mug").invalid
    assert session.finish(EndReason.TERMINATED)[1].metrics["invalid"] == 1
    session.close()
    session.close()


def test_plans_survive_json(shop):
    import json

    for task_id in ("shop.train.negative.00003.b", "shop.pocket.latent.00007"):
        payload = shop.task(task_id).payload
        assert Plan.parse(json.loads(json.dumps(payload))) == Plan.parse(payload)
