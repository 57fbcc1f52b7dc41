"""AgeMem (arXiv 2601.01885) as a memory of this toolkit, under its common protocol (paper C.1 and D.5).

The long-term store lives as long as the episode. Summary_context and Filter_context rewrite the active context, by the
policy's own call. Nothing is replaced under pressure: what passes the prompt limit ends the episode. The environment's
own boundary clears the context, as under every memory; the store stays.

Departures: an array of calls has length one. The encoder is a choice, since the paper does not name one. What it leaves
open: the summary is the policy's second, trained turn of that response, without an action slot; it stands as the reply
to the call.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from camg.protocols import Continue, EpisodeView, Kept, Replace, Step
from camg.types import Action, Boundary, BoundaryKind, Manifest, Message, Observation, StepResult, Tool
from camg.workspace.memory import PassiveSession, summary_prompt
from camg_agemem import tools as named
from camg_agemem.config import AgeMemConfig
from camg_agemem.dialect import AgeMemDialect
from camg_agemem.distractors import distraction
from camg_agemem.encoders import Encoder, encoder
from camg_agemem.store import Entry, Refused, Store

ABOUT = """\
Your context is bounded, and nothing of it is saved for you: once it is full the task is over. Add_memory keeps an entry
in a store that outlives the context; Retrieve_memory finds it again, Update_memory and Delete_memory change it.
Summary_context and Filter_context make room: the first replaces earlier rounds by your summary of them, the second
removes the messages that are about what you name."""
ABOUT_TERSE = "Add_memory keeps a note, Retrieve_memory finds it."

ASK = """\
Sum up the rounds above, which your summary will replace: intent, decisions, findings, open questions. Write the summary
and nothing else."""
ASK_TERSE = "sum up:"

MOST = 20  # entries that one call can show


class AgeMem:
    """``--memory agemem``. ``dialect``: AgeMem's own envelope for every call, or None for the policy's."""

    def __init__(self, config: AgeMemConfig) -> None:
        self.config = config
        self.tools: Sequence[Tool] = named.tools(aliases=config.aliases)
        self.dialect = AgeMemDialect() if config.dialect == "own" else None
        self._encoder = encoder(config)

    def instructions(self, *, terse: bool) -> str:
        """What the tools are for."""
        return ABOUT_TERSE if terse else ABOUT

    def open(self, view: EpisodeView) -> AgeMemSession:
        """One episode's store and context tools."""
        return AgeMemSession(view, self.config, self._encoder)


