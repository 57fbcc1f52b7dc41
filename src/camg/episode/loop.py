"""One episode, from its task to its outcome.

Read :meth:`EpisodeLoop.run` top to bottom: sample, parse, execute, let environment and memory see it, then either
append the observation, announce a boundary, or replace the context. What the policy causes is data; only
:class:`InfrastructureFault` leaves this module.
"""

from __future__ import annotations

import time
from typing import Any

import attrs

from camg.episode.actions import faulty
from camg.episode.components import Components, guard
from camg.episode.running import RunningEpisode
from camg.errors import InfrastructureFault
from camg.protocols import (
    Announce,
    Box,
    Boxes,
    Continue,
    Replace,
    Review,
    Session,
)
from camg.types import (
    Action,
    Boundary,
    BoundaryKind,
    Dispatch,
    EndReason,
    Episode,
    Limits,
    Manifest,
    Observation,
    Outcome,
    Replacement,
    Response,
    StepResult,
    StopReason,
    Task,
    Workspace,
)
from camg.workspace.checkpoint import PATH
from camg.workspace.shell import SHELL_COMMAND, run_shell

__all__ = ["Components", "EpisodeLoop", "run_episode"]


def run_episode(dispatch: Dispatch, components: Components, *, label: str) -> Episode:
    """Run one scheduled episode to its end and return its record.

    Args:
        dispatch: which task, under which seed.
        components: what it runs on.
        label: names the sandbox box, so that what a dead worker leaves can be found.

    Raises:
        InfrastructureFault: the world under the episode broke; the episode is no sample.
    """

    def boxes(workspace: Workspace, *, limits: Limits | None = None) -> Box:
        return components.sandbox.open(f"{label}.beside", limits=limits or components.limits, workspace=workspace)

    task = guard("environment", lambda: components.environment.task(dispatch.task))
    workspace = guard("environment", lambda: components.environment.workspace(task))
    box = guard("sandbox", lambda: components.sandbox.open(label, limits=components.limits, workspace=workspace))
    try:
        return EpisodeLoop(dispatch, task, workspace, box, components, boxes).run()
    finally:
        box.close()


