"""Sessions to build memories on: one that does nothing, and one that keeps files (paper 4.2 and A.2). For plugins."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import attrs

from camg.protocols import Announce, Continue, EpisodeView, Replace, Review
from camg.types import Action, Boundary, CheckpointVerdict, Event, Manifest, Message, Observation, StepResult
from camg.workspace.checkpoint import PATH, changed_paths, judge

NEUTRAL = f"Your earlier context was replaced. Your continuation file is {PATH}."
NEUTRAL_TERSE = f"notes: {PATH}"
RETRY = "The checkpoint was not accepted: {reason}. The context is unchanged; it is asked for again.\n{reminder}"
RETRY_TERSE = "not saved: {reason}\n{reminder}"

# each command starts at the workspace root: it names the folder or a glob that matches it, or walks the tree
_MENTIONS = re.compile(r"agent_memory|CONTINUATION\.md|\.ag\w*[*?\[]|\.\[?a?[*?]")
_WALKS = re.compile(
    r"\bgrep\s+(-\w+\s+)*-\w*[rR]|\bfind\b.*(-exec|xargs)|\b(cp|tar|rsync)\b.*\s\.(/|\s|$)|\bls\s+-\w*R"
)


class PassiveSession:
    """A :class:`~camg.protocols.MemorySession` that lets everything pass and clears the context at each boundary."""

    def __init__(self, view: EpisodeView) -> None:
        self.view = view

    @property
    def turns(self) -> int:
        """Steps of the active context end before this turn: ``before_turn`` of an event that happens now."""
        steps = self.view.steps()
        return steps[-1].turn + 1 if steps else 0

    def record(self, kind: str, *, slots: int = 0, text: str = "", **cost: float) -> None:
        """Note a step that the policy did not sample."""
        self.view.record(Event(before_turn=self.turns, kind=kind, slots=slots, cost=cost, text=text))

    def before_turn(self) -> Replace | None:
        """Nothing happens behind the policy's back."""
        return None

    def handle(self, action: Action) -> StepResult:
        """There are no tools here."""
        return StepResult(Observation(shown=f"{action.tool} is not a tool."), invalid=True)

    def at_boundary(self, boundary: Boundary) -> Announce | Replace | Continue:
        """A fresh context."""
        return Replace()

    def review(self, action: Action, before: Manifest, after: Manifest) -> Review:
        """Nothing was announced: whatever came is fine."""
        return Review(CheckpointVerdict(accepted=True), Replace())

    def accesses(self, action: Action, before: Manifest, after: Manifest) -> bool:
        """There is nothing to access."""
        return False

    def after_action(self, action: Action, result: StepResult) -> StepResult:
        """Nothing is forbidden."""
        return result

    def close(self) -> None:
        """Nothing is held."""


class FileSession(PassiveSession):
    """Asks for ``.agent_memory/CONTINUATION.md`` at each boundary and replaces the context after a valid write.

    The file's content is not inserted: a neutral line names the path, reading it is the policy's choice.
    """

    _reminder = ""

    def at_boundary(self, boundary: Boundary) -> Announce | Replace | Continue:
        """Say the environment's reminder and wait for the write."""
        self._reminder = boundary.reminder
        return Announce(boundary.reminder)

    def review(self, action: Action, before: Manifest, after: Manifest) -> Review:
        """Replace the context after a valid write; else name the reason and ask again."""
        view = self.view
        verdict = judge(action, before, after, limit=view.continuation_bytes, filesystem_tools=view.filesystem_tools)
        terse = view.codec.terse
        if verdict.accepted:
            return Review(verdict, Replace(NEUTRAL_TERSE if terse else NEUTRAL))
        notice = (RETRY_TERSE if terse else RETRY).format(reason=verdict.detail, reminder=self._reminder)
        return Review(verdict, Announce(notice))

    def accesses(self, action: Action, before: Manifest, after: Manifest) -> bool:
        """A filesystem action that names the folder (or a glob of it), walks over it, or changed what it holds.

        Read from the command's text: a path that a program composes itself and only reads goes unseen.
        """
        if action.tool not in self.view.filesystem_tools:
            return False
        text = "\n".join(_texts(action.arguments))
        if _MENTIONS.search(text) or changed_paths(before, after):
            return True
        return bool(before) and bool(_WALKS.search(text))


def summary_prompt(view: EpisodeView, instruction: str, context: Sequence[Message] | None = None) -> list[Message]:
    """The active context and then ``instruction``, as a prompt of its own that fits the prompt limit.

    ``context``: a part of it (None: all). Where it does not, the longest tool observation is halved, again and again,
    in this prompt only (CompactionRL); with none left, the oldest steps go.
    """
    messages = [*(view.transcript() if context is None else context), Message("user", instruction)]
    while view.count(messages) > view.prompt_tokens:
        sizes = [len(message.content) if message.role == "tool" else 0 for message in messages]
        longest = max(range(len(sizes)), key=sizes.__getitem__)
        if sizes[longest] > 1:
            text = messages[longest].content
            messages[longest] = attrs.evolve(messages[longest], content=text[: len(text) // 2])
        elif steps := [index for index, message in enumerate(messages) if message.role in ("assistant", "tool")]:
            del messages[steps[0]]
        else:
            break  # the opening itself is too long; the window would have refused it
    return messages


def spoken(text: str) -> str:
    """What a response says besides its thoughts: neither a closed ``<think>`` block nor one that was cut off."""
    return text.rpartition("</think>")[2].partition("<think>")[0].strip()


def _texts(arguments: Any) -> list[str]:
    return [str(value) for value in arguments.values()]


__all__ = ["FileSession", "PassiveSession", "spoken", "summary_prompt"]
