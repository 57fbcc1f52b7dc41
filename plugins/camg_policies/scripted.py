"""``--policy scripted``: a Python function speaks, without a model. For oracles, demonstrations and tests."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from camg.episode.actions import DIALECTS
from camg.episode.chat import ByteCodec
from camg.errors import ConfigError, UsageError
from camg.protocols import ChatCodec, Dialect, Script
from camg.specs import resolve
from camg.types import Response, Sampling, StopReason, Task
from camg_policies.config import ScriptedConfig

ScriptFactory = Callable[[Task, int, Dialect], Script]

_OF_ENVIRONMENT = ("oracle", "demonstrator")


class ScriptedSpeaker:
    """Asks the script for each response and encodes what it says."""

    def __init__(self, script: Script, codec: ChatCodec) -> None:
        self._script = script
        self._codec = codec

    def generate(self, prompt: Sequence[int], *, limit: int) -> Response:
        """The script's text and the end token, cut at ``limit``; log-probs are 0 (it is certain)."""
        started = time.monotonic()
        text = self._script(self._codec.decode(prompt))
        ids = (*self._codec.encode(text), self._codec.eos_id)
        stop = StopReason.EOS
        if len(ids) > limit:
            ids, stop = ids[:limit], StopReason.LENGTH
            text = self._codec.decode(ids)
        return Response(
            token_ids=ids,
            logprobs=(0.0,) * len(ids),
            stop_reason=stop,
            policy_version=0,
            text=text,
            seconds=time.monotonic() - started,
        )

    def close(self) -> None:
        """Nothing is held."""


class ScriptedSampler:
    """Opens a script for each episode; never batches, so every mode is deterministic."""

    version = 0

    def __init__(self, codec: ChatCodec, factory: Callable[[Task], ScriptFactory]) -> None:
        self._codec = codec
        self.factory = factory

    def open(self, task: Task, seed: int) -> ScriptedSpeaker:
        """The script of one episode."""
        return ScriptedSpeaker(self.factory(task)(task, seed, self._codec.dialect), self._codec)

    def close(self) -> None:
        """Nothing is held."""


class ScriptedPolicy:
    """A :class:`camg.protocols.Policy` that cannot be trained."""

    def __init__(self, config: ScriptedConfig) -> None:
        """Raises :class:`ConfigError` for a script that cannot be found."""
        self._config = config
        self._codec = self._make_codec()
        self._fixed: ScriptFactory | None = None
        if config.script not in _OF_ENVIRONMENT:
            self._fixed = _found(config.script)
        self._cache: dict[str, ScriptFactory] = {}

    def _make_codec(self) -> ChatCodec:
        dialect = DIALECTS[self._config.dialect]
        if self._config.codec == "bytes":
            return ByteCodec(dialect, terse=True)
        from camg_policies.pocket.policy import load_codec

        return load_codec(dialect=dialect)

    @property
    def codec(self) -> ChatCodec:
        """One token per byte, or the embedded policy's tokenizer."""
        return self._codec

    def speak(self, dialect: Dialect) -> None:
        """Scripts are given ``dialect`` from now on."""
        self._codec = self._codec.speaking(dialect)

    def sampler(self, sampling: Sampling, *, weights: Path | None = None, lockstep: bool = False) -> ScriptedSampler:
        """The arguments change nothing: a script has neither temperature nor weights."""
        return ScriptedSampler(self._codec, self._factory)

    def _factory(self, task: Task) -> ScriptFactory:
        if self._fixed is not None:
            return self._fixed
        if task.env not in self._cache:
            self._cache[task.env] = _of_environment(task.env, self._config.script)
        return self._cache[task.env]

    def actor(self) -> Any:
        """Raises :class:`UsageError`: a script has no weights."""
        raise UsageError("Expected a policy that can be trained, got scripted.", hint="Use --policy pocket or torch.")

    def critic(self) -> Any:
        """Raises :class:`UsageError`: a script has no weights."""
        return self.actor()


def _found(reference: str) -> ScriptFactory:
    try:
        factory = resolve(reference)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            f"Expected scripted.script to be oracle, demonstrator or module:function, got {reference!r} ({error})."
        ) from error
    if not callable(factory):
        raise ConfigError(f"Expected a function (task, seed, dialect) -> script at {reference!r}, got {factory!r}.")
    found: ScriptFactory = factory
    return found


def _of_environment(env: str, kind: str) -> ScriptFactory:
    from camg.plugins import load_registry

    reference = getattr(load_registry().spec("environment", env), kind)
    if reference is None:
        raise UsageError(f"The environment {env!r} offers no {kind}.", hint="Set scripted.script=module:function.")
    return _found(reference) if isinstance(reference, str) else reference
