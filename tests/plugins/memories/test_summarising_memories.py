"""Compaction and the simple managers: a Shop task solved through each, rules under pressure, and misuse."""

from __future__ import annotations

import pytest
from through import solve

from camg.plugins import load_registry
from camg.protocols import Continue, Step
from camg.specs import NoConfig
from camg.testing import check_memory
from camg.testing.memory import View
from camg.testing.parts import FolderBox
from camg.types import Boundary, BoundaryKind, Message, TurnKind
from camg_compaction.config import CompactionConfig
from camg_compaction.habit import SummaryHabit
from camg_compaction.memory import CompactionMemory
from camg_managers.auto_summary import AutoSummary
from camg_managers.config import AutoSummaryConfig, OverwriteConfig, SlidingWindowConfig
from camg_managers.habit import AnswerHabit
from camg_managers.nothing import Nothing
from camg_managers.overwrite import Overwrite
from camg_managers.sliding_window import SlidingWindow

PRESSURE, DECLARED = Boundary(BoundaryKind.PRESSURE, "keep it"), Boundary(BoundaryKind.DECLARED, "keep it")
ALL = {
    "compaction": lambda: CompactionMemory(CompactionConfig()),
    "auto-summary": lambda: AutoSummary(AutoSummaryConfig()),
    "overwrite": lambda: Overwrite(OverwriteConfig()),
    "sliding-window": lambda: SlidingWindow(SlidingWindowConfig()),
    "none": lambda: Nothing(NoConfig()),
}


class Crowded(View):
    """A view of a small window with ``count`` steps in it."""

    def __init__(self, box, count=4, *, size=40, prompt=400, said="a summary", terse=True):
        super().__init__(box, terse=terse, said=said)
        self.prompt_tokens = prompt
        self.all = tuple(Step(turn, f"do {turn}", "x" * size) for turn in range(count))
        self.asked = []

    def steps(self):
        return self.all

    def transcript(self):
        rows = [Message("user", "the task")]
        for step in self.all:
            rows += [Message("assistant", step.response), Message("tool", step.reply)]
        return tuple(rows)

    def room(self, plan):
        kept = {kept.turn for kept in plan.keep}
        used = sum(len(step.response) + len(step.reply) for step in self.all if step.turn in kept)
        return self.prompt_tokens - 100 - used - len(plan.note)

    def generate(self, messages, *, limit, trained, slots=0):
        self.asked.append((list(messages), limit, trained, slots))
        return self._said


@pytest.fixture
def box():
    found = FolderBox()
    yield found
    found.close()


@pytest.mark.parametrize("name", ALL)
def test_every_memory_keeps_its_promises(name):
    check_memory(ALL[name]())
    assert name in load_registry(quiet=True).names("memory")


@pytest.mark.parametrize(
    ("name", "habit", "slots", "trained"),
    [
        ("compaction", SummaryHabit(), 1, True),
        ("auto-summary", AnswerHabit(), 0, False),
        ("overwrite", AnswerHabit(), 1, True),
    ],
)
def test_a_shop_task_is_solved_through_a_summary(name, habit, slots, trained):
    episode = solve(ALL[name](), habit)
    assert episode.outcome.complete, [turn.text for turn in episode.turns]
    summaries = [turn for turn in episode.turns if turn.kind is TurnKind.SUMMARY]
    assert len(summaries) == len(episode.replacements) >= 2
    assert {(turn.slots, turn.trained) for turn in summaries} == {(slots, trained)}
    costs = [event.cost for event in episode.events]
    assert len(costs) == (len(summaries) if name == "auto-summary" else 0)
    assert all(cost["model_calls"] == 1 and cost["model_tokens"] > 10 for cost in costs)


@pytest.mark.parametrize("name", ["sliding-window", "none"])
def test_what_keeps_nothing_is_left_to_guess_beyond_the_first_session(name):
    """The first session says what is wanted; of four listings each later one is right by luck once in four."""
    episodes = [solve(ALL[name](), AnswerHabit(), index=index) for index in range(8)]
    assert all(episode.replacements for episode in episodes), "the first session was solved, and crossed"
    assert sum(episode.outcome.complete for episode in episodes) <= 2


def test_compaction_keeps_as_many_steps_as_fit(box):
    view = Crowded(box, prompt=300)
    plan = CompactionMemory(CompactionConfig(k=2)).open(view).at_boundary(PRESSURE)
    assert [kept.turn for kept in plan.keep] == [2, 3]
    assert "a summary" in plan.note
    narrow = Crowded(box, prompt=190)
    assert [k.turn for k in CompactionMemory(CompactionConfig(k=2)).open(narrow).at_boundary(PRESSURE).keep] == [3]
    full = Crowded(box, prompt=120)
    assert list(CompactionMemory(CompactionConfig(k=2)).open(full).at_boundary(PRESSURE).keep) == []
    assert list(CompactionMemory(CompactionConfig(k=2)).open(view).at_boundary(DECLARED).keep) == []
    assert not CompactionMemory(CompactionConfig(keep_task=False)).open(view).at_boundary(PRESSURE).task


