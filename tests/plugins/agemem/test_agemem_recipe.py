"""AgeMem's composite reward by hand, and its three stages: what the memory does in each."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from through import solve

from camg.config import resolve_config, stage_plan
from camg.config.validate import reasons_against
from camg.errors import ConfigError
from camg.plugins import load_registry
from camg.testing.memory import View
from camg.testing.parts import FolderBox
from camg.types import Action, Boundary, BoundaryKind, EndReason, Observation, StepResult
from camg_agemem.config import AgeMemConfig, CompositeConfig, StagesConfig
from camg_agemem.distractors import SENTENCES, distraction
from camg_agemem.habit import StoreHabit
from camg_agemem.memory import AgeMem
from camg_agemem.recipe import Stages
from camg_agemem.reward import Composite, context_term, memory_term, task_term

PRESSURE, DECLARED = Boundary(BoundaryKind.PRESSURE, "keep it"), Boundary(BoundaryKind.DECLARED, "keep it")


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        return solve(AgeMem(AgeMemConfig(dialect="policy")), StoreHabit())


@pytest.fixture
def box():
    found = FolderBox()
    yield found
    found.close()


# ---------------------------------------------------------------- reward
def called(turn, tool, shown):
    return attrs.evolve(turn, action=Action(tool), observation=Observation(shown=shown))


def test_by_hand(solved):
    first = solved.turns[0]
    turns = (
        called(first, "Add_memory", "Kept as m1."),
        called(first, "Add_memory", "Kept as m2."),
        called(first, "Add_memory", "Error: content is empty."),
        called(first, "Retrieve_memory", "m1 (0.60): red\nm7 (0.20): m2 (0.90): no row of its own"),
        called(first, "Retrieve_memory", "Nothing fits among 2 entries."),
        called(first, "Delete_memory", "Deleted m2."),
        called(first, "click", "m2 (0.99): an observation of the environment"),
    )
    # of two entries one was retrieved; one was deleted; mean of 0.6 and 0.2
    assert memory_term(turns) == pytest.approx((1 / 2 + 1 + 0.4) / 3)
    assert memory_term(turns[:1]) == 0
    episode = attrs.evolve(
        solved,
        turns=turns,
        segments=(attrs.evolve(solved.segments[0], token_ids=tuple(range(25))),),
        replacements=(),
        meta={"prompt_tokens": 100},
        outcome=attrs.evolve(solved.outcome, success=0.5, complete=False),
        end_reason=EndReason.TERMINATED,
    )
    assert task_term(episode) == 0.5
    assert context_term(episode) == pytest.approx((0.75 + 0 + 1) / 3)
    total = 0.5 + 1.75 / 3 + 1.9 / 3
    assert Composite(CompositeConfig()).rewards(episode) == (*[0.0] * 6, pytest.approx(total))
    assert Composite(CompositeConfig(weight=1 / 3)).rewards(episode)[-1] == pytest.approx(total / 3)

    rewritten = attrs.evolve(solved.replacements[0], kind=BoundaryKind.MEMORY)
    reduced = attrs.evolve(episode, replacements=(rewritten,))
    assert context_term(reduced) == pytest.approx((0.75 + 1 + 1) / 3)
    full = attrs.evolve(reduced, end_reason=EndReason.CONTEXT_EXHAUSTED)
    assert context_term(full) == pytest.approx((0.75 + 0 + 1) / 3)
    assert Composite(CompositeConfig()).rewards(full)[-1] == pytest.approx(total - 0.5)
    failed = attrs.evolve(episode.outcome, success=0.0)
    late = attrs.evolve(episode, end_reason=EndReason.ACTION_LIMIT, outcome=failed)
    assert task_term(late) == -1
    assert Composite(CompositeConfig()).rewards(late)[-1] == pytest.approx(total - 0.5 - 1 - 1)
    assert Composite(CompositeConfig()).rewards(attrs.evolve(episode, turns=())) == ()


TOOLS = st.sampled_from(["Add_memory", "Retrieve_memory", "Update_memory", None])


@settings(deadline=None)
@given(st.lists(st.tuples(TOOLS, st.text()), min_size=1))
def test_bounds_hold_for_any_text(solved, calls):
    turns = tuple(called(solved.turns[0], tool, shown) for tool, shown in calls)
    assert 0 <= memory_term(turns) <= 1
    rewards = Composite(CompositeConfig()).rewards(attrs.evolve(solved, turns=turns))
    assert len(rewards) == len(turns)
    assert not any(rewards[:-1])
    assert -2.5 <= rewards[-1] <= 3


def test_a_solved_task_gets_more_than_an_unsolved_one(solved):
    reward = Composite(CompositeConfig())
    lost = attrs.evolve(solved, outcome=attrs.evolve(solved.outcome, success=0.0))
    assert reward.rewards(solved)[-1] - reward.rewards(lost)[-1] == pytest.approx(1.0)
    assert memory_term(solved.turns) > 0.2  # most of its entries were retrieved


# ---------------------------------------------------------------- stages
def add(session, content):
    return session.handle(Action("Add_memory", {"content": content})).observation.shown


def test_the_first_stage_retrieves_unasked(box):
    view = View(box, terse=False)
    session = AgeMem(AgeMemConfig(inject=True, top_k=1)).open(view)
    seen = StepResult(Observation(shown="the lamp is red"))
    click = Action("click", {"target": "x"})
    assert session.after_action(click, seen) == seen  # the store is empty
    add(session, "the lamp was bought in red")
    add(session, "boats leave at noon")
    shown = session.after_action(click, seen).observation.shown
    assert shown.startswith("the lamp is red\n[memory]\nm1 (")
    assert shown.endswith("the lamp was bought in red")
    assert session.after_action(Action("Add_memory", {"content": "x"}), seen) == seen
    assert "[memory]" in session.at_boundary(DECLARED).note
    assert sum(event.cost["embedding_calls"] for event in view.events) == 4


def test_the_second_stage_clears_and_distracts(box):
    session = AgeMem(AgeMemConfig(reset=True, distractors=3)).open(View(box, terse=False))
    add(session, "kept")
    for boundary in (PRESSURE, DECLARED):
        lines = session.at_boundary(boundary).note.splitlines()
        assert len(lines) == 3
        assert set(lines) <= set(SENTENCES)
    assert "kept" in session.handle(Action("Retrieve_memory", {"query": "kept"})).observation.shown
    assert distraction("a", 5) == distraction("a", 5) != distraction("b", 5)
    assert distraction("a", 0) == ""


def test_stages_are_thirds_of_a_run_and_evaluations_are_of_the_last():
    registry = load_registry(quiet=True)
    options = {"env": ["shop"], "baseline": "agemem-original", "run.updates": 9, "run.episodes": 8}
    options |= {"policy": "torch", "torch.model": "some/model"}
    config = resolve_config(registry, command_line=options, environ={})
    assert reasons_against(config, registry) == []
    plan = stage_plan(config, registry)
    assert plan.names == ("exposure", "distraction", "query")
    assert plan.ends == (3, 6, 9)
    first, second, last = plan.memories
    assert (first.inject, first.reset, first.distractors) == (True, False, 0)
    assert (second.inject, second.reset, second.distractors) == (False, True, 3)
    assert (last.inject, last.reset, last.distractors) == (False, False, 0)
    assert Stages(StagesConfig(distractors=7)).stages()[1].settings["agemem.distractors"] == 7
    assert (config.group_size(registry), config.learner.kl, config.learner.clip) == (8, 0.1, 0.0)


def test_other_memories_have_no_such_stages():
    registry = load_registry(quiet=True)
    options = {"env": ["shop"], "memory": "shell", "recipe": "agemem-stages"}
    config = resolve_config(registry, command_line=options, environ={})
    with pytest.raises(ConfigError, match="Choose --memory agemem"):
        reasons_against(config, registry)
