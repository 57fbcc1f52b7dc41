"""The continuation file alone, an aliased shell, and the habit of scripts, in a real box."""

from __future__ import annotations

import pytest

from camg.episode.actions import BRACKET
from camg.plugins import load_registry
from camg.testing import check_memory, play
from camg.testing.memory import View
from camg.testing.parts import FolderBox
from camg.types import Action, Limits, Observation, StepResult
from camg_shell.config import ShellConfig
from camg_shell.habit import ShellHabit
from camg_shell.memory import ShellMemory
from camg_shop.environment import Shop
from camg_shop.oracle import oracle

RUN = Action("shell_command", {"command": "…"})


@pytest.fixture
def view():
    box = FolderBox()
    yield View(box, terse=False)
    box.close()


@pytest.mark.parametrize("only", ["never", "always", "evaluation"])
def test_every_variant_keeps_the_promises_of_a_memory(only):
    check_memory(ShellMemory(ShellConfig(continuation_only=only)))
    check_memory(ShellMemory(ShellConfig(continuation_only=only, alias="tool_kappa")))


@pytest.mark.parametrize(
    ("only", "evaluating", "left"),
    [
        ("never", True, {"CONTINUATION.md", "notes.md", "deep/x", "deep", "link"}),
        ("always", False, {"CONTINUATION.md", "deep"}),
        ("evaluation", False, {"CONTINUATION.md", "notes.md", "deep/x", "deep", "link"}),
        ("evaluation", True, {"CONTINUATION.md", "deep"}),
    ],
)
def test_other_files_than_the_continuation_file_are_removed(view, only, evaluating, left):
    view.evaluating = evaluating
    session = ShellMemory(ShellConfig(continuation_only=only)).open(view)
    view.box.run("mkdir -p .agent_memory/deep && cd .agent_memory && echo a > CONTINUATION.md && echo b > notes.md")
    view.box.run("cd .agent_memory && echo c > deep/x && ln -s /etc/hostname link")
    result = session.after_action(RUN, StepResult(Observation("out")))
    assert set(view.box.manifest()) == left
    if len(left) == 2:
        assert "[removed: deep/x, link, notes.md; .agent_memory/CONTINUATION.md is the only memory file]" in (
            result.observation.shown
        )
        assert [(event.kind, event.cost) for event in view.events] == [("enforced", {"files": 3.0})]
    again = session.after_action(RUN, StepResult(Observation("out")))
    assert again.observation.shown == "out", "said once"


def test_a_memory_folder_that_is_a_link_does_not_hide_files():
    sandbox = load_registry(quiet=True).build("sandbox", "bwrap")
    box = sandbox.open("shell-variants", limits=Limits())
    try:
        session = ShellMemory(ShellConfig(continuation_only="always")).open(View(box, terse=False))
        box.run("mkdir elsewhere; echo x > elsewhere/notes.md; ln -s elsewhere .agent_memory")
        session.after_action(RUN, StepResult(Observation("out")))
        assert box.run("cat elsewhere/notes.md; ls -d .agent_memory 2>/dev/null").output == b"x\n"
    finally:
        box.close()
        sandbox.close()


def test_instructions_name_the_tool_and_the_rule():
    assert "tool_kappa" in ShellMemory(ShellConfig(alias="tool_kappa")).instructions(terse=False)
    assert "shell_command" not in ShellMemory(ShellConfig(alias="tool_kappa")).instructions(terse=False)
    assert "only memory" in ShellMemory(ShellConfig(continuation_only="always")).instructions(terse=False)
    assert "only memory" not in ShellMemory(ShellConfig(continuation_only="evaluation")).instructions(terse=False)
    with pytest.raises(ValueError, match="name of a tool"):
        ShellConfig(alias="rm -rf")


def test_the_embedded_policy_knows_no_alias():
    registry = load_registry(quiet=True)
    config = {"memory": "shell", "shell.alias": "tool_kappa", "policy": "pocket"}
    reasons = [reason for found in registry.hook.camg_validate_run(config=config) for reason in found or ()]
    assert any("shell.alias" in reason for reason in reasons)


@pytest.mark.parametrize("only", ["always", "evaluation"])
def test_a_shop_task_is_solved_through_the_one_file(tmp_path, monkeypatch, only):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    shop = Shop()
    memory = ShellMemory(ShellConfig(continuation_only=only))
    episode = play(shop, memory, lambda task, seed: oracle(task, seed, BRACKET), shop.task_ids("pocket")[0])
    assert episode.outcome.complete
    assert not episode.events


def test_the_habit_round_trips_through_a_shell(view):
    habit, note = ShellHabit(), 'it\'s $HOME `x` "quoted"\n two lines'
    _, arguments = habit.keep(note)
    view.box.run(arguments["command"])
    assert view.box.run(habit.recall()[1]["command"]).output.decode() == note + "\n"
