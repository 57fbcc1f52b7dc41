"""A small episode loop over a plain folder: bash runs for real, the checkpoint is judged by the core's own rules."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import frozen

from camg.episode.actions import BRACKET
from camg.protocols import Script
from camg.types import Action, EndReason, FileState, Observation, Outcome, Parameter, StepResult, Task, Tool
from camg.workspace.checkpoint import PATH, judge
from camg_shop.environment import Shop

SHELL = Tool("shell_command", "run bash", (Parameter("command", "bash"),), filesystem=True)


@frozen
class Played:
    """One played episode."""

    outcome: Outcome
    rewards: tuple[float, ...]
    contexts: tuple[str, ...]  # the decoded context before each response
    responses: tuple[str, ...]
    boundaries: int


def _manifest(root: Path) -> dict[str, FileState]:
    found = {}
    for path in sorted((root / ".agent_memory").rglob("*")):
        kind = "file" if path.is_file() else "directory"
        data = path.read_bytes() if kind == "file" else b""
        name = str(path.relative_to(root / ".agent_memory"))
        found[name] = FileState(kind, len(data), hashlib.sha256(data).hexdigest() if data else "")
    return found


def play(shop: Shop, task: Task, script: Script, root: Path) -> Played:
    """Run one episode with the shell memory's checkpoint procedure."""
    session = shop.open(task, box=None)  # type: ignore[arg-type]
    tools = (*shop.tools, SHELL)
    context, pending, boundaries = f"<|user|>{session.brief()}<|assistant|>", False, 0
    rewards, contexts, responses = [], [], []
    reason = EndReason.ACTION_LIMIT
    for _ in range(task.budget):
        contexts.append(context)
        response = script(context)
        responses.append(response)
        action = BRACKET.parse(response, tools)
        before = _manifest(root)
        result = _execute(session, action, root)
        verdict = judge(action, before, _manifest(root), limit=8192, filesystem_tools={SHELL.name})
        result = session.after_action(action, result, verdict if pending else None)
        rewards.append(result.reward)
        if result.terminated:
            reason = EndReason.TERMINATED
            break
        shown = result.observation.shown
        if result.boundary:
            pending, shown = True, shown + "\n" + session.reminder(PATH, 8192)
        elif pending and verdict.accepted:
            pending, boundaries = False, boundaries + 1
            context = f"<|user|>{session.cross()}\nnotes: {PATH}<|end|><|assistant|>"
            continue
        elif pending:
            shown += f"\nnot saved: {verdict.detail}\n" + session.reminder(PATH, 8192)
        context += f"{response}<|end|><|user|>{shown}<|end|><|assistant|>"
    reward, outcome = session.finish(reason)
    assert reward == 0.0
    return Played(outcome, tuple(rewards), tuple(contexts), tuple(responses), boundaries)


def _execute(session, action: Action, root: Path) -> StepResult:
    if action.tool is None:
        return StepResult(Observation(f"Invalid action: {action.fault_detail}"), invalid=True)
    if action.tool != SHELL.name:
        return session.step(action)
    done = subprocess.run(["bash", "-c", action.arguments["command"]], cwd=root, capture_output=True, check=False)
    return StepResult(Observation((done.stdout + done.stderr).decode(errors="replace"), exit_status=done.returncode))


@pytest.fixture
def player(tmp_path: Path) -> Callable[[Shop, Task, Script], Played]:
    """``player(shop, task, script)``: an episode in a fresh folder."""
    count = iter(range(1_000_000))

    def run(shop: Shop, task: Task, script: Script) -> Played:
        root = tmp_path / str(next(count))
        root.mkdir()
        return play(shop, task, script, root)

    return run


@pytest.fixture(scope="session")
def shop() -> Shop:
    """With default options."""
    return Shop()
