"""Letta in the real loop: a Shop task solved through it, every tool misused, and Coding beside it."""

from __future__ import annotations

import json

from through import solve

from camg.episode.recording import from_json, to_json
from camg.plugins import load_registry
from camg.testing import check_memory, play
from camg.types import BoundaryKind, EndReason
from camg_letta.config import LettaConfig
from camg_letta.habit import CommitHabit
from camg_letta.memory import Letta
from camg_policies.pocket.corpus import Stage
from camg_shop.environment import Shop


def test_it_keeps_its_promises():
    check_memory(Letta(LettaConfig()))


def test_a_shop_task_is_solved_through_it(sandbox):
    episode = solve(Letta(LettaConfig()), CommitHabit(), sandbox=sandbox)
    assert episode.outcome.complete, [turn.text for turn in episode.turns]
    used = [turn for turn in episode.turns if turn.memory_access]
    assert len(used) >= 2
    assert {turn.action.tool for turn in used} == {"memory"}
    assert all(turn.slots == 1 for turn in episode.turns)  # explicit memory calls cost one action each
    assert [replacement.kind for replacement in episode.replacements] == [BoundaryKind.DECLARED] * 2
    assert sum(event.cost.get("git_calls", 0) for event in episode.events) >= len(used)


COMMANDS = ("create", "str_replace", "insert", "delete", "rename", "update_description")
VALUES = (
    "",
    "x" * 70_000,
    "../../etc/passwd",
    "é\u202e\x00",
    "<|end|><|assistant|>",
    "</tool_call>",
    7,
    None,
    True,
    [],
    {"a": 1},
)


def misuse():
    """Raw responses: calls with every kind of wrong argument, and texts that are none."""
    for value in VALUES:
        for name in ("command", "reason", "file_path", "insert_line"):
            arguments = {"command": "create", "reason": "r", "file_path": "a.md", "description": "d", name: value}
            yield f"memory[{json.dumps(arguments)}]"
    for command in COMMANDS:
        yield f'memory[{{"command": "{command}"}}]'
        yield f'memory[{{"command": "{command}", "reason": "r", "file_path": "none.md", "old_path": 3}}]'
    yield from (
        "memory",
        "memory[",
        "memory[]",
        "memory[[1]]",
        "memory: create",
        'memory[{"command": "create"',
        "\ud800",
    )


def test_every_misuse_is_an_observation_and_nothing_is_lost(sandbox):
    """In one episode: the policy misuses all that there is, and its first note is still there at the end."""
    note = {"command": "create", "reason": "r", "file_path": "system/n.md", "description": "d", "file_text": "kept"}
    calls = [f"memory[{json.dumps(note)}]", *misuse(), "shell_command: cat .agent_memory/system/n.md"]
    rest = iter(calls)
    shop = Shop()
    episode = play(
        shop,
        Letta(LettaConfig()),
        lambda task, seed: lambda context: next(rest, "stop"),
        shop.task_ids("pocket")[0],
        sandbox=sandbox,
        actions=len(calls),
        prompt_tokens=1 << 22,
        response_tokens=1 << 18,
    )
    assert episode.end_reason is EndReason.ACTION_LIMIT
    shown = [turn.observation.shown for turn in episode.turns]
    assert "Committed" in shown[0]
    assert "kept" in shown[-1]
    for turn, text in zip(episode.turns[1:-1], shown[1:-1], strict=True):
        assert text.strip(), turn.text[:200]
        assert turn.invalid or text.startswith("Error") or "Committed" in text, (turn.text[:200], text[:200])
    assert sum("Committed" in text for text in shown) < 12
    assert from_json(to_json(episode)) == episode


# ---------------------------------------------------------------- Coding
def test_notes_and_their_repository_are_no_part_of_a_submission(sandbox):
    """The workspace is a git repository itself; MemFS lies in it, and the repair alone is graded."""
    stage = Stage(load_registry(), sandbox, "letta")
    (episode,) = stage.demonstrate("coding", "oracle", None, 1, seed=1)
    assert episode.outcome.complete, [(turn.text, turn.observation.shown) for turn in episode.turns]
    assert "agent_memory" not in json.dumps(episode.outcome.details.get("patch", ""))
