"""MemAgent's overwritten memory: given the task, the memory and a section, the policy writes the memory anew.

The section is what happened since the last overwrite. The completion *is* the new memory, whatever it says; it is a
response of the policy, trained as any other.
"""

from __future__ import annotations

from collections.abc import Sequence

from camg.protocols import EpisodeView, Replace
from camg.types import Boundary, Message, Tool
from camg.workspace.limits import truncate_tokens
from camg.workspace.memory import PassiveSession, spoken
from camg_managers.config import OverwriteConfig

PROMPT = """\
{task}

Your memory so far:
{memory}

What happened since:
{section}

Write your memory anew, and nothing else: it replaces the one above, and what it does not hold is gone."""
PROMPT_TERSE = "{task}\nnotes: {memory}\n{section}\nnew notes:"

NOTE = "Your memory:\n{memory}"
NOTE_TERSE = "notes: {memory}"
ABOUT = "Your context is bounded. When it is full you write your memory anew, and go on with that alone."


class Overwrite:
    """``--memory overwrite``: no tools of its own."""

    tools: Sequence[Tool] = ()

    def __init__(self, config: OverwriteConfig) -> None:
        self.config = config

    def instructions(self, *, terse: bool) -> str:
        """That the memory is all that stays."""
        return "" if terse else ABOUT

    def open(self, view: EpisodeView) -> OverwriteSession:
        """One episode's memory."""
        return OverwriteSession(view, self.config)


class OverwriteSession(PassiveSession):
    """Holds the memory."""

    def __init__(self, view: EpisodeView, config: OverwriteConfig) -> None:
        super().__init__(view)
        self._config = config
        self._memory = ""

    def at_boundary(self, boundary: Boundary) -> Replace:
        """Overwrite, then a fresh context with the memory."""
        config, terse = self._config, self.view.codec.terse
        said = self.view.generate(self._prompt(), limit=config.tokens, trained=True, slots=int(config.slot))
        self._memory = spoken(said)
        return Replace((NOTE_TERSE if terse else NOTE).format(memory=self._memory))

    def _prompt(self) -> list[Message]:
        """Task, memory and section; a section that does not fit loses its middle."""
        view, template = self.view, PROMPT_TERSE if self.view.codec.terse else PROMPT
        section = "\n".join(f"> {step.response}\n{step.reply}" for step in view.steps())

        def messages(text: str) -> list[Message]:
            return [Message("user", template.format(task=view.brief(), memory=self._memory or "-", section=text))]

        room = view.prompt_tokens - view.count(messages(""))
        while view.count(messages(section)) > view.prompt_tokens and room > 0:
            section = truncate_tokens(section, room, view.codec)
            room -= 8  # a joint may cost a few tokens
        return messages(section)
