"""Continuous batching: one thread decodes for the episodes in flight.

Requests of many episode threads join the running batch as they come. While the weights stay the same, a speaker's
cache is kept across the turns of a segment and only the new suffix is prefilled. New weights are noticed between
steps: nothing more is admitted, the responses in flight end on the old weights, then the weights are swapped and every
cache is dropped. A response therefore never mixes versions, and carries the one it came from.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path

from attrs import define, field
from torch import Tensor

from camg import weights as published
from camg.errors import InfrastructureFault, UsageError
from camg.protocols import ChatCodec
from camg.types import Response, Sampling, StopReason, Task
from camg_policies.backends import Backend, Track
from camg_policies.sampling import Stream, draw

_POLL_SECONDS = 0.02  # between looks for new weights
_CHECK_SECONDS = 1.0  # between a waiting speaker's looks whether the engine lives


@define(eq=False)
class _Request:
    """One response in the making."""

    track: Track
    prompt: list[int]
    limit: int
    stream: Stream
    ids: list[int] = field(factory=list)
    logprobs: list[float] = field(factory=list)
    version: int = -1
    stop: StopReason | None = None
    cancelled: bool = False
    done: threading.Event = field(factory=threading.Event)


class EngineSpeaker:
    """One episode's voice: a random stream and a cached context of its own."""

    def __init__(self, engine: Engine, seed: int, deadline: float) -> None:
        self._engine = engine
        self._seed = seed
        self._deadline = deadline
        self._responses = 0
        self.track = Track()

    def generate(self, prompt: Sequence[int], *, limit: int) -> Response:
        """Sample one response of at most ``limit`` tokens after ``prompt``; blocks.

        Raises:
            UsageError: an empty prompt or a limit below 1.
            InfrastructureFault: the engine died, was closed, or missed the deadline.
        """
        if not prompt or limit < 1:
            raise UsageError(
                f"Expected a prompt and a limit of at least 1 token, got {len(prompt)} ids, limit {limit}."
            )
        started = time.monotonic()
        request = _Request(self.track, list(prompt), limit, Stream(self._seed, self._responses))
        self._responses += 1
        self._engine.submit(request)
        while not request.done.wait(_CHECK_SECONDS):
            self._engine.check()
            if time.monotonic() - started > self._deadline:
                request.cancelled = True
                raise InfrastructureFault(
                    f"The engine gave no response within {self._deadline:g} s.",
                    hint="Raise the policy's option `deadline`, or lower rollout.slots or rollout.response_tokens.",
                )
        self._engine.check(request.stop is not None)
        stop = request.stop or StopReason.LENGTH
        spoken = request.ids[:-1] if stop is StopReason.EOS else request.ids
        return Response(
            token_ids=tuple(request.ids),
            logprobs=tuple(request.logprobs),
            stop_reason=stop,
            policy_version=request.version,
            text=self._engine.codec.decode(spoken),
            seconds=time.monotonic() - started,
        )

    def close(self) -> None:
        """Give the cache back. Safe to call twice."""
        self._engine.leave(self)