class EpisodeLoop(RunningEpisode):
    """Samples, executes and decides what the policy sees next, until the episode is over."""

    def __init__(
        self, dispatch: Dispatch, task: Task, workspace: Workspace, box: Box, parts: Components, boxes: Boxes
    ) -> None:
        super().__init__(task, workspace, box, parts)
        self.dispatch = dispatch
        self._boxes = boxes
        self._replacements: list[Replacement] = []
        self._pending: Boundary | None = None
        self._opening = ""  # the brief that the episode began with
        self._manifest: Manifest = {}
        self._budget = parts.rollout.actions or task.budget
        self._native = {tool.name for tool in parts.environment.tools}

    # ------------------------------------------------------------ the episode
    def run(self) -> Episode:
        """The whole episode. Raises :class:`InfrastructureFault`."""
        self._session: Session = guard(
            "environment", lambda: self._parts.environment.open(self._task, self._box, self._boxes)
        )
        try:
            self._memory = guard("memory", lambda: self._parts.memory.open(self))
            self._speaker = guard("policy", lambda: self._parts.sampler.open(self._task, self.dispatch.seed))
            try:
                return self._run()
            finally:
                self._speaker.close()
                self._memory.close()
        finally:
            self._session.close()

    def _run(self) -> Episode:
        self._brief = self._opening = guard("environment", self._session.brief)
        self._manifest = self._box.manifest()
        self._window.open(self._brief)
        reason: EndReason | None = None
        while reason is None:
            reason = self._step()
        reward, outcome = guard("environment", lambda: self._session.finish(reason))
        return self._episode(reason, reward, outcome)

    def _step(self) -> EndReason | None:
        """One response and everything that follows from it."""
        if self._spent() >= self._budget:
            return EndReason.ACTION_LIMIT
        rewrite = guard("memory", self._memory.before_turn)
        if rewrite is not None:
            self._cross(rewrite)
        if self._spent() >= self._budget:  # the rewrite may have taken slots
            return EndReason.ACTION_LIMIT
        self._check_deadline()
        response = self._sample()
        segment, length = self._window.respond(len(self._turns), response)
        began, before = time.monotonic(), self._manifest
        action = self._parse(response)
        result = self._execute(action)
        review = self._review(action, before)
        verdict = review.verdict if review else None
        result = guard("environment", lambda: self._session.after_action(action, result, verdict))
        turn = self._turn(response, segment, length, action, result.observation)
        self._turns.append(
            attrs.evolve(
                turn,
                reward=result.reward,
                terminated=result.terminated,
                invalid=result.invalid,
                checkpoint=review.verdict if review else None,
                memory_access=self._memory.accesses(action, before, self._manifest),
                manifest_before=before,
                manifest_after=self._manifest,
                timing=attrs.evolve(turn.timing, environment=time.monotonic() - began),
            )
        )
        if result.terminated:
            return EndReason.TERMINATED
        return self._continue(result, review)

    def _sample(self) -> Response:
        limit = self._parts.rollout.response_tokens
        return guard("policy", lambda: self._speaker.generate(self._window.ids, limit=limit))

    def _parse(self, response: Response) -> Action:
        if response.stop_reason is StopReason.LENGTH:
            # even when a prefix happens to parse: the policy had not finished (lesson 17: from the stop reason)
            limit = self._parts.rollout.response_tokens
            return faulty(response.text, "truncated", f"The response was cut at {limit} tokens; be brief.")
        action = self.codec.dialect.parse(response.text, self._tools)
        if action.tool == self._shell.name:  # another name of the same tool: nothing below knows it
            action = attrs.evolve(action, tool=SHELL_COMMAND.name)
        return action

    def _execute(self, action: Action) -> StepResult:
        """Run the action wherever it belongs; the memory sees it first and may undo what its method forbids."""
        result = self._dispatch(action)
        result = guard("memory", lambda: self._memory.after_action(action, result))
        if action.tool is not None and action.tool not in self._native:
            self._manifest = self._box.manifest()
        return result

    def _dispatch(self, action: Action) -> StepResult:
        if action.tool is None:
            return StepResult(Observation(shown=f"Invalid action: {action.fault_detail}"), invalid=True)
        if action.tool in self._native:
            return guard("environment", lambda: self._session.step(action))
        if action.tool == SHELL_COMMAND.name:
            return guard("sandbox", lambda: run_shell(self._box, action))
        return guard("memory", lambda: self._memory.handle(action))

    def _review(self, action: Action, before: Manifest) -> Review | None:
        """Judge the response if a checkpoint was pending."""
        if self._pending is None:
            return None
        return guard("memory", lambda: self._memory.review(action, before, self._manifest))

    # ------------------------------------------------------------ what the policy sees next
    def _continue(self, result: StepResult, review: Review | None) -> EndReason | None:
        if result.boundary:
            return self._announce(BoundaryKind.DECLARED, result.observation)
        if review is not None:
            return self._follow(review.then, result.observation)
        if self._window.pressed(result.observation.shown):
            return self._announce(BoundaryKind.PRESSURE, result.observation)
        return self._show(result.observation)

    def _announce(self, kind: BoundaryKind, observation: Observation) -> EndReason | None:
        reminder = guard("environment", lambda: self._session.reminder(PATH, self.continuation_bytes))
        self._pending = boundary = Boundary(kind, reminder)
        self._window.hold(observation.shown)
        plan = guard("memory", lambda: self._memory.at_boundary(boundary))
        if kind is BoundaryKind.DECLARED and isinstance(plan, Continue):
            plan = Replace()  # it clears the context under every memory
        return self._follow(plan, observation)

    def _follow(self, plan: Announce | Replace | Continue, observation: Observation) -> EndReason | None:
        if isinstance(plan, Announce):
            return self._show(observation, plan.text)
        if isinstance(plan, Continue):
            self._pending = None
            return self._show(observation, whole=True)
        self._cross(plan)
        return None

    def _cross(self, plan: Replace) -> None:
        """The boundary is confirmed: the next brief if it was declared, and a fresh context."""
        kind = self._pending.kind if self._pending else BoundaryKind.MEMORY
        self._pending = None
        if kind is BoundaryKind.DECLARED:
            self._brief = guard("environment", self._session.cross)
            plan = attrs.evolve(plan, keep=(), task=True)  # the cleared session must not leak (method: who decides)
        self._replacements.append(Replacement(after_turn=len(self._turns) - 1, kind=kind))
        guard("memory", lambda: self._window.open(self._brief, plan))

    def _show(self, observation: Observation, reminder: str = "", *, whole: bool = False) -> EndReason | None:
        """Let the policy see the observation; without room for it the episode is over."""
        shown = self._window.show(observation.shown, reminder, whole=whole)
        if shown is None:
            return EndReason.CONTEXT_EXHAUSTED
        if shown != observation.shown:
            cut = attrs.evolve(observation, shown=shown, full=observation.full or observation.shown)
            turn = self._window.steps()[-1].turn  # a summary may have been sampled since
            self._turns[turn] = attrs.evolve(self._turns[turn], observation=cut)
        return None

    # ------------------------------------------------------------ records
    def _spent(self) -> int:
        return sum(turn.slots for turn in self._turns) + sum(event.slots for event in self._events)

    def _check_deadline(self) -> None:
        limit = self._parts.rollout.episode_seconds
        if time.monotonic() - self._started > limit:
            raise InfrastructureFault(f"Episode {self.dispatch.id} passed its deadline of {limit:g} s.")

    def _episode(self, reason: EndReason, reward: float, outcome: Outcome) -> Episode:
        """The final reward goes to the last policy-sampled response, which ends the episode (Algorithm 1)."""
        if self._turns:
            last = self._turns[-1]
            self._turns[-1] = attrs.evolve(last, reward=last.reward + reward, terminated=True)
        meta: dict[str, Any] = {
            "dialect": self.codec.dialect.name,
            "temperature": self._parts.rollout.temperature,
            "prompt_tokens": self._parts.rollout.prompt_tokens,
            "brief": self._opening,
        }
        return Episode(
            id=self.dispatch.id,
            task=self._task.id,
            env=self.dispatch.env,
            split=self._task.split,
            seed=self.dispatch.seed,
            segments=self._window.segments(),
            turns=tuple(self._turns),
            outcome=outcome,
            end_reason=reason,
            replacements=tuple(self._replacements),
            events=tuple(self._events),
            seconds=time.monotonic() - self._started,
            group=self.dispatch.group,
            meta=meta,
        )
