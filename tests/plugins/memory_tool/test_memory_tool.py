"""The memory tool: a Shop task solved through it, its six commands, paths that lead out, and misuse."""

from __future__ import annotations

import os

import pytest
from through import solve

from camg.episode.actions import BRACKET
from camg.testing import check_memory, play
from camg.testing.memory import View
from camg.testing.parts import FolderBox
from camg.types import Action, Boundary, BoundaryKind
from camg_memory_tool.config import MemoryToolConfig
from camg_memory_tool.habit import ToolHabit
from camg_memory_tool.memory import MemoryTool
from camg_shop.environment import Shop


@pytest.fixture
def box():
    found = FolderBox()
    yield found
    found.close()


@pytest.fixture
def ask(box):
    session = MemoryTool(MemoryToolConfig(file_bytes=200, files=6)).open(View(box, terse=False))

    def call(command, **arguments):
        return session.handle(Action(tool="memory", arguments={"command": command, **arguments})).observation.shown

    return call


def kept(box, name):
    return (box.root / ".agent_memory" / name).read_text()


def test_it_keeps_its_promises():
    check_memory(MemoryTool(MemoryToolConfig()))


def test_a_shop_task_is_solved_through_the_tool():
    episode = solve(MemoryTool(MemoryToolConfig()), ToolHabit())
    assert episode.outcome.complete, [turn.text for turn in episode.turns]
    judged = [turn.checkpoint for turn in episode.turns if turn.checkpoint]
    assert judged
    assert all(verdict.accepted for verdict in judged)
    assert sum(turn.memory_access for turn in episode.turns) >= 2 * len(judged)
    assert all(turn.slots == 1 for turn in episode.turns)


def test_the_six_commands(ask, box):
    assert "Created" in ask("create", path="/memories/a/n.md", file_text="one\ntwo\n")
    assert "Overwrote" in ask("create", path="/memories/a/n.md", file_text="one\ntwo\nthree")
    assert "/memories/a/n.md (13 bytes)" in ask("view", path="/memories")
    assert ask("view", path="/memories/a/n.md", view_range=[2, -1]) == "     2\ttwo\n     3\tthree"
    assert "Edited" in ask("str_replace", path="/memories/a/n.md", old_str="two", new_str="2")
    assert "Edited" in ask("insert", path="/memories/a/n.md", insert_line=0, insert_text="top")
    assert "Edited" in ask("insert", path="/memories/a/n.md", insert_line=4, insert_text="end")
    assert kept(box, "a/n.md") == "top\none\n2\nthree\nend"
    assert "Renamed" in ask("rename", old_path="/memories/a", new_path="/memories/b")
    assert kept(box, "b/n.md").startswith("top")
    assert not (box.root / ".agent_memory/a").exists()
    assert "Deleted" in ask("delete", path="/memories/b")
    assert "n.md" not in ask("view", path="/memories/")


@pytest.mark.parametrize(
    "path",
    ["", "/", "/etc/passwd", "/memories/../x", "/memories/./x", "/memories//x", "/memoriesx", "x", "/memories/\0",
     "/memories/\ud800", "/memories/" + "x" * 201, "/memories/" + "x/" * 300],
)  # fmt: skip
def test_paths_that_lead_out_or_are_none(ask, box, path):
    for command, rest in (("create", {"file_text": "x"}), ("delete", {})):
        assert ask(command, path=path, **rest).startswith("Error: ")
    assert ask("rename", old_path=path, new_path="/memories/y").startswith("Error: ")
    assert box.manifest() == {}


def test_links_are_never_followed(ask, box, tmp_path):
    (tmp_path / "secret").write_text("secret")
    ask("create", path="/memories/n", file_text="mine")
    os.symlink(tmp_path, box.root / ".agent_memory/out")
    os.symlink(tmp_path / "secret", box.root / ".agent_memory/file")
    for path in ("/memories/out/secret", "/memories/file"):
        assert ask("view", path=path).startswith("Error: ")
        assert ask("create", path=path, file_text="x").startswith("Error: ")
        assert ask("str_replace", path=path, old_str="secret", new_str="x").startswith("Error: ")
        assert ask("rename", old_path=path, new_path="/memories/z").startswith("Error: ")
    ask("delete", path="/memories/out")
    assert (tmp_path / "secret").read_text() == "secret"
    assert kept(box, "n") == "mine"


def test_refusals_lose_nothing(ask, box):
    ask("create", path="/memories/n", file_text="aa\naa")
    ask("create", path="/memories/m", file_text="m")
    wrong = [
        ("forget", {"path": "/memories/n"}),
        ("create", {"path": "/memories/n"}),
        ("view", {"path": "/memories/n", "file_text": "x"}),
        ("view", {"path": "/memories/n", "view_range": [3, 1]}),
        ("view", {"path": "/memories/n", "view_range": ["1", True]}),
        ("create", {"path": "/memories/n", "file_text": "x" * 201}),
        ("create", {"path": "/memories/n", "file_text": "\ud800"}),
        ("str_replace", {"path": "/memories/n", "old_str": "aa", "new_str": "b"}),
        ("str_replace", {"path": "/memories/n", "old_str": "", "new_str": "b"}),
        ("insert", {"path": "/memories/n", "insert_line": 9, "insert_text": "b"}),
        ("insert", {"path": "/memories/n", "insert_line": -1, "insert_text": "b"}),
        ("rename", {"old_path": "/memories/n", "new_path": "/memories/m"}),
        ("rename", {"old_path": "/memories/n", "new_path": "/memories/n/deeper"}),
        ("delete", {"path": "/memories"}),
        ("create", {"path": "/memories/n/below", "file_text": "x"}),
    ]
    for command, arguments in wrong:
        assert ask(command, **arguments).startswith("Error: "), (command, arguments)
    assert kept(box, "n") == "aa\naa"
    assert kept(box, "m") == "m"


def test_the_number_of_files_is_bounded(ask, box):
    said = [ask("create", path=f"/memories/{n}", file_text="<|end|></tool_call>") for n in range(8)]
    assert [text.startswith("Error: ") for text in said] == [False] * 6 + [True] * 2
    assert kept(box, "0") == "<|end|></tool_call>"


def test_any_action_after_the_reminder_ends_the_context(box):
    session = MemoryTool(MemoryToolConfig()).open(View(box, terse=False))
    session.at_boundary(Boundary(BoundaryKind.PRESSURE, "Keep it."))
    click = session.review(Action(tool="click", arguments={"target": "x"}), {}, {})
    assert not click.verdict.accepted
    assert "/memories" in click.then.note
    failed = Action(tool="memory", arguments={"command": "view", "path": "/memories/none"})
    session.handle(failed)
    assert not session.review(failed, {}, {}).verdict.accepted
    assert session.accesses(Action(tool=None, fault="bad_arguments", raw='memory[{"command": 1}]'), {}, {})
    assert not session.accesses(Action(tool=None, fault="no_action", raw="my memory is good"), {}, {})


def test_an_episode_of_misuse_ends_normally():
    said = iter(
        [BRACKET.render("memory", {"command": "create", "path": "/x", "file_text": "\ud800"}), "memory[", "memory[]"]
    )

    def script_of(task, seed):
        return lambda context: next(said, 'memory[{"command": 3}]')

    shop = Shop()
    episode = play(shop, MemoryTool(MemoryToolConfig()), script_of, shop.task_ids("pocket")[0])
    assert episode.end_reason is not None
    assert not episode.outcome.complete
