"""Does a memory keep its promises?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from camg.episode.actions import BRACKET, faulty
from camg.episode.chat import ByteCodec
from camg.protocols import Announce, ChatCodec, Continue, Memory, MemorySession, Replace, Review, Step
from camg.testing.expect import expect, expect_members, expect_tools
from camg.testing.parts import FolderBox
from camg.types import Action, Boundary, BoundaryKind, Event, Message, Observation, StepResult, Task, Tool, Workspace


class View:
    """A running episode as a memory sees it, without one. ``said``: what the policy answers to :meth:`generate`."""

    def __init__(self, box: FolderBox, *, terse: bool, said: str = "a summary") -> None:
        self.task = Task(id="t", env="check", split="train", budget=8)
        self.box = box
        self.codec: ChatCodec = ByteCodec(BRACKET, terse=terse)
        self.continuation_bytes = 8_192
        self.filesystem_tools = frozenset({"shell_command"})
        self.workspace = Workspace()
        self.evaluating = False
        self.prompt_tokens, self.observation_tokens = 30_720, 8_192
        self.events: list[Event] = []
        self.messages: list[Message] = [Message("system", "rules"), Message("user", "the task")]
        self._said = said

    def brief(self) -> str:
        """The fixed task text."""
        return "the task"

    def transcript(self) -> Sequence[Message]:
        """The messages of the active context."""
        return tuple(self.messages)

    def steps(self) -> Sequence[Step]:
        """One step."""
        return (Step(turn=0, response="look", reply="nothing"),)

    def count(self, messages: Sequence[Message]) -> int:
        """Tokens of a prompt."""
        return len(self.codec.open(messages, ()))

    def room(self, plan: Replace) -> int:
        """A fixed window, and the note in it."""
        return self.prompt_tokens // 2 - self.count([Message("user", plan.note)])

    def generate(self, messages: Sequence[Message], *, limit: int, trained: bool, slots: int = 0) -> str:
        """What the policy would say."""
        return self._said

    def record(self, event: Event) -> None:
        """Keep an event."""
        self.events.append(event)


def check_memory(memory: Memory) -> None:
    """Take a memory through turns, both kinds of boundary and every tool. Raises ``AssertionError`` with a sentence."""
    expect_members(memory, Memory, "The memory")
    expect_tools(memory.tools, "The memory")
    for terse in (False, True):
        text = memory.instructions(terse=terse)
        expect(isinstance(text, str), f"Expected instructions as text, got {type(text).__name__}.")
        for kind in (BoundaryKind.PRESSURE, BoundaryKind.DECLARED):
            box = FolderBox()
            try:
                _check_session(memory, View(box, terse=terse), kind)
            finally:
                box.close()


def _check_session(memory: Memory, view: View, kind: BoundaryKind) -> None:
    session = memory.open(view)
    expect_members(session, MemorySession, "The memory's session")
    rewrite = session.before_turn()
    expect(rewrite is None or isinstance(rewrite, Replace), f"Expected None or Replace before a turn, got {rewrite!r}.")
    wordless = Action(tool=None, fault="no_action", fault_detail="none", raw="hm")
    command = "mkdir -p .agent_memory && echo kept > .agent_memory/CONTINUATION.md"
    shell = Action(tool="shell_command", arguments={"command": command})
    for action in (wordless, shell, *map(_nonsense, memory.tools)):
        before = view.box.manifest()
        result = StepResult(Observation(shown="ok"))
        if action.tool in {tool.name for tool in memory.tools}:
            result = session.handle(action)
            expect(isinstance(result, StepResult), f"Expected a StepResult of {action.tool}, got {result!r}.")
        elif action.tool == "shell_command":
            view.box.run(command)
        counted = session.after_action(action, result)
        expect(isinstance(counted, StepResult), f"Expected a StepResult after an action, got {counted!r}.")
        accessed = session.accesses(action, before, view.box.manifest())
        expect(isinstance(accessed, bool), f"Expected True or False of accesses(), got {accessed!r}.")
    _check_boundary(session, view, kind)
    session.close()


_NONSENSE = {"string": "nonsense ✗", "integer": -7, "number": -0.5, "boolean": False, "object": {"✗": []}, "array": [0]}


def _nonsense(tool: Tool) -> Action:
    return Action(tool=tool.name, arguments={p.name: _NONSENSE[p.kind] for p in tool.parameters})


def _check_boundary(session: MemorySession, view: View, kind: BoundaryKind) -> None:
    plan = session.at_boundary(Boundary(kind, reminder="Keep what you need."))
    allowed = (Announce, Replace, Continue) if kind is BoundaryKind.PRESSURE else (Announce, Replace)
    names = ", ".join(item.__name__ for item in allowed)
    expect(isinstance(plan, allowed), f"Expected one of {names} at a {kind} boundary, got {plan!r}.")
    if isinstance(plan, Continue):
        return
    if isinstance(plan, Replace):
        expect(isinstance(plan.note, str), "Expected a note as text.")
        return
    expect(bool(plan.text), "Expected an announcement that says something.")
    manifest = view.box.manifest()
    review = session.review(faulty("hm", "no_action", "There is no action."), manifest, manifest)
    expect(isinstance(review, Review), f"Expected a Review of the response, got {review!r}.")
    refused = not review.verdict.accepted
    expect(refused, "Expected a response without an action to be refused as a checkpoint.")
    expect(isinstance(review.then, Announce), "Expected the context to stay after a refused checkpoint.")
    reason: Any = review.verdict.failure
    expect(reason is not None, "Expected the verdict to name the reason of a refusal.")
