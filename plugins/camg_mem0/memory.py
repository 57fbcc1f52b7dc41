"""Mem0 (mem0ai 2.x) as a memory: what leaves the context is added to its store, what is near comes back.

At each boundary a manager takes two steps, each charged one action: ``add`` of the steps that are evicted (one call of
the policy, untrained, on the package's extraction prompt) and ``search`` with the task and the latest observation. The
memories found open the fresh context. The policy that extracts is the one that acts; a baseline that trains nothing
has it frozen. Calls within a step are in the cost record.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from camg.protocols import EpisodeView, Kept, Replace
from camg.types import Boundary, Message, Tool
from camg.workspace.memory import PassiveSession, spoken
from camg_mem0 import package
from camg_mem0.config import Mem0Config
from camg_mem0.store import Store, TooLong

NOTE = "Your earlier context was replaced. What your memory holds that may matter now:\n{memories}"
NOTE_TERSE = "notes: {memories}"
NOTHING = "(nothing)"


class Mem0:
    """``--memory mem0``: no tools; it happens to the policy.

    Raises as :func:`camg_mem0.package.load` does.
    """

    tools: Sequence[Tool] = ()

    def __init__(self, config: Mem0Config) -> None:
        package.load()
        self.config = config

    def instructions(self, *, terse: bool) -> str:
        """None: the policy has no part in it."""
        return ""

    def open(self, view: EpisodeView) -> Mem0Session:
        """One episode's store."""
        return Mem0Session(view, self.config)


class Mem0Session(PassiveSession):
    """Adds and searches. A store belongs to one episode."""

    def __init__(self, view: EpisodeView, config: Mem0Config) -> None:
        super().__init__(view)
        self._config = config
        self._store = Store(self._complete, config.seconds)
        self._added = 0  # turns before this one are in the store

    def before_turn(self) -> Replace | None:
        """With ``every_n``, refresh the memories that stand above the steps; these stay."""
        steps, every = self.view.steps(), self._config.every_n
        if not every or not steps or self.turns - max(self._added, steps[0].turn) < every:
            return None
        return Replace(self._manage(), keep=[Kept(step.turn) for step in steps])

    def at_boundary(self, boundary: Boundary) -> Replace:
        """A fresh context with what is near to the task and to what was seen last."""
        return Replace(self._manage())

    def close(self) -> None:
        """The store goes with its episode."""
        self._store.close()

    # ------------------------------------------------------------ the manager
    def _manage(self) -> str:
        self._add()
        memories = self._search()
        lines = [memory.encode()[: self._config.memory_bytes].decode(errors="ignore") for memory in memories]
        if self.view.codec.terse:
            return NOTE_TERSE.format(memories="\n".join(lines) or NOTHING)
        return NOTE.format(memories="\n".join(f"- {line}" for line in lines) or NOTHING)

    def _add(self) -> None:
        messages = self._fitted([message for message in self._new_messages() if message.content.strip()])
        self._added = self.turns
        if not messages:
            return
        count, fault = self._store.add(messages)
        self.record(
            "mem0-add", slots=1, text=fault or f"{count} added", memories=float(count), **self._store.ledger.costs()
        )

    def _search(self) -> list[str]:
        steps = self.view.steps()
        query = "\n".join([self.view.brief(), steps[-1].reply if steps else ""])
        query = query.encode(errors="replace")[-self._config.query_bytes :].decode(errors="ignore")
        memories = self._store.search(query, self._config.top_k, self._config.threshold)
        self.record("mem0-search", slots=1, text="\n".join(memories), **self._store.ledger.costs())
        return memories

    def _new_messages(self) -> list[Message]:
        """The steps that the store has not seen, with the opening of the context if its first step is among them."""
        steps = self.view.steps()
        fresh = [step for step in steps if step.turn >= self._added]
        messages = [] if not steps or fresh[:1] != list(steps[:1]) else [Message("user", self.view.brief())]
        for step in fresh:
            messages += [Message("assistant", spoken(step.response)), Message("user", step.reply)]
        return [attrs.evolve(message, content=_valid(message.content)) for message in messages]

    def _fitted(self, messages: list[Message]) -> list[Message]:
        """Within their share of the prompt limit: the longest is halved, again and again."""
        limit = int(self._config.new_share * self.view.prompt_tokens)
        while messages and self.view.count(messages) > limit:
            longest = max(range(len(messages)), key=lambda place: len(messages[place].content))
            text = messages[longest].content
            messages[longest] = attrs.evolve(messages[longest], content=text[: len(text) // 2])
            if len(text) < 2:
                messages.pop(longest)
        return messages

    def _complete(self, messages: Sequence[Message]) -> tuple[str, int, int]:
        """The policy's answer to the package."""
        prompt = self.view.count(messages)
        if prompt > self.view.prompt_tokens:
            raise TooLong(f"the extraction prompt has {prompt} tokens, the limit is {self.view.prompt_tokens}")
        said = self.view.generate(messages, limit=self._config.extraction_tokens, trained=False)
        return _valid(spoken(said)), prompt, len(self.view.codec.encode(said))


def _valid(text: str) -> str:
    """Without halves of surrogate pairs, which neither JSON over HTTP nor SQLite can hold."""
    return text.encode(errors="replace").decode()


__all__ = ["Mem0", "Mem0Session"]
