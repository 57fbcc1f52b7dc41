"""PRO-LONG: a Shop task solved by searching the log, the log restored whatever is done to it, and its limit."""

from __future__ import annotations

import json

import pytest
from through import solve

from camg.episode.actions import BRACKET
from camg.testing import check_memory, play
from camg.testing.memory import View
from camg.testing.parts import FolderBox
from camg.types import Action, Boundary, BoundaryKind, Observation, StepResult
from camg_prolong.config import ProlongConfig
from camg_prolong.habit import LogHabit
from camg_prolong.log import PATH
from camg_prolong.memory import Prolong
from camg_shop.environment import Shop

DECLARED, PRESSURE = (Boundary(kind, "keep it") for kind in (BoundaryKind.DECLARED, BoundaryKind.PRESSURE))


@pytest.fixture
def box():
    found = FolderBox()
    yield found
    found.close()


def entries(box):
    return [json.loads(line) for line in box.read(PATH, 1 << 21).decode().splitlines()]


def shell(command):
    return Action(tool="shell_command", arguments={"command": command}, raw=f"shell_command: {command}")


def act(session, action, shown="ok", full=None):
    return session.after_action(action, StepResult(Observation(shown=shown, full=full)))


def test_it_keeps_its_promises():
    check_memory(Prolong(ProlongConfig()))


def test_a_shop_task_is_solved_by_searching():
    episode = solve(Prolong(ProlongConfig()), LogHabit())
    assert episode.outcome.complete, [turn.text for turn in episode.turns]
    searched = [turn for turn in episode.turns if turn.memory_access]
    assert len(searched) >= 2
    assert all("grep" in turn.text for turn in searched), "saying a note, or being logged, is no access"
    assert not episode.events


def test_entries_have_the_keys_and_types_and_are_whole(box):
    session = Prolong(ProlongConfig()).open(View(box, terse=False))
    session.before_turn()
    act(session, shell("ls"), shown="cut", full="the whole ✗")
    act(session, Action(tool=None, fault="no_action", raw="hm \ud800"), shown="invalid")
    session.at_boundary(PRESSURE)
    session.before_turn()
    plan = session.at_boundary(DECLARED)
    session.before_turn()
    rows = entries(box)
    assert {tuple(row) for row in rows} == {("timestamp", "client", "sessionId", "type", "content")}
    kinds = ["session_start", "user_prompt", "tool_call", "tool_result", "assistant_message", "tool_result"]
    assert [row["type"] for row in rows] == [*kinds, "session_end", "session_start", "user_prompt"]
    assert [row["sessionId"] for row in rows] == [0] * 7 + [1] * 2
    assert [row["timestamp"] for row in rows] == [0, 0, 0, 0, 1, 1, 2, 2, 2]
    assert rows[3]["content"] == "the whole ✗"
    assert rows[4]["content"] == "hm \ud800"
    assert "the whole ✗".encode() in box.read(PATH, 1 << 20)
    assert PATH in plan.note
    assert not plan.keep


@pytest.mark.parametrize(
    "command",
    [
        "rm -r .agent_memory",
        "echo x > .agent_memory/log.jsonl",
        "rm -r .agent_memory; ln -s /tmp .agent_memory",
        "rm -r .agent_memory; echo > .agent_memory",
        "cd .agent_memory && rm log.jsonl && mkdir log.jsonl && touch log.jsonl/x",
        "cd .agent_memory && rm log.jsonl && ln -s /etc/hostname log.jsonl",
    ],
)
def test_the_log_is_restored(box, command):
    view = View(box, terse=False)
    session = Prolong(ProlongConfig()).open(view)
    session.before_turn()
    box.run(command)
    act(session, shell(command))
    assert [row["type"] for row in entries(box)] == ["session_start", "user_prompt", "tool_call", "tool_result"]
    assert not view.events
    assert not (box.root / ".agent_memory").is_symlink()


def test_other_files_are_the_policys(box):
    session = Prolong(ProlongConfig()).open(View(box, terse=False))
    session.before_turn()
    before = box.manifest()
    box.run("echo mine > .agent_memory/mine")
    act(session, shell("python make.py"))
    assert (box.root / ".agent_memory/mine").read_text() == "mine\n"
    assert session.accesses(shell("python make.py"), before, box.manifest())
    before = box.manifest()
    act(session, shell("make"))
    assert not session.accesses(shell("make"), before, box.manifest()), "only the harness wrote"


def test_the_log_is_bounded_and_has_no_gap(box):
    view = View(box, terse=False)
    session = Prolong(ProlongConfig(log_bytes=4096)).open(view)
    session.before_turn()
    for size in (1000, 5000, 10):
        act(session, shell("ls"), shown="x" * size)
    assert len(box.read(PATH, 1 << 20)) <= 4096
    assert [len(row["content"]) for row in entries(box) if row["type"] == "tool_result"] == [1000]
    assert [event.kind for event in view.events] == ["prolong-full"]
    assert "full" in session.at_boundary(PRESSURE).note


def test_an_episode_that_destroys_the_log_ends_normally():
    said = ["shell_command: rm -rf .agent_memory; ln -s / .agent_memory", "", "shell_command: \ud800", "<|end|>"]

    def script_of(task, seed):
        rest = iter(said)
        return lambda context: next(rest, BRACKET.render("click", {"target": "nowhere"}))

    shop = Shop()
    episode = play(shop, Prolong(ProlongConfig()), script_of, shop.task_ids("pocket")[0])
    assert episode.end_reason is not None
    assert not [event for event in episode.events if event.kind == "prolong-unwritable"]
