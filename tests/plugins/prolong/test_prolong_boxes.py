"""The log and the memory tool's files in a real box: links, pipes, folders and permissions in their place."""

from __future__ import annotations

from typing import Any

import pytest

from camg.testing.memory import View
from camg.types import Action, Limits, Observation, StepResult
from camg_memory_tool.config import MemoryToolConfig
from camg_memory_tool.memory import MemoryTool
from camg_prolong.config import ProlongConfig
from camg_prolong.log import PATH
from camg_prolong.memory import Prolong
from camg_sandboxes.bwrap import BwrapConfig, BwrapSandbox, probe

DAMAGE = (
    "rm -r .agent_memory",
    "rm -r .agent_memory; ln -s /tmp .agent_memory",
    "rm -r .agent_memory; echo > .agent_memory",
    "cd .agent_memory && rm log.jsonl && mkdir log.jsonl && touch log.jsonl/x",
    "cd .agent_memory && rm log.jsonl && ln -s /etc/hostname log.jsonl",
    "cd .agent_memory && rm log.jsonl && mkfifo log.jsonl",
    "chmod 0 .agent_memory/log.jsonl; chmod 500 .agent_memory",
)


@pytest.fixture
def view():
    if reason := probe():
        pytest.skip(f"bwrap cannot run here: {reason}")
    sandbox: Any = BwrapSandbox(BwrapConfig())
    box = sandbox.open("logged", limits=Limits())
    found: Any = View(box, terse=False)
    yield found
    box.close()
    sandbox.close()


def test_the_log_survives_in_a_real_box(view):
    session = Prolong(ProlongConfig()).open(view)
    session.before_turn()
    for count, command in enumerate(DAMAGE, start=1):
        view.box.run(command)
        action = Action("shell_command", {"command": command}, raw=command)
        session.after_action(action, StepResult(Observation(shown="ok")))
        assert len(view.box.read(PATH, 1 << 20).splitlines()) == 2 + 2 * count, command
    assert not view.events


def test_the_tool_never_leaves_the_folder_of_a_real_box(view):
    session = MemoryTool(MemoryToolConfig()).open(view)

    def ask(command, **arguments):
        return session.handle(Action("memory", {"command": command, **arguments})).observation.shown

    assert ask("create", path="/memories/a/n", file_text="mine") == "Created /memories/a/n."
    view.box.run("cd .agent_memory; ln -s /etc out; mkfifo pipe; ln -s a/n link")
    for name in ("out", "out/passwd", "pipe", "link", "a/n/below"):
        path = f"/memories/{name}"
        assert ask("create", path=path, file_text="x").startswith("Error: "), name
        assert "Error: " in ask("view", path=path), name
        assert ask("rename", old_path=path, new_path="/memories/z").startswith("Error: "), name
    assert ask("delete", path="/memories/link") == "Deleted /memories/link."
    assert ask("rename", old_path="/memories/a", new_path="/memories/b") == "Renamed /memories/a to /memories/b."
    assert ask("view", path="/memories/b/n").endswith("\tmine")
    view.box.run("rm -rf .agent_memory; ln -s /tmp .agent_memory")
    assert ask("create", path="/memories/n", file_text="x").startswith("Error: ")
    assert view.box.run("ls /tmp").output == b""
