"""A policy that answers chats: each request is a speaker of its own, without tools and without memory."""

from __future__ import annotations

import itertools
import threading
from pathlib import Path

from camg.protocols import Policy, Sampler
from camg.serve.wire import ChatRequest, Completion, Refusal
from camg.types import Sampling, StopReason, Task

SAMPLINGS = 4  # engines at a time, each with the weights in memory
TASK = Task(id="serve", env="serve", split="serve", budget=1)
"""What a speaker is opened for: there is no environment."""


class Voice:
    """A :class:`~camg.serve.wire.Completer` over a policy.

    Args:
        policy: whose codec and sampler answer.
        sampling: how answers are drawn where a request does not say. Another temperature or ``top_p`` starts a further
            engine, at most :data:`SAMPLINGS`; what passes that is refused.
        prompt_tokens: limit of a prompt.
        response_tokens: limit of an answer, whatever a request says.
        weights: a folder of published versions to follow; None: the policy's own.
        seed: of the first answer; each further one has the next. A request's own ``seed`` goes before it.

    Raises what :meth:`Policy.sampler` raises.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        sampling: Sampling,
        prompt_tokens: int,
        response_tokens: int,
        weights: Path | None = None,
        seed: int = 0,
    ) -> None:
        self._policy = policy
        self._sampling = sampling
        self._prompt_tokens = prompt_tokens
        self._response_tokens = response_tokens
        self._weights = weights
        self._seeds = itertools.count(seed)
        self._lock = threading.Lock()
        self._samplers: dict[Sampling, Sampler] = {}
        self._sampler(sampling)

    def __call__(self, request: ChatRequest) -> Completion:
        """Answer. Raises :class:`Refusal` for what does not fit, and what the engine raises."""
        prompt = self._prompt(request)
        limit = min(request.limit or self._response_tokens, self._response_tokens)
        seed = next(self._seeds) if request.seed is None else request.seed
        speaker = self._sampler(self._wanted(request)).open(TASK, seed)
        try:
            response = speaker.generate(prompt, limit=limit)
        finally:
            speaker.close()
        ended = response.stop_reason is StopReason.EOS
        return Completion(response.text, len(prompt), len(response.token_ids), ended)

    def _prompt(self, request: ChatRequest) -> tuple[int, ...]:
        try:
            prompt = self._policy.codec.open(request.messages, ())
        except Exception as error:  # chat templates refuse orders of roles by raising whatever their engine raises
            raise Refusal(f"The model's chat template refuses these messages: {error}", param="messages") from error
        if len(prompt) > self._prompt_tokens:
            message = f"Expected a prompt of at most {self._prompt_tokens} tokens, got {len(prompt)}."
            raise Refusal(message, code="context_length_exceeded", param="messages")
        return prompt

    def _wanted(self, request: ChatRequest) -> Sampling:
        own = self._sampling
        temperature = own.temperature if request.temperature is None else request.temperature
        top_p = own.top_p if request.top_p is None else request.top_p
        if temperature == 0 or top_p == 0:
            return Sampling(temperature=0.0)
        return Sampling(temperature, top_p, own.top_k)

    def _sampler(self, sampling: Sampling) -> Sampler:
        with self._lock:
            if sampling not in self._samplers:
                if len(self._samplers) >= SAMPLINGS:
                    known = ", ".join(f"{kept.temperature:g}/{kept.top_p:g}" for kept in self._samplers)
                    raise Refusal(
                        f"This server samples in at most {SAMPLINGS} ways: Expected a temperature/top_p among {known}.",
                        param="temperature",
                    )
                self._samplers[sampling] = self._policy.sampler(sampling, weights=self._weights)
            return self._samplers[sampling]

    def close(self) -> None:
        """End the engines."""
        with self._lock:
            for sampler in self._samplers.values():
                sampler.close()
            self._samplers.clear()
