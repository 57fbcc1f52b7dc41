"""One episode's store: a ``mem0.Memory``, the endpoint that answers it, and a ledger of what it asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from attrs import define

from camg.errors import InfrastructureFault
from camg.serve import ChatRequest, Completion, Endpoint
from camg.types import Message
from camg.workspace.encoders import HashingEncoder, Vectors
from camg_mem0 import package

MODEL = "policy"
EPISODE = "episode"  # the run_id: a store holds no other

Complete = Callable[[Sequence[Message]], tuple[str, int, int]]
"""Prompt -> answer, tokens of the prompt, tokens of the answer."""


class TooLong(Exception):
    """A prompt passes the policy's limit: what the package asked for cannot be answered."""


@define
class Ledger:
    """What the package caused."""

    model_calls: float = 0.0
    model_tokens: float = 0.0
    embedding_calls: float = 0.0

    def costs(self) -> dict[str, float]:
        """As an event's cost, and begin anew."""
        costs = {name: getattr(self, name) for name in ("model_calls", "model_tokens", "embedding_calls")}
        self.model_calls = self.model_tokens = self.embedding_calls = 0.0
        return costs


class Store:
    """``add`` and ``search`` of the package.

    Raises :class:`InfrastructureFault` where the endpoint or a search fails, and what ``complete`` raises, but for
    :class:`TooLong`. What the policy's answer breaks in the package is no fault: nothing is added then.
    """

    def __init__(self, complete: Complete, seconds: float) -> None:
        self.ledger = Ledger()
        self._complete = complete
        self._raised: BaseException | None = None
        encoder = _Counting(self.ledger)
        package.load()
        self._endpoint = Endpoint(self._answer, model=MODEL, encoder=encoder)
        try:
            self._memory = package.memory(self._endpoint.address, MODEL, "hashing", encoder.dimensions, seconds)
        except BaseException:
            self._endpoint.close()
            raise

    def add(self, messages: Sequence[Message]) -> tuple[int, str]:
        """Have memories extracted. Returns how many, and what went wrong with the answer (empty: nothing)."""
        rows = [{"role": _ROLES.get(message.role, "user"), "content": message.content} for message in messages]
        try:
            found = self._memory.add(rows, run_id=EPISODE)
        except Exception as error:
            self._reraise(error)
            return 0, f"{type(error).__name__}: {str(error)[:200]}"
        return len(found["results"]), ""

    def search(self, query: str, top_k: int, threshold: float) -> list[str]:
        """The memories nearest to ``query``, best first; none for a query without text."""
        if not query.strip():
            return []
        try:
            found = self._memory.search(query, filters={"run_id": EPISODE}, top_k=top_k, threshold=threshold)
        except Exception as error:
            self._reraise(error)
            raise InfrastructureFault(f"mem0ai could not search: {type(error).__name__}: {error}") from error
        return [str(row["memory"]) for row in found["results"]]

    def close(self) -> None:
        """Forget everything."""
        package.close(self._memory)
        self._endpoint.close()

    def _answer(self, request: ChatRequest) -> Completion:
        """On a thread of the endpoint, while the episode's own waits for the package."""
        try:
            text, prompt, answer = self._complete(request.messages)
        except BaseException as error:
            self._raised = error
            raise
        self.ledger.model_calls += 1
        self.ledger.model_tokens += prompt + answer
        return Completion(text, prompt, answer, ended=True)

    def _reraise(self, error: Exception) -> None:
        """What is not the policy's doing. The package wraps all that happens in errors of its own."""
        from openai import APIConnectionError

        raised, self._raised = self._raised, None
        if raised is not None and not isinstance(raised, TooLong):
            raise raised
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, APIConnectionError):  # time limits are of this kind
                raise InfrastructureFault(f"mem0ai could not reach its endpoint: {cause}") from error
            cause = cause.__cause__


class _Counting:
    """The hashing encoder, counted."""

    def __init__(self, ledger: Ledger) -> None:
        self._encoder = HashingEncoder()
        self._ledger = ledger
        self.dimensions = self._encoder.dimensions

    def encode(self, texts: Sequence[str]) -> Vectors:
        self._ledger.embedding_calls += 1
        return self._encoder.encode(texts)


_ROLES: dict[str, Any] = {"assistant": "assistant"}  # the package drops messages of role `tool`
