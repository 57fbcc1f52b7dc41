"""Does an environment keep its promises?"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any

from camg.config import DEFAULTS
from camg.episode.actions import BRACKET, faulty
from camg.errors import DataError
from camg.plugins import load_registry
from camg.protocols import Environment, Memory, Script, Session
from camg.specs import Reference, resolve
from camg.testing.expect import expect, expect_members, expect_raises, expect_tools
from camg.testing.parts import FolderBox, play
from camg.types import Action, EndReason, Limits, Observation, Outcome, StepResult, Task, Workspace

ABSENT = "no such thing"


def check_environment(
    environment: Environment,
    *,
    splits: Sequence[str] = ("train", "eval"),
    tasks: int = 3,
    oracle: Reference | None = None,
    memory: Memory | None = None,
) -> None:
    """Check an environment over the first ``tasks`` tasks of each split.

    With ``oracle`` (as in :class:`camg.specs.EnvironmentSpec`) whole episodes are played as well, with ``memory``
    (default: the one of a run that names none), and the oracle must solve them.

    Raises ``AssertionError`` with a sentence.
    """
    expect_members(environment, Environment, "The environment")
    expect_tools(environment.tools, "The environment")
    expect_raises(DataError, lambda: environment.task_ids(ABSENT), "Expected DataError for an unknown split")
    expect_raises(DataError, lambda: environment.task(ABSENT), "Expected DataError for an unknown task")
    seen: dict[str, str] = {}
    for split in splits:
        ids = list(environment.task_ids(split))
        expect(bool(ids), f"Expected tasks in the split {split!r}, got none.")
        expect(ids == list(environment.task_ids(split)), f"Expected the ids of {split!r} in a fixed order.")
        expect(len(set(ids)) == len(ids), f"Expected each id of {split!r} once, got doubles.")
        for task_id in ids:
            other = seen.setdefault(task_id, split)
            expect(other == split, f"Expected splits without common tasks, got {task_id!r} in {other!r} and {split!r}.")
        for task_id in ids[:tasks]:
            _check_task(environment, task_id, split)
            for behaviour in (_mumble, _fumble):
                _check_session(environment, environment.task(task_id), behaviour)
            if oracle is not None:
                memory = memory or load_registry(quiet=True).build("memory", DEFAULTS["memory"])
                _check_oracle(environment, memory, task_id, resolve(oracle))


def _check_task(environment: Environment, task_id: str, split: str) -> None:
    task = environment.task(task_id)
    where = f"The task {task_id!r}"
    expect(isinstance(task, Task), f"{where}: Expected a Task, got {type(task).__name__}.")
    expect(task.id == task_id, f"{where}: Expected its id, got {task.id!r}.")
    expect(task.split == split, f"{where}: Expected the split {split!r}, got {task.split!r}.")
    expect(task.budget >= 1, f"{where}: Expected at least one action slot, got {task.budget}.")
    try:
        text = json.dumps(dict(task.payload), sort_keys=True)
    except TypeError as cause:
        raise AssertionError(f"{where}: Expected a payload that JSON can hold ({cause}).") from cause
    again = json.dumps(dict(environment.task(task_id).payload), sort_keys=True)
    expect(text == again, f"{where}: Expected the same payload each time.")


def _mumble(session: Session, environment: Environment) -> list[StepResult]:
    """Say something that is no action, as a policy will."""
    action = faulty("hm", "no_action", "There is no action.")
    result = StepResult(Observation(shown="Invalid action."), invalid=True)
    return [session.after_action(action, result, None)]


def _fumble(session: Session, environment: Environment) -> list[StepResult]:
    """Call every tool with nonsense; a wrong action is an observation, never an exception."""
    results: list[StepResult] = []
    for tool in environment.tools:
        action = Action(tool=tool.name, arguments={parameter.name: "\0 nonsense ✗" for parameter in tool.parameters})
        result = session.after_action(action, session.step(action), None)
        _check_result(result, f"The tool {tool.name}")
        results.append(result)
        if result.terminated:
            break
        if result.boundary:
            expect(bool(session.reminder("notes.md", 100)), "Expected a reminder that says something, got none.")
            expect(bool(session.cross()), "Expected a brief after a boundary, got none.")
    return results


def _boxes(workspace: Workspace, *, limits: Limits | None = None) -> FolderBox:
    return FolderBox(limits, workspace)


def _check_session(environment: Environment, task: Task, behave: Callable[..., list[StepResult]]) -> None:
    box = FolderBox(workspace=environment.workspace(task))
    where = f"The session of {task.id!r}"
    try:
        session = environment.open(task, box, _boxes)
        expect_members(session, Session, where)
        brief = session.brief()
        expect(isinstance(brief, str) and bool(brief.strip()), f"{where}: Expected a brief, got {brief!r}.")
        expect(brief == session.brief(), f"{where}: Expected the same brief when asked twice.")
        results = behave(session, environment)
        for result in results:
            _check_result(result, where)
        ended = any(result.terminated for result in results)
        reward, outcome = session.finish(EndReason.TERMINATED if ended else EndReason.ACTION_LIMIT)
        expect(math.isfinite(reward), f"{where}: Expected a finite final reward, got {reward!r}.")
        _check_outcome(outcome, where)
        session.close()
        session.close()
    finally:
        box.close()


def _check_result(result: Any, where: str) -> None:
    expect(isinstance(result, StepResult), f"{where}: Expected a StepResult, got {type(result).__name__}.")
    expect(math.isfinite(result.reward), f"{where}: Expected a finite reward, got {result.reward!r}.")
    shown = result.observation.shown
    expect(isinstance(shown, str), f"{where}: Expected text to show, got {type(shown).__name__}.")
    expect(not (result.terminated and result.boundary), f"{where}: Expected an end or a boundary, got both.")


def _check_outcome(outcome: Any, where: str) -> None:
    expect(isinstance(outcome, Outcome), f"{where}: Expected an Outcome, got {type(outcome).__name__}.")
    expect(0.0 <= outcome.success <= 1.0, f"{where}: Expected success within [0, 1], got {outcome.success!r}.")
    for name, value in outcome.metrics.items():
        expect(math.isfinite(value), f"{where}: Expected finite metrics, got {name} = {value!r}.")


def _check_oracle(
    environment: Environment, memory: Memory, task_id: str, oracle: Callable[[Task, int, Any], Script]
) -> None:
    episode = play(environment, memory, lambda task, seed: oracle(task, seed, BRACKET), task_id)
    last = episode.turns[-1] if episode.turns else None
    expect(
        episode.outcome.complete,
        f"Expected the oracle to solve {task_id!r}; it ended by {episode.end_reason} with success "
        f"{episode.outcome.success}. Its last response: {last.text if last else ''!r}, "
        f"answered by {last.observation.shown if last else ''!r}.",
    )