def test_compactions_are_counted_under_pressure_only(box):
    session = CompactionMemory(CompactionConfig(compactions=1)).open(Crowded(box))
    session.at_boundary(DECLARED)
    assert not isinstance(session.at_boundary(PRESSURE), Continue)
    assert isinstance(session.at_boundary(PRESSURE), Continue)
    assert not isinstance(session.at_boundary(DECLARED), Continue)


def test_compaction_may_come_early(box):
    view = Crowded(box, prompt=400)
    assert CompactionMemory(CompactionConfig()).open(view).before_turn() is None
    assert CompactionMemory(CompactionConfig(trigger_tokens=350)).open(view).before_turn() is not None
    assert CompactionMemory(CompactionConfig(trigger_tokens=10)).open(view).before_turn() is None


def test_a_prompt_for_a_summary_halves_the_longest_observation_until_it_fits(box):
    view = Crowded(box, count=3, size=900, prompt=400)
    CompactionMemory(CompactionConfig()).open(view).at_boundary(PRESSURE)
    (messages, _, _, _), *_ = view.asked
    assert view.count(messages) <= 400
    assert [m.role for m in messages] == ["user", *["assistant", "tool"] * 3, "user"], "no step is lost"
    assert view.all[0].reply == "x" * 900, "the context itself stays"


def test_an_automatic_summary_is_cut_at_its_bytes(box):
    view = Crowded(box, said="é" * 100)
    plan = AutoSummary(AutoSummaryConfig(bytes=11)).open(view).at_boundary(PRESSURE)
    assert plan.note == "notes: " + "é" * 5


def test_an_overwrite_sees_task_memory_and_section_and_replaces_the_memory(box):
    view = Crowded(box, terse=False, size=3000, prompt=2000, said="first")
    session = Overwrite(OverwriteConfig()).open(view)
    session.at_boundary(PRESSURE)
    view._said = ""
    plan = session.at_boundary(PRESSURE)
    text = view.asked[1][0][0].content
    assert "the task" in text
    assert "first" in text
    assert "do 0" in text
    assert view.count(view.asked[1][0]) <= 2000
    assert "first" not in plan.note


def test_a_sliding_window_drops_the_oldest_whole_steps(box):
    view = Crowded(box, count=6, size=40, prompt=400)  # room for 300, a step takes 44
    plan = SlidingWindow(SlidingWindowConfig(free=0.5)).open(view).at_boundary(PRESSURE)
    assert [kept.turn for kept in plan.keep] == [3, 4, 5]
    assert all(kept.response and kept.reply is None for kept in plan.keep)
    assert list(SlidingWindow(SlidingWindowConfig()).open(view).at_boundary(DECLARED).keep) == []
    huge = Crowded(box, count=1, size=5000, prompt=400)
    assert list(SlidingWindow(SlidingWindowConfig()).open(huge).at_boundary(PRESSURE).keep) == []


@pytest.mark.parametrize("said", ["", "\x00", "\udcff" * 5, "<|im_end|><tool_call>", "n" * 100_000])
@pytest.mark.parametrize("name", ALL)
def test_whatever_the_policy_says_is_no_more_than_a_note(box, name, said):
    view = Crowded(box, said=said)
    session = ALL[name]().open(view)
    for boundary in (PRESSURE, DECLARED, PRESSURE):
        plan = session.at_boundary(boundary)
        assert isinstance(getattr(plan, "note", ""), str)


@pytest.mark.parametrize("name", ["compaction", "auto-summary", "overwrite"])
@pytest.mark.parametrize(
    "said", ["<think>my plan</think>\nthe facts", "my plan</think> the facts", "the facts<think>my plan"]
)
def test_thoughts_do_not_cross(box, name, said):
    note = ALL[name]().open(Crowded(box, said=said)).at_boundary(PRESSURE).note
    assert "the facts" in note
    assert "plan" not in note


def test_credit_and_estimator_go_together():
    def reasons(credit, estimator):
        key = "memory:compaction" if estimator == "compaction" else "compaction"
        config = {"memory": "compaction", f"{key}.credit": credit, "estimator": estimator, "policy": "torch"}
        found = load_registry(quiet=True).hook.camg_validate_run(config=config)
        return [reason for several in found for reason in several or () if "compaction" in reason]

    assert not reasons("common", "response-gae")
    assert not reasons("original", "compaction")
    assert reasons("common", "compaction")
    assert reasons("original", "response-gae")
