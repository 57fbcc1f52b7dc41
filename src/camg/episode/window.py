"""The bounded window of one episode: what the policy sees, and whether there is room (method: Pressure).

With context C, prompt limit L, response limit R and a reserve for the reminder, a boundary is due when
``C + R + reserve > L`` after an observation. That observation is cut so that the prompt with the reminder is at most
``L - R`` where possible and at most ``L`` always.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define, evolve

from camg.episode.context import Context
from camg.episode.instructions import opening
from camg.errors import InfrastructureFault
from camg.protocols import ChatCodec, Kept, Memory, Replace, Step
from camg.settings import RolloutSettings
from camg.types import Message, Response, Segment, StopReason, Tool
from camg.workspace.limits import truncate_tokens


@define
class _Entry:
    """A response as it was sampled, and the ids of the reply that follows it: None until that is shown."""

    turn: int
    text: str
    ids: tuple[int, ...]
    ended: bool
    reply: str = ""
    reply_ids: tuple[int, ...] | None = None


class Window:
    """The opening and the steps of the active context as texts and as token ids, kept in step."""

    def __init__(self, codec: ChatCodec, memory: Memory, tools: Sequence[Tool], rollout: RolloutSettings) -> None:
        self._codec = codec
        self._tools = tools
        self._rollout = rollout
        self._context = Context()
        self._about_memory = memory.instructions(terse=codec.terse)
        self._opening: list[Message] = []
        self._entries: list[_Entry] = []

    @property
    def ids(self) -> Sequence[int]:
        """The active context."""
        return self._context.ids

    def segments(self) -> tuple[Segment, ...]:
        """All segments so far."""
        return self._context.segments()

    def steps(self) -> tuple[Step, ...]:
        """The steps of the active context; the last one's reply may still have to be shown."""
        return tuple(Step(entry.turn, entry.text, entry.reply) for entry in self._entries)

    def transcript(self) -> tuple[Message, ...]:
        """The messages of the active context."""
        messages = list(self._opening)
        for entry in self._entries:
            messages.append(Message("assistant", entry.text))
            if entry.reply or entry.reply_ids is not None:
                messages.append(Message("tool", entry.reply))
        return tuple(messages)

    # ------------------------------------------------------------ a new context
    def open(self, brief: str, plan: Replace | None = None) -> None:
        """A context of instructions, brief, note and kept steps; what passes the limit of these is cut.

        Raises :class:`InfrastructureFault` when the fixed instructions and the brief alone pass it.
        """
        plan = plan or Replace()
        if plan.instructions is not None:
            self._about_memory = plan.instructions
        messages, entries, ids = self._render(brief, plan)
        limit = self._rollout.prompt_tokens
        while len(ids) > limit and entries:
            plan = evolve(plan, keep=plan.keep[1:])
            messages, entries, ids = self._render(brief, plan)
        if len(ids) > limit and plan.note:
            bare = len(self._render(brief, evolve(plan, note=""))[2])
            note = truncate_tokens(plan.note, max(limit - bare - 8, 0), self._codec)  # a joint may cost a few tokens
            messages, entries, ids = self._render(brief, evolve(plan, note=note))
        if len(ids) > limit:
            raise InfrastructureFault(
                f"The fixed instructions take {len(ids)} tokens, more than rollout.prompt_tokens={limit}."
            )
        self._opening, self._entries = messages, entries
        self._context.replace(ids)

    def room(self, brief: str, plan: Replace) -> int:
        """Tokens free beyond a response and the reserve, if ``plan`` were followed; negative: too long."""
        size = len(self._render(brief, plan)[2])
        return self._rollout.prompt_tokens - self._rollout.response_tokens - self._rollout.reserve_tokens - size

    def _render(self, brief: str, plan: Replace) -> tuple[list[Message], list[_Entry], list[int]]:
        about = self._about_memory if plan.instructions is None else plan.instructions
        messages = opening(self._codec, self._tools, about, brief if plan.task else "", plan.note)
        ids = list(self._codec.open(messages, self._tools))
        entries = [self._carried(kept) for kept in plan.keep]
        for entry in entries:
            ids += (*entry.ids, *(entry.reply_ids or ()))
        return messages, entries, ids

    def _carried(self, kept: Kept) -> _Entry:
        """A step as it stands in the next context. What was sampled keeps its ids; only frames are made anew."""
        entry = next((entry for entry in self._entries if entry.turn == kept.turn), None)
        if entry is None:
            turns = [entry.turn for entry in self._entries]
            raise ValueError(f"Expected to keep a step of the active context ({turns}), got turn {kept.turn}.")
        reply = entry.reply if kept.reply is None else kept.reply
        if kept.response and kept.reply is None and entry.reply_ids is not None:
            return evolve(entry)
        if not kept.response:
            entry = evolve(entry, text="", ids=(), ended=False)
        shown = self._cut(reply, self._rollout.observation_tokens)
        return evolve(entry, reply=shown, reply_ids=self._ids(shown, entry.ended))

    # ------------------------------------------------------------ growing
    def respond(self, turn: int, response: Response) -> tuple[int, int]:
        """Append what was sampled; returns (segment, prompt length)."""
        ended = response.stop_reason is StopReason.EOS
        self._entries.append(_Entry(turn, response.text, response.token_ids, ended))
        return self._context.respond(turn, response.token_ids)

    def aside(self, prompt: Sequence[int], turn: int, response: Response) -> tuple[int, int]:
        """A response to another prompt: a segment of its own."""
        return self._context.aside(prompt, turn, response.token_ids)

    def pressed(self, observation: str) -> bool:
        """Would another turn pass the limit once this observation is shown?"""
        rollout = self._rollout
        shown = self._cut(observation, rollout.observation_tokens)
        size = len(self._context) + len(self._ids(shown, self._entries[-1].ended))
        return size + rollout.response_tokens + rollout.reserve_tokens > rollout.prompt_tokens

    def hold(self, observation: str) -> None:
        """Note the reply to the last response, for steps and transcript, before it is decided whether it is shown."""
        self._entries[-1].reply = observation

    def show(self, observation: str, reminder: str = "", *, whole: bool = False) -> str | None:
        """Append the observation, then the reminder. Returns what was shown of it, or None: no room is left.

        ``whole``: cut it at the observation limit only, never to make it fit.
        """
        rollout, last = self._rollout, self._entries[-1]
        allowance = rollout.observation_tokens
        if reminder:
            comfortable = rollout.prompt_tokens - rollout.response_tokens
            used = len(self._context) + len(self._ids("\n" + reminder, last.ended))
            allowance = min(allowance, max(comfortable - used, 0))
        # joining texts may cost a few tokens more than their sum: hence the second try, and the reminder alone
        for limit in (allowance,) if whole else (allowance, max(allowance - 8, 0), 0):
            shown = self._cut(observation, limit)
            text = "\n".join(part for part in (shown, reminder) if part)
            ids = self._ids(text, last.ended)
            if len(self._context) + len(ids) <= rollout.prompt_tokens:
                self._context.append(ids)
                last.reply, last.reply_ids = text, ids
                return shown
        return None

    def _cut(self, text: str, limit: int) -> str:
        return truncate_tokens(text, limit, self._codec) if limit else ""

    def _ids(self, text: str, ended: bool) -> tuple[int, ...]:
        return self._codec.extend([Message("tool", text)], ended=ended)
