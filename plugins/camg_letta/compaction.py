"""The sliding window of Letta: when the context is nearly full its oldest messages give way to a summary of them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import takewhile

from camg.protocols import EpisodeView, Step
from camg.types import Message
from camg.workspace.memory import spoken, summary_prompt
from camg_letta.config import LettaConfig

ASK = """\
The messages above are about to be removed from your context. Sum them up for yourself, in at most {words} words: the
goal and requests; what was done, found and decided, with names, paths and values; errors; what is still to do. If they
open with a summary of earlier messages, take over what still matters of it. Write the summary and nothing else."""
ASK_TERSE = "sum up:"


class Window:
    """How full the context is, and what falls out of it."""

    def __init__(self, view: EpisodeView, config: LettaConfig) -> None:
        self._view = view
        self._config = config

    @property
    def threshold(self) -> int:
        """Tokens from which on the context is compacted: 24,576 of a window of 30,720 by default."""
        window = self._view.prompt_tokens
        return window - min(self._config.reserve_tokens, int(self._config.reserve_share * window))

    def full(self) -> bool:
        """Is the context, with an observation that is not shown yet, past the threshold?"""
        return self._view.count(self._view.transcript()) > self.threshold

    def hopeless(self) -> bool:
        """Would it be, without any step?"""
        return self._view.count(self._opening()) > self.threshold

    def split(self) -> tuple[Sequence[Step], Sequence[Step]]:
        """The steps that are evicted, and those that stay.

        Of the messages after the opening the first ``evict_from`` go (up to a response, where a step begins), then
        ``evict_step`` more as long as what stays takes ``keep_below`` of the window or more.
        """
        steps, opening, config = self._view.steps(), self._opening(), self._config
        enough = config.keep_below * self._view.prompt_tokens
        tries = math.ceil((1 - config.evict_from) / config.evict_step - 1e-9)
        for attempt in range(tries + 1):
            share = min(config.evict_from + attempt * config.evict_step, 1.0)
            first = min(math.ceil(share * len(steps) - 1e-9), len(steps))
            if self._view.count([*opening, *_messages(steps[first:])]) < enough:
                break
        return steps[:first], steps[first:]

    def summary(self, evicted: Sequence[Step], asking: str = "") -> tuple[str, int]:
        """The policy's summary of the opening and the evicted steps, untrained, and the tokens it took.

        ``asking``: what the environment wants kept.
        """
        view, config = self._view, self._config
        ask = (
            ASK_TERSE
            if view.codec.terse
            else "\n\n".join(filter(None, (asking, ASK.format(words=config.summary_words))))
        )
        prompt = summary_prompt(view, ask, [*self._opening(), *_messages(evicted)])
        said = view.generate(prompt, limit=config.summary_tokens, trained=False)
        tokens = view.count(prompt) + len(view.codec.encode(said))
        return first_words(spoken(said), config.summary_words), tokens

    def _opening(self) -> list[Message]:
        return list(takewhile(lambda message: message.role != "assistant", self._view.transcript()))


def first_words(text: str, limit: int) -> str:
    """At most ``limit`` words, with the line breaks between them."""
    for count, word in enumerate(re.finditer(r"\S+", text), start=1):
        if count == limit:
            return text[: word.end()]
    return text


def _messages(steps: Sequence[Step]) -> list[Message]:
    pairs = ((Message("assistant", step.response), Message("tool", step.reply)) for step in steps)
    return [message for pair in pairs for message in pair]
