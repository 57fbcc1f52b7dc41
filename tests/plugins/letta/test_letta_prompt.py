"""The prompt, compiled from what is committed, and the window that slides."""

from __future__ import annotations

import pytest

from camg.episode.actions import BRACKET
from camg.episode.chat import ByteCodec
from camg.protocols import Continue, Replace, Step
from camg.testing.memory import View
from camg.types import Boundary, BoundaryKind, Message
from camg_letta.compaction import Window, first_words
from camg_letta.config import LettaConfig
from camg_letta.prompt import compile_prompt
from camg_letta.repository import Entry

PRESSURE = Boundary(BoundaryKind.PRESSURE, "keep it")


def test_the_prompt_is_of_head_and_an_edit_shows_at_the_next(desk):
    first = desk.prompt()
    assert "<self>" in first
    desk.ask("create", file_path="system/goal.md", description="the goal", file_text="buy red")
    desk.ask("create", file_path="notes/long.md", description="details", file_text="unseen")
    second = desk.prompt()
    assert '<file path="system/goal.md" description="the goal">\nbuy red\n</file>' in second
    assert "notes/long.md" in second
    assert "unseen" not in second
    desk.shell("echo more >> .agent_memory/system/goal.md; echo x > .agent_memory/new")
    assert desk.prompt() == second  # not committed
    desk.shell("cd .agent_memory; git add -A; git commit -q -m more")
    assert "buy redmore" in desk.prompt()


def test_what_got_past_the_hook_is_named_and_not_shown(desk):
    desk.shell("cd .agent_memory; echo plain > system/bad.md; git add -A; git commit -q --no-verify -m bad")
    assert "system/bad.md (not shown: missing front matter" in desk.prompt()


def entries(**files):
    return {path: Entry("file", "0", len(text)) for path, text in files.items()}, files


@pytest.mark.parametrize("tokens", [40, 100, 400, 4000])
def test_files_keep_to_their_share(tokens):
    codec = ByteCodec(BRACKET)
    files = {f"system/{n}.md": f"---\ndescription: d\n---\n{'word ' * 60}" for n in range(9)}
    files |= {f"other/{n}.md": "x" for n in range(300)}
    shown = compile_prompt(*entries(**files), codec, tokens)
    assert len(codec.encode(shown)) <= tokens * 1.1 + 20
    assert shown.count("<file ") == {40: 0, 100: 1, 400: 1, 4000: 9}[tokens]
    assert ("and 100 more" in shown) == (tokens == 4000)


def test_links_and_submodules_are_named():
    shown = compile_prompt({"system/a.md": Entry("a link", "0", 3)}, {}, ByteCodec(BRACKET), 400)
    assert "system/a.md (a link)" in shown


# ---------------------------------------------------------------- the window
class Long(View):
    """A view of ``count`` steps of ``size`` bytes in a window of 1,000."""

    def __init__(self, box, count, size, said="all is well"):
        super().__init__(box, terse=False, said=said)
        self.prompt_tokens = 1000
        self.all = [Step(n, f"do {n}", "x" * size) for n in range(count)]
        self.asked: list[tuple[list[Message], bool]] = []

    def steps(self):
        return tuple(self.all)

    def transcript(self):
        rows = [Message("user", "the task")]
        for step in self.all:
            rows += [Message("assistant", step.response), Message("tool", step.reply)]
        return tuple(rows)

    def room(self, plan: Replace):
        return 400

    def generate(self, messages, *, limit, trained, slots=0):
        self.asked.append((list(messages), trained))
        return self._said


def window(view, **options):
    return Window(view, LettaConfig(**{"reserve_tokens": 200, **options}))


def test_the_threshold_is_the_originals():
    view = View(None, terse=False)
    assert Window(view, LettaConfig()).threshold == 24_576  # of 30,720: 20 % are less than 16,384
    view.prompt_tokens = 200_000
    assert Window(view, LettaConfig()).threshold == 200_000 - 16_384


@pytest.mark.parametrize(("size", "evicted"), [(40, 4), (70, 4), (110, 5), (400, 9), (900, 10)])
def test_eviction_begins_at_two_fifths_and_goes_on_until_enough_is_free(size, evicted):
    view = Long(None, 10, size)
    gone, kept = window(view).split()
    assert len(gone) == evicted
    assert [*gone, *kept] == view.all
    rows = [Message("user", "the task")]
    for step in kept:
        rows += [Message("assistant", step.response), Message("tool", step.reply)]
    assert not kept or view.count(rows) < 700
    if evicted > 4:  # one tenth less would have been too little
        step = view.all[evicted - 1]
        rows += [Message("assistant", step.response), Message("tool", step.reply)]
        assert view.count(rows) >= 700


def test_a_full_context_gives_way_to_files_summary_and_the_last_steps(desk_of, sandbox):
    desk = desk_of(reserve_tokens=200)
    view = Long(desk.box, 10, 80, said="<think>hm</think>went well " + "on " * 400)
    desk.session.view = view
    desk.session._window = window(view)
    plan = desk.session.before_turn()
    assert isinstance(plan, Replace)
    assert plan.note.startswith("Earlier messages were removed. Your summary of them:\nwent well on")
    assert len(plan.note.split()) <= 300 + 8
    assert [kept.turn for kept in plan.keep] == list(range(10 - len(plan.keep), 10))
    assert 0 < len(plan.keep) < 10
    assert "<self>" in plan.instructions
    ((prompt, trained),) = view.asked
    assert not trained
    assert "do 0" in prompt[1].content
    assert not any(f"do {kept.turn}" in message.content for kept in plan.keep for message in prompt)
    (summary,) = [event for event in view.events if event.kind == "letta-summary"]
    assert summary.cost["model_calls"] == 1
    assert summary.cost["model_tokens"] > view.count(prompt)


def test_nothing_is_compacted_that_is_not_full(desk):
    assert desk.session.before_turn() is None
    assert isinstance(desk.session.at_boundary(PRESSURE), Continue)


@pytest.mark.parametrize("asked", [False, True])
def test_the_environments_boundary_clears(desk_of, asked):
    desk = desk_of(session_summary=asked)
    plan = desk.session.at_boundary(Boundary(BoundaryKind.DECLARED, "save 1\nto .agent_memory/CONTINUATION.md"))
    assert not plan.keep
    assert ("a summary" in plan.note) == asked


def test_words_are_counted_not_characters():
    assert first_words("a  b\nc d", 3) == "a  b\nc"
    assert first_words("a b", 3) == "a b"
    assert first_words("", 3) == ""
