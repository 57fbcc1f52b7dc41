"""One episode, from its task to its outcome.

Read :meth:`EpisodeLoop.run` top to bottom: sample, parse, execute, let environment and memory see it, then either
append the observation, announce a boundary, or replace the context. What the policy causes is data; only
:class:`InfrastructureFault` leaves this module.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import attrs
from attrs import frozen

from camg.episode.actions import faulty
from camg.episode.context import Context
from camg.episode.instructions import opening
from camg.errors import CamgError, InfrastructureFault
from camg.protocols import (
    Announce,
    Box,
    ChatCodec,
    Environment,
    Memory,
    Replace,
    Review,
    Sampler,
    Sandbox,
    Session,
)
from camg.settings import RolloutSettings
from camg.types import (
    Action,
    Boundary,
    BoundaryKind,
    Dispatch,
    EndReason,
    Episode,
    Event,
    Limits,
    Manifest,
    Message,
    Observation,
    Outcome,
    Replacement,
    Response,
    StepResult,
    StopReason,
    Task,
    Timing,
    Tool,
    Turn,
    TurnKind,
)
from camg.workspace.checkpoint import PATH
from camg.workspace.limits import truncate_tokens
from camg.workspace.shell import SHELL_COMMAND, run_shell

T = TypeVar("T")


@frozen(kw_only=True)
class Components:
    """What an episode runs on; shared by all episodes of a process."""

    environment: Environment
    memory: Memory
    sampler: Sampler
    codec: ChatCodec
    sandbox: Sandbox
    limits: Limits
    rollout: RolloutSettings


def run_episode(dispatch: Dispatch, components: Components, *, label: str) -> Episode:
    """Run one scheduled episode to its end and return its record.

    Args:
        dispatch: which task, under which seed.
        components: what it runs on.
        label: names the sandbox box, so that what a dead worker leaves can be found.

    Raises:
        InfrastructureFault: the world under the episode broke; the episode is no sample.
    """
    task = _guard("environment", lambda: components.environment.task(dispatch.task))
    box = _guard("sandbox", lambda: components.sandbox.open(label, limits=components.limits))
    try:
        return EpisodeLoop(dispatch, task, box, components).run()
    finally:
        box.close()


def _guard(what: str, call: Callable[[], T]) -> T:
    """Plugin authors raise plain Python; whatever escapes a component is an infrastructure fault with its cause."""
    try:
        return call()
    except CamgError:
        raise
    except Exception as error:
        raise InfrastructureFault(f"{what} failed: {type(error).__name__}: {error}") from error


class EpisodeLoop:
    """The state of one running episode. It is also the :class:`~camg.protocols.EpisodeView` of its memory."""

    def __init__(self, dispatch: Dispatch, task: Task, box: Box, parts: Components) -> None:
        self.dispatch = dispatch
        self._task = task
        self._box = box
        self._parts = parts
        self._context = Context()
        self._messages: list[Message] = []
        self._turns: list[Turn] = []
        self._events: list[Event] = []
        self._replacements: list[Replacement] = []
        self._pending: Boundary | None = None
        self._brief = ""
        self._manifest: Manifest = {}
        self._started = time.monotonic()
        self._budget = parts.rollout.actions or task.budget
        native = parts.environment.tools
        self._native = {tool.name for tool in native}
        self._tools: tuple[Tool, ...] = (*native, SHELL_COMMAND, *parts.memory.tools)

    # ------------------------------------------------------------ the view of the memory
    @property
    def task(self) -> Task:
        """The task; its payload is private to the environment."""
        return self._task

    @property
    def box(self) -> Box:
        """The episode's machine."""
        return self._box

    @property
    def codec(self) -> ChatCodec:
        """The policy's codec."""
        return self._parts.codec

    @property
    def continuation_bytes(self) -> int:
        """Limit of the continuation file."""
        return self._parts.rollout.continuation_bytes

    @property
    def filesystem_tools(self) -> frozenset[str]:
        """Names of the tools that may write it."""
        return frozenset(tool.name for tool in self._tools if tool.filesystem)

    def brief(self) -> str:
        """The current fixed task text."""
        return self._brief

    def transcript(self) -> Sequence[Message]:
        """The messages of the active context."""
        return tuple(self._messages)

    def record(self, event: Event) -> None:
        """Keep an event that the policy did not sample; its slots count."""
        self._events.append(event)

    def generate(self, messages: Sequence[Message], *, limit: int, trained: bool, slots: int = 0) -> str:
        """One response outside the dialogue: a segment of its own, recorded as a turn of kind SUMMARY."""
        prompt = self.codec.open(messages, ())
        response = self._speaker.generate(prompt, limit=min(limit, self._parts.rollout.response_tokens))
        segment, length = self._context.aside(prompt, len(self._turns), response.token_ids)
        action = Action(tool=None, raw=response.text)
        turn = self._turn(response, segment, length, action, Observation(shown=""))
        self._turns.append(attrs.evolve(turn, kind=TurnKind.SUMMARY, trained=trained, slots=slots))
        return response.text

    # ------------------------------------------------------------ the episode
    def run(self) -> Episode:
        """The whole episode. Raises :class:`InfrastructureFault`."""
        self._session: Session = _guard("environment", lambda: self._parts.environment.open(self._task, self._box))
        try:
            self._memory = _guard("memory", lambda: self._parts.memory.open(self))
            self._speaker = _guard("policy", lambda: self._parts.sampler.open(self._task, self.dispatch.seed))
            try:
                return self._run()
            finally:
                self._speaker.close()
                self._memory.close()
        finally:
            self._session.close()

    def _run(self) -> Episode:
        self._brief = _guard("environment", self._session.brief)
        self._manifest = self._box.manifest()
        self._open()
        reason: EndReason | None = None
        while reason is None:
            reason = self._step()
        reward, outcome = _guard("environment", lambda: self._session.finish(reason))
        return self._episode(reason, reward, outcome)

    def _step(self) -> EndReason | None:
        """One response and everything that follows from it."""
        rewrite = _guard("memory", self._memory.before_turn)
        if rewrite is not None:
            self._cross(rewrite)
        if self._spent() >= self._budget:
            return EndReason.ACTION_LIMIT
        self._check_deadline()
        response = self._sample()
        segment, length = self._context.respond(len(self._turns), response.token_ids)
        began, before = time.monotonic(), self._manifest
        action = self._parse(response)
        result = self._execute(action)
        review = self._review(action, before)
        verdict = review.verdict if review else None
        result = _guard("environment", lambda: self._session.after_action(action, result, verdict))
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
        self._messages.append(Message("assistant", response.text))
        if result.terminated:
            return EndReason.TERMINATED
        return self._continue(result, review, ended=response.stop_reason is StopReason.EOS)

    def _sample(self) -> Response:
        limit = self._parts.rollout.response_tokens
        return _guard("policy", lambda: self._speaker.generate(self._context.ids, limit=limit))

    def _parse(self, response: Response) -> Action:
        if response.stop_reason is StopReason.LENGTH:
            # even when a prefix happens to parse: the policy had not finished (lesson 17: from the stop reason)
            limit = self._parts.rollout.response_tokens
            return faulty(response.text, "truncated", f"The response was cut at {limit} tokens; be brief.")
        return self.codec.dialect.parse(response.text, self._tools)

    def _execute(self, action: Action) -> StepResult:
        """Run the action wherever it belongs; the memory sees it first and may undo what its method forbids."""
        result = self._dispatch(action)
        result = _guard("memory", lambda: self._memory.after_action(action, result))
        if action.tool is not None and action.tool not in self._native:
            self._manifest = self._box.manifest()
        return result

    def _dispatch(self, action: Action) -> StepResult:
        if action.tool is None:
            return StepResult(Observation(shown=f"Invalid action: {action.fault_detail}"), invalid=True)
        if action.tool in self._native:
            return _guard("environment", lambda: self._session.step(action))
        if action.tool == SHELL_COMMAND.name:
            return _guard("sandbox", lambda: run_shell(self._box, action))
        return _guard("memory", lambda: self._memory.handle(action))

    def _review(self, action: Action, before: Manifest) -> Review | None:
        """Judge the response if a checkpoint was pending."""
        if self._pending is None:
            return None
        return _guard("memory", lambda: self._memory.review(action, before, self._manifest))

    # ------------------------------------------------------------ what the policy sees next
    def _continue(self, result: StepResult, review: Review | None, *, ended: bool) -> EndReason | None:
        if result.boundary:
            return self._announce(BoundaryKind.DECLARED, result.observation, ended)
        if review is not None and isinstance(review.then, Replace):
            self._cross(review.then)
            return None
        if review is not None and isinstance(review.then, Announce):
            return self._show(result.observation, review.then.text, ended)
        if self._pressed(result.observation, ended):
            return self._announce(BoundaryKind.PRESSURE, result.observation, ended)
        return self._show(result.observation, "", ended)

    def _announce(self, kind: BoundaryKind, observation: Observation, ended: bool) -> EndReason | None:
        reminder = _guard("environment", lambda: self._session.reminder(PATH, self.continuation_bytes))
        self._pending = Boundary(kind, reminder)
        plan = _guard("memory", lambda: self._memory.at_boundary(Boundary(kind, reminder)))
        if isinstance(plan, Replace):
            self._cross(plan)
            return None
        return self._show(observation, plan.text, ended)

    def _cross(self, plan: Replace) -> None:
        """The boundary is confirmed: the next brief if it was declared, and a fresh context."""
        kind = self._pending.kind if self._pending else BoundaryKind.PRESSURE  # a memory's own rewrite is pressure
        self._pending = None
        if kind is BoundaryKind.DECLARED:
            self._brief = _guard("environment", self._session.cross)
        self._replacements.append(Replacement(after_turn=len(self._turns) - 1, kind=kind))
        self._open(plan.note)

    def _open(self, note: str = "") -> None:
        self._messages = opening(self.codec, self._parts.memory, self._tools, self._brief, note)
        self._context.replace(self.codec.open(self._messages, self._tools))
        limit = self._parts.rollout.prompt_tokens
        if len(self._context) > limit:
            raise InfrastructureFault(
                f"The fixed instructions of {self._task.id} take {len(self._context)} tokens, "
                f"more than rollout.prompt_tokens={limit}."
            )

    def _room(self, text: str, ended: bool) -> tuple[int, ...]:
        return self.codec.extend([Message("tool", text)], ended=ended)

    def _pressed(self, observation: Observation, ended: bool) -> bool:
        """C + R + reserve > L after the observation (method: Pressure)."""
        if self._pending is not None:
            return False
        rollout = self._parts.rollout
        shown = truncate_tokens(observation.shown, rollout.observation_tokens, self.codec)
        size = len(self._context) + len(self._room(shown, ended))
        return size + rollout.response_tokens + rollout.reserve_tokens > rollout.prompt_tokens

    def _show(self, observation: Observation, reminder: str, ended: bool) -> EndReason | None:
        """Append the observation (and a reminder), cut so that the prompt fits; else the context is exhausted."""
        rollout = self._parts.rollout
        fixed = len(self._context) + len(self._room(reminder, ended))
        comfortable = rollout.prompt_tokens - rollout.response_tokens - fixed
        # a separator and re-merged tokens may cost a little: hence the margin below
        allowance = min(rollout.observation_tokens, max(comfortable, 0) if reminder else rollout.observation_tokens)
        for limit in (allowance, max(allowance - 8, 0), 0):
            shown = truncate_tokens(observation.shown, limit, self.codec) if limit else ""
            text = "\n".join(part for part in (shown, reminder) if part)
            ids = self._room(text, ended)
            if len(self._context) + len(ids) <= rollout.prompt_tokens:
                self._record_shown(observation, shown)
                self._context.append(ids)
                self._messages.append(Message("tool", text))
                return None
        return EndReason.CONTEXT_EXHAUSTED

    def _record_shown(self, observation: Observation, shown: str) -> None:
        if shown != observation.shown:
            cut = attrs.evolve(observation, shown=shown, full=observation.full or observation.shown)
            self._turns[-1] = attrs.evolve(self._turns[-1], observation=cut)

    # ------------------------------------------------------------ records
    def _turn(self, response: Response, segment: int, length: int, action: Action, observation: Observation) -> Turn:
        return Turn(
            index=len(self._turns),
            segment=segment,
            prompt_length=length,
            token_ids=response.token_ids,
            logprobs=response.logprobs,
            stop_reason=response.stop_reason,
            policy_version=response.policy_version,
            text=response.text,
            action=action,
            observation=observation,
            timing=Timing(generate=response.seconds, started=time.monotonic() - self._started),
        )

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
            "brief": self._brief,
        }
        return Episode(
            id=self.dispatch.id,
            task=self._task.id,
            env=self.dispatch.env,
            split=self._task.split,
            seed=self.dispatch.seed,
            segments=self._context.segments(),
            turns=tuple(self._turns),
            outcome=outcome,
            end_reason=reason,
            replacements=tuple(self._replacements),
            events=tuple(self._events),
            seconds=time.monotonic() - self._started,
            group=self.dispatch.group,
            meta=meta,
        )
