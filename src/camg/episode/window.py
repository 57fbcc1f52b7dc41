"""The bounded window of one episode: what the policy sees, and whether there is room (method: Pressure).

With context C, prompt limit L, response limit R and a reserve for the reminder, a boundary is due when
``C + R + reserve > L`` after an observation. That observation is cut so that the prompt with the reminder is at most
``L - R`` where possible and at most ``L`` always.
"""

from __future__ import annotations

from collections.abc import Sequence

from camg.episode.context import Context
from camg.episode.instructions import opening
from camg.errors import InfrastructureFault
from camg.protocols import ChatCodec, Memory
from camg.settings import RolloutSettings
from camg.types import Message, Response, Segment, Tool
from camg.workspace.limits import truncate_tokens


class Window:
    """Messages and token ids of the active context, kept in step."""

    def __init__(self, codec: ChatCodec, memory: Memory, tools: Sequence[Tool], rollout: RolloutSettings) -> None:
        self._codec = codec
        self._memory = memory
        self._tools = tools
        self._rollout = rollout
        self._context = Context()
        self._messages: list[Message] = []

    @property
    def ids(self) -> Sequence[int]:
        """The active context."""
        return self._context.ids

    def transcript(self) -> Sequence[Message]:
        """The messages of the active context."""
        return tuple(self._messages)

    def segments(self) -> tuple[Segment, ...]:
        """All segments so far."""
        return self._context.segments()

    def open(self, brief: str, note: str = "") -> None:
        """A fresh context. Raises :class:`InfrastructureFault` when the fixed instructions alone pass the limit."""
        self._messages = opening(self._codec, self._memory, self._tools, brief, note)
        self._context.replace(self._codec.open(self._messages, self._tools))
        limit = self._rollout.prompt_tokens
        if len(self._context) > limit:
            raise InfrastructureFault(
                f"The fixed instructions take {len(self._context)} tokens, more than rollout.prompt_tokens={limit}."
            )

    def respond(self, turn: int, response: Response) -> tuple[int, int]:
        """Append what was sampled; returns (segment, prompt length)."""
        self._messages.append(Message("assistant", response.text))
        return self._context.respond(turn, response.token_ids)

    def aside(self, prompt: Sequence[int], turn: int, response: Response) -> tuple[int, int]:
        """A response to another prompt: a segment of its own."""
        return self._context.aside(prompt, turn, response.token_ids)

    def pressed(self, observation: str, *, ended: bool) -> bool:
        """Would another turn pass the limit once this observation is shown?"""
        rollout = self._rollout
        size = len(self._context) + len(self._ids(self._cut(observation, rollout.observation_tokens), ended))
        return size + rollout.response_tokens + rollout.reserve_tokens > rollout.prompt_tokens

    def show(self, observation: str, reminder: str, *, ended: bool) -> str | None:
        """Append the observation, then the reminder. Returns what was shown of it, or None: no room is left."""
        rollout = self._rollout
        allowance = rollout.observation_tokens
        if reminder:
            comfortable = rollout.prompt_tokens - rollout.response_tokens
            allowance = min(
                allowance, max(comfortable - len(self._context) - len(self._ids("\n" + reminder, ended)), 0)
            )
        # joining texts may cost a few tokens more than their sum: hence the second try, and the reminder alone
        for limit in (allowance, max(allowance - 8, 0), 0):
            shown = self._cut(observation, limit)
            text = "\n".join(part for part in (shown, reminder) if part)
            ids = self._ids(text, ended)
            if len(self._context) + len(ids) <= rollout.prompt_tokens:
                self._context.append(ids)
                self._messages.append(Message("tool", text))
                return shown
        return None

    def _cut(self, text: str, limit: int) -> str:
        return truncate_tokens(text, limit, self._codec) if limit else ""

    def _ids(self, text: str, ended: bool) -> tuple[int, ...]:
        return self._codec.extend([Message("tool", text)], ended=ended)
