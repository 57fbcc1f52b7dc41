"""One running episode as its memory sees it: the task, the box, the context, and the policy's own voice."""

from __future__ import annotations

import time
from collections.abc import Sequence

import attrs

from camg.episode.components import Components, guard
from camg.episode.window import Window
from camg.protocols import Box, ChatCodec, Replace, Speaker, Step
from camg.types import (
    Action,
    Event,
    Message,
    Observation,
    Response,
    Task,
    Timing,
    Tool,
    Turn,
    TurnKind,
    Workspace,
)
from camg.workspace.shell import SHELL_COMMAND


class RunningEpisode:
    """The :class:`~camg.protocols.EpisodeView` of a memory, and the records that the loop adds to."""

    _speaker: Speaker  # opened when the episode runs

    def __init__(self, task: Task, workspace: Workspace, box: Box, parts: Components) -> None:
        self._task = task
        self._workspace = workspace
        self._box = box
        self._parts = parts
        self._turns: list[Turn] = []
        self._events: list[Event] = []
        self._brief = ""
        self._started = time.monotonic()
        self._shell: Tool = getattr(parts.memory, "shell_tool", None) or SHELL_COMMAND
        self._tools: tuple[Tool, ...] = (*parts.environment.tools, self._shell, *parts.memory.tools)
        self._window = Window(parts.codec, parts.memory, self._tools, parts.rollout)

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
        """Names of the tools that may write it; the shell always under its own name."""
        return frozenset({SHELL_COMMAND.name, *(tool.name for tool in self._tools if tool.filesystem)})

    @property
    def workspace(self) -> Workspace:
        """What the box was opened with."""
        return self._workspace

    @property
    def evaluating(self) -> bool:
        """An episode of an evaluation, no training?"""
        return self._parts.evaluating

    @property
    def prompt_tokens(self) -> int:
        """The prompt limit."""
        return self._parts.rollout.prompt_tokens

    @property
    def observation_tokens(self) -> int:
        """The limit of one observation."""
        return self._parts.rollout.observation_tokens

    def brief(self) -> str:
        """The current fixed task text."""
        return self._brief

    def transcript(self) -> Sequence[Message]:
        """The messages of the active context."""
        return self._window.transcript()

    def steps(self) -> Sequence[Step]:
        """The steps of the active context."""
        return self._window.steps()

    def count(self, messages: Sequence[Message]) -> int:
        """Tokens of a prompt without tools."""
        return len(self.codec.open(messages, ()))

    def room(self, plan: Replace) -> int:
        """What would be free in the context that ``plan`` opens."""
        return self._window.room(self._brief, plan)

    def record(self, event: Event) -> None:
        """Keep an event that the policy did not sample; its slots count."""
        self._events.append(event)

    def generate(self, messages: Sequence[Message], *, limit: int, trained: bool, slots: int = 0) -> str:
        """One response outside the dialogue: a segment of its own, recorded as a turn of kind SUMMARY."""
        prompt = self.codec.open(messages, ())
        tokens = min(limit, self._parts.rollout.response_tokens)
        response = guard("policy", lambda: self._speaker.generate(prompt, limit=tokens))
        segment, length = self._window.aside(prompt, len(self._turns), response)
        action = Action(tool=None, raw=response.text)
        turn = self._turn(response, segment, length, action, Observation(shown=""))
        self._turns.append(attrs.evolve(turn, kind=TurnKind.SUMMARY, trained=trained, slots=slots))
        return response.text

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
