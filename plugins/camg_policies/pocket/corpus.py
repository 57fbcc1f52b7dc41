"""Demonstrations: the environments' scripts, played through the real episode loop, as token ids.

An environment takes part if its spec has a ``pocket_split`` and a ``demonstrator``; with an ``oracle`` it also gives
the demonstrations of perfect play that the second gate trains and asks (see :mod:`camg_policies.pocket.warmstart`).
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import attrs
from attrs import field, frozen

from camg.errors import InfrastructureFault, UsageError
from camg.protocols import ChatCodec, Habit, Sampler, Sandbox
from camg.settings import RolloutSettings
from camg.specs import resolve
from camg.types import Dispatch, Episode, Limits, Sampling, Turn, TurnKind
from camg_policies.config import POCKET_PROFILE, ScriptedConfig
from camg_policies.scripted import ScriptedPolicy, ScriptedSampler

FILES = "shell"  # the memory that scripts use when they are told of no other
_THREADS = 4
_RERUNS = 2  # after an infrastructure fault


def _options(settings: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {name.removeprefix(prefix): value for name, value in settings.items() if name.startswith(prefix)}


@frozen
class Example:
    """One segment: ``ids``, which of them the script said, and where each response starts and ends."""

    ids: tuple[int, ...]
    said: tuple[bool, ...]
    spans: tuple[tuple[int, int], ...]


def examples_of(episode: Episode, invalid: int = 2, task_only: bool = False) -> list[Example]:
    """The segments of an episode as training examples, but for those with more than ``invalid`` invalid responses.

    A script that has lost its thread repeats itself to the action limit: that demonstrates nothing. ``task_only``:
    responses that access memory count as context, so that nothing is learnt here about keeping or reading it.
    """
    examples = []
    for segment in episode.segments:
        turns = [episode.turns[index] for index in segment.turns]
        if sum(turn.invalid for turn in turns) > invalid:
            continue
        taught = [turn for turn in turns if not (task_only and _about_memory(turn))]
        spans = [(turn.prompt_length, turn.prompt_length + len(turn.token_ids)) for turn in taught]
        said = [False] * len(segment.token_ids)
        for start, stop in spans:
            said[start:stop] = [True] * (stop - start)
        if spans:
            examples.append(Example(segment.token_ids, tuple(said), tuple(spans)))
    return examples


def _about_memory(turn: Turn) -> bool:
    return turn.memory_access or turn.kind is TurnKind.SUMMARY


@frozen
class Stage:
    """What episodes run on: everything but the policy. ``rollout``: the sizes that the policy will be run with."""

    registry: Any
    sandbox: Sandbox
    memory: str = FILES
    rollout: RolloutSettings = field()

    @rollout.default
    def _sizes(self) -> RolloutSettings:
        profile = self.registry.spec("memory", self.memory).pocket_profile
        return RolloutSettings(**_options({**POCKET_PROFILE, **profile}, "rollout."))

    def habit(self) -> Habit | None:
        """How the demonstrations keep notes; None for files. Raises :class:`UsageError` where the memory has none."""
        if self.memory == FILES:
            return None
        reference = self.registry.spec("memory", self.memory).habit
        if reference is None:
            raise UsageError(f"The memory {self.memory!r} does not say how a script keeps a note by it (no habit).")
        return (resolve(reference) if isinstance(reference, str) else reference)()  # type: ignore[no-any-return]

    def _build_memory(self) -> Any:
        spec = self.registry.spec("memory", self.memory)
        config = spec.config(**_options(spec.pocket_profile, f"{self.memory}."))
        return self.registry.build("memory", self.memory, config)

    def environments(self, names: Sequence[str] = ()) -> tuple[str, ...]:
        """The environments that can demonstrate; ``names`` asks for some. Raises :class:`UsageError` if one cannot."""
        known = self.registry.names("environment")
        specs = {name: self.registry.spec("environment", name) for name in (names or known)}
        able = tuple(sorted(name for name, spec in specs.items() if spec.pocket_split and self._speaks(spec)))
        for name in names:
            if name not in able:
                raise UsageError(
                    f"The environment {name!r} has no pocket split with a demonstrator for the memory {self.memory!r}.",
                    hint=f"These have: {', '.join(self.environments()) or 'none'}.",
                )
        if not able:
            raise UsageError(
                f"No installed environment offers a pocket split with a demonstrator for the memory {self.memory!r}."
            )
        return able

    def _speaks(self, spec: Any) -> bool:
        """Can the environment's scripts keep notes by this memory?"""
        if spec.demonstrator is None or self.memory == FILES:
            return spec.demonstrator is not None
        scripts = [resolve(script) for script in (spec.demonstrator, spec.oracle) if script is not None]
        return all("habit" in inspect.signature(script).parameters for script in scripts)

    def run(
        self, env: str, sampler: Sampler, codec: ChatCodec, count: int, *, seed: int, split: str, first: int = 0
    ) -> list[Episode]:
        """``count`` episodes of tasks ``first`` onwards, in that order whatever the threads do."""
        from camg.episode.loop import Components, run_episode

        environment = self.registry.build("environment", env)
        components = Components(
            environment=environment,
            memory=self._build_memory(),
            sampler=sampler,
            codec=codec,
            sandbox=self.sandbox,
            limits=Limits(),
            rollout=self.rollout,
        )
        ids = environment.task_ids(split)

        def one(index: int) -> Episode:
            task = ids[(first + index) % len(ids)]
            dispatch = Dispatch(id=index, group=index, env=env, task=task, seed=seed + index)
            label = f"pocket-{seed}-{index}"
            for _ in range(_RERUNS):
                with contextlib.suppress(InfrastructureFault):
                    return run_episode(dispatch, components, label=label)
            return run_episode(dispatch, components, label=label)

        workers = _THREADS if isinstance(sampler, ScriptedSampler) else self.rollout.slots
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(one, range(count)))

    def demonstrate(
        self, env: str, kind: str, codec: ChatCodec | None, count: int, *, seed: int, first: int = 0, split: str = ""
    ) -> list[Episode]:
        """``count`` episodes of the environment's ``demonstrator`` or ``oracle``, by default on its pocket split.

        ``codec``: None for bytes (texts for the tokenizer), with limits to match.
        """
        policy = ScriptedPolicy(ScriptedConfig(script=kind))
        stage = self
        if codec is None:
            wide = {name: 64 * getattr(self.rollout, name) for name in ("prompt_tokens", "response_tokens")}
            stage = attrs.evolve(self, rollout=attrs.evolve(self.rollout, **wide, observation_tokens=4096))
        sampler = policy.sampler(Sampling())
        habit, factory = self.habit(), sampler.factory
        speaking = (lambda task: functools.partial(factory(task), habit=habit)) if habit else factory
        sampler = ScriptedSampler(codec or policy.codec, speaking)
        split = split or self.registry.spec("environment", env).pocket_split
        return stage.run(env, sampler, codec or policy.codec, count, seed=seed, split=split, first=first)


def texts_of(episodes: Sequence[Episode]) -> list[str]:
    """The pieces of text between the marks of :class:`camg.episode.chat.ByteCodec`, as often as they stand there."""
    texts = []
    for episode in episodes:
        for segment in episode.segments:
            run = bytearray()
            for token in (*segment.token_ids, 256):
                if token < 256:
                    run.append(token)
                elif run:
                    texts.append(run.decode(errors="replace"))
                    run = bytearray()
    return texts
