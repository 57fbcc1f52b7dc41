"""A whole Shop episode over declared boundaries, with every note written as a patch."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from camg.episode.actions import BRACKET
from camg.protocols import Script
from camg.testing import play
from camg.types import Task
from camg_apply_patch.config import ApplyPatchConfig
from camg_apply_patch.contents import render
from camg_apply_patch.memory import ApplyPatchMemory
from camg_shop.environment import Shop
from camg_shop.oracle import oracle

_NOTE = re.compile(r"mkdir -p \S+ *; *echo (.*) > (\S+)")


def author(task: Task, seed: int) -> Script:
    """The oracle, with its notes as patches."""
    shopper = oracle(task, seed, BRACKET)

    def script(context: str) -> str:
        said = shopper(context)
        note = _NOTE.search(said)
        if note is None:
            return said
        return BRACKET.render("apply_patch", {"input": render(None, note.group(1) + "\n", note.group(2))})

    return script


def test_a_task_is_solved_through_patched_notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    shop = Shop()
    episode = play(shop, ApplyPatchMemory(ApplyPatchConfig()), author, shop.task_ids("pocket")[0])
    assert episode.outcome.complete
    assert len(episode.replacements) >= 1
    patched = [turn for turn in episode.turns if turn.action.tool == "apply_patch"]
    assert patched
    assert all(turn.memory_access and turn.checkpoint and turn.checkpoint.accepted for turn in patched)
    assert not any(event.kind == "enforced" for event in episode.events)
