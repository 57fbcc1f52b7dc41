"""Policies: models that speak, and the dialects of their calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from camg.types import Action, Message, Response, Sampling, Task, Tool

if TYPE_CHECKING:
    import torch


class Dialect(Protocol):
    """How tools are described and calls are written and parsed."""

    @property
    def name(self) -> str: ...

    def describe(self, tools: Sequence[Tool]) -> str:
        """Instructions for the prompt; empty when the chat template itself describes the tools."""

    def parse(self, text: str, tools: Sequence[Tool]) -> Action:
        """Strict: exactly one call of a known tool, at the end. Never raises; faults are in the Action."""

    def render(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """The text of a call (for demonstrators, scripts and probes): ``parse(render(x)) == x``."""


class ChatCodec(Protocol):
    """Messages -> token ids, append-only. Sampled text is never tokenised again."""

    @property
    def dialect(self) -> Dialect: ...
    @property
    def terse(self) -> bool:
        """True for the embedded policy: texts in their short form."""

    @property
    def eos_id(self) -> int: ...

    def speaking(self, dialect: Dialect) -> ChatCodec:
        """The same codec, with calls written in ``dialect``."""

    def open(self, messages: Sequence[Message], tools: Sequence[Tool]) -> tuple[int, ...]:
        """The ids of a fresh context, ending with the generation prompt."""

    def extend(self, messages: Sequence[Message], *, ended: bool) -> tuple[int, ...]:
        """The template's exact ids between a response and the next one. ``ended``: the end token was sampled."""

    def encode(self, text: str) -> tuple[int, ...]: ...

    def decode(self, ids: Sequence[int]) -> str: ...


class Speaker(Protocol):
    """The policy's voice in one episode."""

    def generate(self, prompt: Sequence[int], *, limit: int) -> Response:
        """Sample one response (thread-safe across speakers, blocks). Raises :class:`InfrastructureFault`."""

    def close(self) -> None: ...


class Sampler(Protocol):
    """An engine that serves many episodes at once."""

    @property
    def version(self) -> int: ...

    def open(self, task: Task, seed: int) -> Speaker: ...

    def close(self) -> None: ...


@runtime_checkable
class Policy(Protocol):
    """A model: how it talks, how it is sampled, and (where it can be trained) its networks."""

    @property
    def codec(self) -> ChatCodec: ...

    def speak(self, dialect: Dialect) -> None:
        """Write calls in ``dialect`` from now on: a memory's own envelope. Called before :meth:`sampler`."""

    def sampler(self, sampling: Sampling, *, weights: Path | None = None, lockstep: bool = False) -> Sampler:
        """Start an engine. ``weights``: a folder of published versions to follow (:mod:`camg.weights`).
        ``lockstep``: requests of all open speakers are collected, ordered and decoded together, so that the result
        does not depend on thread timing (``--sync``).
        """

    def actor(self) -> torch.nn.Module:
        """A causal LM: ``module(input_ids, ...)`` as in transformers. Raises :class:`UsageError` if untrainable."""

    def critic(self) -> torch.nn.Module:
        """A backbone of its own, started as a copy of the actor, with a zero scalar head (method: Learning)."""


Script = Callable[[str], str]
"""A scripted policy for one episode: decoded context -> response text."""
