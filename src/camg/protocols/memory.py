"""Memories: what a session sees of its episode, what it may answer, and how a demonstrator uses it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from attrs import frozen

from camg.protocols.policy import ChatCodec
from camg.protocols.sandbox import Box
from camg.types import Action, Boundary, CheckpointVerdict, Event, Manifest, Message, StepResult, Task, Tool, Workspace


class EpisodeView(Protocol):
    """What the loop shows a memory of the running episode."""

    @property
    def task(self) -> Task: ...
    @property
    def box(self) -> Box: ...
    @property
    def codec(self) -> ChatCodec: ...
    @property
    def continuation_bytes(self) -> int: ...
    @property
    def filesystem_tools(self) -> frozenset[str]:
        """Names of the tools whose action may write the continuation file."""

    @property
    def workspace(self) -> Workspace:
        """What the box was opened with; ``workspace.base`` is the tree that its files began as."""

    @property
    def evaluating(self) -> bool:
        """Is this an episode of an evaluation rather than of training?"""

    @property
    def prompt_tokens(self) -> int:
        """The prompt limit."""

    @property
    def observation_tokens(self) -> int:
        """The limit of one observation."""

    def brief(self) -> str: ...

    def transcript(self) -> Sequence[Message]:
        """The messages of the active context; at a boundary, with the observation that is not shown yet."""

    def steps(self) -> Sequence[Step]:
        """What followed the opening of the active context: responses and their replies, oldest first."""

    def count(self, messages: Sequence[Message]) -> int:
        """Tokens of a prompt made of ``messages``, without tools."""

    def room(self, plan: Replace) -> int:
        """Tokens free, beyond a whole response, in the context that ``plan`` opens; negative: too long."""

    def generate(self, messages: Sequence[Message], *, limit: int, trained: bool, slots: int = 0) -> str:
        """Sample once from the policy outside the dialogue (a summary); recorded as a turn of kind SUMMARY.

        The caller sees to it that the prompt fits (:meth:`count`). ``limit`` in tokens, at most the response limit.
        """

    def record(self, event: Event) -> None:
        """Record something that the policy did not sample, and what it cost (see :class:`camg.types.Event`)."""


@frozen
class Step:
    """A response of the active context, and what it was answered."""

    turn: int  # index in the episode
    response: str
    reply: str


@frozen
class Kept:
    """A step that a new context carries over. Its tokens are context there: nothing is trained twice."""

    turn: int
    response: bool = True  # False: an empty response stands there
    reply: str | None = None  # another text than it was answered; None: as it was


@frozen
class Announce:
    """Keep the context, say ``text``, and ask the memory again after the next response."""

    text: str


@frozen
class Continue:
    """Under pressure: replace nothing. The episode ends when what is to be shown passes the prompt limit."""


@frozen
class Replace:
    """Open a new context: task and tool instructions, brief, ``note``, then the steps that are kept.

    What does not fit the prompt limit is cut: kept steps, the oldest first, then the end of the note.
    """

    note: str = ""
    keep: Sequence[Kept] = ()
    task: bool = True  # does the brief stand there?
    instructions: str | None = None  # what the memory says of itself from now on; None: as before


@frozen
class Review:
    """A memory's judgement over the response that followed an announcement."""

    verdict: CheckpointVerdict
    then: Announce | Replace | Continue


@runtime_checkable
class MemorySession(Protocol):
    """One episode's memory: it decides what the policy sees next."""

    def before_turn(self) -> Replace | None:
        """Called before each response; may rewrite the context (automatic managers)."""

    def handle(self, action: Action) -> StepResult:
        """Execute one of the memory's own tools."""

    def at_boundary(self, boundary: Boundary) -> Announce | Replace | Continue:
        """What happens now. A declared boundary clears the context under every memory: no step may be kept there."""

    def review(self, action: Action, before: Manifest, after: Manifest) -> Review:
        """Judge the response to the last announcement."""

    def accesses(self, action: Action, before: Manifest, after: Manifest) -> bool:
        """Did this response access the memory, successfully or not (no-memory-gradient asks)?"""

    def after_action(self, action: Action, result: StepResult) -> StepResult:
        """See every action; restore what the method forbids, add notices. Return the result as it shall count."""

    def close(self) -> None: ...


@runtime_checkable
class Memory(Protocol):
    """How the policy keeps what falls out of its context.

    Two more attributes are looked for: ``dialect``, an envelope of the memory's own in which *every* call is written
    (a :class:`Dialect`; absent or None: the policy's), and ``shell_tool``, a :class:`~camg.types.Tool` that stands for
    ``shell_command`` under another name (absent or None: under its own).
    """

    @property
    def tools(self) -> Sequence[Tool]: ...

    def instructions(self, *, terse: bool) -> str:
        """What the fixed instructions say about memory. ``terse``: for the embedded policy."""

    def open(self, view: EpisodeView) -> MemorySession: ...


@runtime_checkable
class Habit(Protocol):
    """How a scripted policy keeps a note by a memory and finds it again: for demonstrations, oracles and tests.

    A call is ``(tool, arguments)``. None: the memory does it without an action (a summary keeps, a context shows).
    """

    eager: bool  # nothing asks for notes: what is to cross a boundary is kept before it

    def keep(self, note: str) -> tuple[str, Mapping[str, Any]] | None:
        """The action that answers a checkpoint reminder, or keeps ``note`` before a boundary."""

    def recall(self) -> tuple[str, Mapping[str, Any]] | None:
        """The action that brings the note back into a fresh context."""

    def asked(self, prompt: str) -> bool:
        """Does ``prompt`` (the decoded context) ask for a summary? The script then answers with the note itself."""