class Engine:
    """A :class:`camg.protocols.Sampler` over a backend.

    Args:
        backend: decodes; used by the engine's thread alone.
        codec: its end token ends a response.
        sampling: temperature and support of every response.
        weights: a folder of published versions to follow (:mod:`camg.weights`); versions count from there. None: the
            backend's own weights, version 0.
        lockstep: wait until every open speaker has a request, order the requests by when their speakers opened, and
            decode them as one batch to the end. Given the order in which speakers open, results are the same to the
            last bit, whatever the threads do. Open the speakers of a batch before their threads start.
        deadline: seconds that one response may take.
    """

    def __init__(
        self,
        backend: Backend,
        codec: ChatCodec,
        sampling: Sampling,
        *,
        weights: Path | None = None,
        lockstep: bool = False,
        deadline: float = 1800.0,
    ) -> None:
        self.codec = codec
        self._backend = backend
        self._sampling = sampling
        self._eos_id = codec.eos_id
        self._weights = weights
        self._lockstep = lockstep
        self._deadline = deadline
        self._version = 0
        self._first = True  # no published version is in use yet
        self._looked = 0.0
        self._stale = weights is not None  # newer weights wait for the batch to drain
        self._lock = threading.Condition()
        self._speakers: dict[int, EngineSpeaker] = {}  # by identity, in the order of opening
        self._waiting: list[_Request] = []
        self._leaving: list[Track] = []
        self._active: list[_Request] = []
        self._closing = False
        self._fault: BaseException | None = None
        self.sampled_tokens = 0
        self._thread = threading.Thread(target=self._run, name="camg-engine", daemon=True)
        self._thread.start()

    # ------------------------------------------------------------ called by episode threads
    @property
    def version(self) -> int:
        """The version of the weights in use."""
        return self._version

    def open(self, task: Task, seed: int) -> EngineSpeaker:
        """A speaker whose responses are a function of ``seed``, weights and prompts."""
        self.check()
        speaker = EngineSpeaker(self, seed, self._deadline)
        with self._lock:
            self._speakers[id(speaker)] = speaker
        return speaker

    def submit(self, request: _Request) -> None:
        """Queue a request."""
        with self._lock:
            self._waiting.append(request)
            self._lock.notify_all()
        self.check()

    def leave(self, speaker: EngineSpeaker) -> None:
        """A speaker closes; in lockstep the others need not wait for it any more."""
        with self._lock:
            if self._speakers.pop(id(speaker), None) is not None:
                self._leaving.append(speaker.track)
                self._lock.notify_all()

    def check(self, answered: bool = False) -> None:
        """Raise :class:`InfrastructureFault` with the cause if the engine can answer no more."""
        if answered:
            return
        if self._fault is not None:
            cause = f"{type(self._fault).__name__}: {self._fault}"
            raise InfrastructureFault(f"The engine died: {cause}") from self._fault
        if self._closing or not self._thread.is_alive():
            raise InfrastructureFault("The engine is closed.")

    def close(self) -> None:
        """End the thread; whoever still waits gets an :class:`InfrastructureFault`."""
        with self._lock:
            self._closing = True
            self._lock.notify_all()
        self._thread.join(timeout=60)

    # ------------------------------------------------------------ the engine's thread
    def _run(self) -> None:
        try:
            while self._wait():
                self._follow()
                if self._lockstep:
                    self._batch()
                else:
                    self._step()
        except BaseException as fault:  # whatever it was: the waiting episodes must learn of it
            self._fault = fault
        finally:
            with self._lock:
                self._closing = True
                for request in (*self._waiting, *self._active):
                    request.done.set()

    def _wait(self) -> bool:
        """Sleep until there is something to decode; False when the engine is to end."""
        with self._lock:
            while not (self._closing or self._active or self._ready()):
                self._lock.wait()
            for track in self._leaving:
                self._backend.release(track)
            self._leaving.clear()
            return not self._closing

    def _ready(self) -> bool:
        if not self._lockstep:
            return bool(self._waiting)
        return bool(self._waiting) and len(self._waiting) >= len(self._speakers)

    def _follow(self) -> None:
        """Notice newer weights, and swap them in when nothing is in flight."""
        if self._weights is None:
            return
        now = time.monotonic()
        if self._lockstep or now - self._looked > _POLL_SECONDS:
            self._looked = now
            newest = published.latest(self._weights)
            self._stale = newest is not None and (newest > self._version or self._first)
        if self._stale and not self._active:
            found = published.follow(self._weights, newer_than=None if self._first else self._version)
            if found is not None:
                version, state = found
                self._backend.load(state)
                self._version, self._first = version, False
            self._stale = False

    def _admit(self) -> list[_Request]:
        """Take the waiting requests into the batch and prefill them."""
        with self._lock:
            taken, self._waiting = [r for r in self._waiting if not r.cancelled], []
            if self._lockstep:
                order = {id(speaker.track): place for place, speaker in enumerate(self._speakers.values())}
                taken.sort(key=lambda request: order.get(id(request.track), len(order)))
            self._active += taken  # from here on a fault of the engine reaches them
        if taken:
            for request in taken:
                request.version = self._version
                request.track.prompt = request.prompt
            self._extend(taken, self._backend.prefill([request.track for request in taken]))
        return taken

    def _step(self) -> None:
        """Admit what waits (unless the batch is draining), then one token for every response in flight."""
        if not self._stale:
            self._admit()
        self._retire(self._active)
        if self._active:
            self._decode(self._active)
            self._retire(self._active)

    def _batch(self) -> None:
        """Lockstep: the requests of all open speakers, from prefill to the last end token; answered together."""
        batch = self._admit()
        running = [request for request in batch if request.stop is None]
        while running and not self._closing:
            self._decode(running)
            running = [request for request in running if request.stop is None and not request.cancelled]
        self._retire(batch)

    def _decode(self, requests: Sequence[_Request]) -> None:
        tokens = [request.ids[-1] for request in requests]
        self._extend(requests, self._backend.decode([request.track for request in requests], tokens))

    def _extend(self, requests: Sequence[_Request], logits: Tensor) -> None:
        ids, logprobs = draw(logits, [request.stream.next() for request in requests], self._sampling)
        self.sampled_tokens += len(ids)
        for request, token, logprob in zip(requests, ids, logprobs, strict=True):
            request.ids.append(token)
            request.logprobs.append(logprob)
            if token == self._eos_id:
                request.stop = StopReason.EOS
            elif len(request.ids) >= request.limit:
                request.stop = StopReason.LENGTH

    def _retire(self, requests: Sequence[_Request]) -> None:
        """Answer what is finished and drop what nobody waits for."""
        finished = [request for request in requests if request.stop is not None or request.cancelled]
        if finished:
            self._active = [request for request in self._active if request not in finished]
            for request in finished:
                request.done.set()
