"""Every memory with Coding: a repair that outlives its context where the memory keeps anything then, else in one.

Mem0 and Letta need a real box or package and are tested in their own folders.
"""

from __future__ import annotations

import re

import pytest

from camg.episode.actions import BRACKET
from camg.plugins import load_registry
from camg.protocols import Memory
from camg.specs import resolve
from camg.testing import play
from camg.types import Episode
from camg_coding.demonstrator import PERFECT, pocket_script
from camg_prolong.habit import LogHabit
from camg_prolong.log import PATH

PRESSED = ("shell", "apply-patch", "auto-summary", "compaction", "memory-tool", "overwrite", "prolong")
UNPRESSED = ("agemem", "none", "sliding-window")  # they replace nothing under pressure, or keep nothing then
OPTIONS = {"agemem": {"dialect": "policy"}}
ELSEWHERE = {"letta", "mem0"}
NARROW = {"prompt_tokens": 1_200, "response_tokens": 200}  # in bytes: what `check.py` prints fills it


class Searching(LogHabit):
    """Nothing is noted before the context is full; what was printed is in the log, and looked for there."""

    def recall(self):
        return "shell_command", {"command": f"grep -ho 'FAIL[^\"\\]*' {PATH} | tail -n 1"}


_SED = re.compile(r"sed -i 's/a \. b/a (.) b/' (\w+)\.py")


def test_every_memory_is_here():
    assert {*PRESSED, *UNPRESSED, *ELSEWHERE} == {*load_registry(quiet=True).names("memory")}


def solve(name: str, **rollout: int) -> Episode:
    registry = load_registry(quiet=True)
    spec = registry.spec("memory", name)
    memory: Memory = registry.build("memory", name, spec.config(**OPTIONS.get(name, {})))
    habit = Searching() if name == "prolong" else resolve(spec.habit)() if spec.habit else None
    dialect = getattr(memory, "dialect", None) or BRACKET
    coding = registry.build("environment", "coding")

    def script_of(task, seed):
        inner = pocket_script(task, seed, dialect, PERFECT, habit)
        wrong = task.payload["wrong"]
        return (lambda context: patched(inner(context), wrong)) if name == "apply-patch" else inner

    return play(coding, memory, script_of, coding.task_ids("pocket")[0], **rollout)


def patched(said: str, wrong: str) -> str:
    """The repair as a patch: what the shell changes in a file is undone by that memory."""
    if not (repair := _SED.search(said)):
        return said
    right, module = repair.groups()
    lines = ("*** Begin Patch", f"*** Update File: {module}.py", "@@")
    lines += (f"-    return a {wrong} b", f"+    return a {right} b", "*** End Patch")
    return BRACKET.render("apply_patch", {"input": "\n".join(lines)})


@pytest.mark.parametrize("name", PRESSED)
def test_a_repair_outlives_the_context_that_found_it(name):
    episode = solve(name, **NARROW)
    assert episode.outcome.complete, [(turn.text, turn.observation.shown) for turn in episode.turns]
    assert episode.replacements
    assert sum("check.py" in turn.text for turn in episode.turns) == 1, "the finding was kept, not found again"


@pytest.mark.parametrize("name", UNPRESSED)
def test_a_repair_in_one_context(name):
    episode = solve(name)
    assert episode.outcome.complete, [(turn.text, turn.observation.shown) for turn in episode.turns]
    assert not episode.replacements