class AgeMemSession(PassiveSession):
    """Executes the six tools. A rewrite of the context waits for the next turn: the call's reply is shown by then."""

    def __init__(self, view: EpisodeView, config: AgeMemConfig, encoder: Encoder) -> None:
        super().__init__(view)
        self._config = config
        self._encoder = encoder
        self._store = Store(config.entries)
        self._rewrite: Callable[[], Replace] | None = None
        self._do: Mapping[str, Callable[..., str]] = {
            named.ADD: self._add,
            named.UPDATE: self._update,
            named.DELETE: self._delete,
            named.RETRIEVE: self._retrieve,
            named.SUMMARY: self._summary,
            named.FILTER: self._filter,
        }

    # ------------------------------------------------------------ the protocol
    def handle(self, action: Action) -> StepResult:
        """Execute one of the tools; what cannot be done is an error observation."""
        do = self._do.get(action.tool or "")
        if do is None:
            return super().handle(action)
        try:
            shown = do(**action.arguments)
        except Refused as error:
            shown = f"Error: {error}."
        return StepResult(Observation(shown=shown))

    def before_turn(self) -> Replace | None:
        """Do what Summary_context or Filter_context asked for."""
        rewrite, self._rewrite = self._rewrite, None
        return rewrite() if rewrite else None

    def at_boundary(self, boundary: Boundary) -> Replace | Continue:
        """Nothing is replaced under pressure, but with ``reset``; a declared boundary clears, rewrites as well."""
        if boundary.kind is BoundaryKind.PRESSURE and not self._config.reset:
            return Continue()
        self._rewrite = None
        noise = distraction(f"{self.view.task.id}:{self.turns}", self._config.distractors)
        return Replace("\n".join(filter(None, [noise, self._injected(self.view.brief())])))

    def after_action(self, action: Action, result: StepResult) -> StepResult:
        """With ``inject``, the entries nearest to what was just seen stand below it."""
        shown = result.observation.shown
        if action.tool in named.NAMES or not (found := self._injected(shown)):
            return result
        return attrs.evolve(result, observation=attrs.evolve(result.observation, shown=f"{shown}\n{found}"))

    def accesses(self, action: Action, before: Manifest, after: Manifest) -> bool:
        """A call of one of the six tools, or a response that tried one and did not parse."""
        return action.tool in named.NAMES or (action.tool is None and any(name in action.raw for name in named.NAMES))

    # ------------------------------------------------------------ the store
    def _add(self, content: str, metadata: Mapping[str, Any] | None = None, memory_type: str = "") -> str:
        metadata = dict(metadata or {}) | ({"memory_type": memory_type} if memory_type else {})
        self._check(content=content, metadata=metadata)
        return f"Kept as {self._store.add(content, self._embed(content), metadata, self._now)}."

    def _update(self, memory_id: str, content: str, metadata: Mapping[str, Any] | None = None) -> str:
        self._store.get(memory_id)
        self._check(content=content, metadata=metadata or {})
        self._store.update(memory_id, content, self._embed(content), metadata or {}, self._now)
        return f"Updated {memory_id}."

    def _delete(self, memory_id: str, confirmation: bool | None = None, confirmed: bool | None = None) -> str:
        self._store.get(memory_id)
        if not (confirmed if confirmation is None else confirmation):
            raise Refused(f"{memory_id} is kept, since confirmation is not true")
        self._store.delete(memory_id)
        return f"Deleted {memory_id}."

    def _retrieve(self, query: str, top_k: int | None = None, metadata_filter: Mapping[str, Any] | None = None) -> str:
        top_k = self._config.top_k if top_k is None else top_k
        if not 1 <= top_k <= MOST:
            raise Refused(f"top_k must be from 1 to {MOST}, got {str(top_k)[:20]}")
        self._check(query=query, metadata_filter=metadata_filter or {})
        found = self._store.nearest(self._embed(query), top_k, metadata_filter or {})
        return (
            "\n".join(_row(entry, score) for entry, score in found) or f"Nothing fits among {len(self._store)} entries."
        )

    # ------------------------------------------------------------ the context
    def _summary(self, span: str) -> str:
        earlier = self.view.steps()[:-1]
        whole = span == "all" or (self._config.aliases and span == "full")
        if not whole and not (span.isascii() and span.isdigit() and len(span) < 7 and int(span)):
            raise Refused(f'span must be "all" or a number of rounds like "3", got {_plain(span)!r}')
        if not earlier:
            raise Refused("there are no earlier rounds to sum up")
        dropped = earlier if whole else earlier[-int(span) :]
        self._rewrite = lambda: self._sum_up(dropped)
        return f"Summing up {len(dropped)} rounds."

    def _sum_up(self, dropped: Sequence[Step]) -> Replace:
        view = self.view
        context = list(itertools.takewhile(lambda message: message.role != "assistant", view.transcript()))
        for step in dropped:
            context += [Message("assistant", step.response), Message("tool", step.reply)]
        prompt = summary_prompt(view, ASK_TERSE if view.codec.terse else ASK, context)
        text = view.generate(prompt, limit=self._config.summary_tokens, trained=True, slots=0)
        text = text.rpartition("</think>")[2].strip()  # what it thought on the way is no summary
        gone, last = {step.turn for step in dropped}, view.steps()[-1].turn
        reply = f"Summary of {len(dropped)} rounds: {text}"
        kept = [step.turn for step in view.steps() if step.turn not in gone]
        return Replace(keep=[Kept(turn, reply=reply if turn == last else None) for turn in kept])

    def _filter(self, criteria: str) -> str:
        self._check(criteria=criteria)
        *earlier, current = self.view.steps()
        texts = [text for step in earlier for text in (step.response, step.reply)]
        wanted, *rows = self._encode([criteria, *texts])
        near = [
            bool(text) and float(row @ wanted) >= self._config.threshold for row, text in zip(rows, texts, strict=True)
        ]
        if not any(near):
            return f"No message is about that, of {sum(map(bool, texts))}."
        keep = []
        for step, response, reply in zip(earlier, near[::2], near[1::2], strict=True):
            if (step.response and not response) or (step.reply and not reply):
                keep.append(Kept(step.turn, response=not response, reply="" if reply else None))
        keep.append(Kept(current.turn))
        self._rewrite = lambda: Replace(keep=keep)
        return f"Removed {sum(near)} of {sum(map(bool, texts))} messages."

    # ------------------------------------------------------------ its recipe's stages
    def _injected(self, query: str) -> str:
        """What the store holds near to ``query``; nothing without ``inject``."""
        if not (self._config.inject and len(self._store)):
            return ""
        found = self._store.nearest(self._embed(query), self._config.top_k, {})
        return "\n".join(["[memory]", *(_row(entry, score) for entry, score in found)])

    # ------------------------------------------------------------ helpers
    @property
    def _now(self) -> int:
        """The step number of the response that is being executed: the timestamp of an entry."""
        return self.turns - 1

    def _embed(self, text: str) -> NDArray[np.float32]:
        (row,) = self._encode([text])
        return np.asarray(row, dtype=np.float32)

    def _encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.record("agemem", embedding_calls=1)
        return self._encoder.encode(texts)

    def _check(self, **values: Any) -> None:
        """Refuse what is too long or no valid text, before anything is changed."""
        for name, value in values.items():
            try:
                text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                size = len(text.encode())
            except RecursionError:
                raise Refused(f"{name} is nested too deeply") from None
            except ValueError:
                raise Refused(f"{name} holds characters that are no valid Unicode text") from None
            if size > self._config.text_bytes:
                raise Refused(f"{name} has {size} bytes, the limit is {self._config.text_bytes}")
            if isinstance(value, str) and not value.strip():
                raise Refused(f"{name} is empty")


def _row(entry: Entry, score: float) -> str:
    return f"{entry.id} ({score:.2f}): {entry.content}"


def _plain(text: str) -> str:
    """A short, printable piece of what the policy wrote."""
    return text[:40].encode(errors="replace").decode()


__all__ = ["AgeMem", "AgeMemSession"]
