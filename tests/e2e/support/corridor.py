"""A plugin for tests and benchmarks of the machinery: everything real but small, nothing isolated.

The environment ``corridor`` pays for the letter ``a`` in a response and can sleep, hang, fault or burn CPU; the policy
``tiny`` is a bigram model that really learns; the sandbox ``dummy`` has no processes.
Loaded by name: ``CAMG_PLUGINS=corridor`` with this folder on the path.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from pathlib import Path
from typing import Any

from attrs import frozen

from camg import hookimpl
from camg.errors import BackendUnavailable, InfrastructureFault
from camg.specs import EnvironmentSpec, PolicySpec, SandboxSpec, option
from camg.types import CommandResult, Observation, Outcome, Response, StepResult, StopReason, Task, Tool, Workspace

RESPONSE_BYTES = 6


@frozen
class CorridorConfig:
    tasks: int = option(40, "tasks of each split")
    turns: int = option(2, "responses in an episode")
    sleep: float = option(0.0, "mean seconds of waiting in an episode")
    skew: float = option(0.0, "Pareto shape of the waiting, above 1: smaller is more skewed; 0: all alike")
    burn: float = option(0.0, "CPU seconds of each episode")
    hang: str = option("", "ids of tasks that hang, separated by commas")
    fault: str = option("", "ids of tasks whose infrastructure fails; 'all'")
    crash: str = option("", "ids of tasks that raise a plain error")
    kill: str = option("", "ids of tasks that end the whole process")


class Corridor:
    """Responses are paid by their letters: half of ``a`` is a success."""

    tools = (Tool("say", "Say something."),)

    def __init__(self, config: CorridorConfig) -> None:
        self.config = config

    def task_ids(self, split: str) -> list[str]:
        return [f"{split}-{number}" for number in range(self.config.tasks)]

    def task(self, task_id: str) -> Task:
        return Task(task_id, "corridor", task_id.partition("-")[0], budget=self.config.turns)

    def workspace(self, task: Task) -> Workspace:
        return Workspace()

    def open(self, task: Task, box: Any, boxes: Any) -> Walk:
        return Walk(task, self.config)


class Walk:
    def __init__(self, task: Task, config: CorridorConfig) -> None:
        self.task, self.config = task, config
        self.letters = self.hits = 0

    def brief(self) -> str:
        return "aaa"

    def step(self, action: Any) -> StepResult:
        return StepResult(Observation("ok"))

    def after_action(self, action: Any, result: StepResult, checkpoint: Any) -> StepResult:
        self._misbehave()
        self._wait()
        hits = action.raw.count("a")
        self.hits += hits
        self.letters += len(action.raw)
        return StepResult(Observation("ok"), reward=hits / RESPONSE_BYTES, invalid=result.invalid)

    def _misbehave(self) -> None:
        config, task = self.config, self.task.id
        if task in config.hang.split(","):
            threading.Event().wait()
        if config.fault == "all" or task in config.fault.split(","):
            raise InfrastructureFault("the corridor is flooded")
        if task in config.crash.split(","):
            raise ValueError("a stone fell")
        if task in config.kill.split(","):
            os._exit(9)

    def _wait(self) -> None:
        config = self.config
        if config.sleep:
            time.sleep(config.sleep * self._factor() / config.turns)
        end = time.thread_time() + config.burn / config.turns
        while config.burn and time.thread_time() < end:
            pass

    def _factor(self) -> float:
        """Pareto with mean 1, cut at 12; a function of the task."""
        shape = self.config.skew
        if shape <= 1:
            return 1.0
        digest = hashlib.blake2b(self.task.id.encode(), digest_size=4).digest()
        u = int.from_bytes(digest, "big") / 2**32
        return min((1 - u) ** (-1 / shape) * (shape - 1) / shape, 12.0)

    def reminder(self, path: str, limit: int) -> str:
        return "note"

    def cross(self) -> str:
        return "aaa"

    def finish(self, reason: Any) -> tuple[float, Outcome]:
        share = self.hits / max(1, self.letters)
        return 0.0, Outcome(success=share, complete=share >= 0.5)

    def close(self) -> None: ...


class DummyBox:
    def run(self, command: str, *, wall_seconds: float | None = None) -> CommandResult:
        return CommandResult(b"", 0)

    def manifest(self) -> dict[str, Any]:
        return {}

    def read(self, path: str, limit: int) -> bytes:
        raise FileNotFoundError(path)

    def write(self, path: str, data: bytes) -> None: ...

    def remove(self, path: str) -> None:
        raise FileNotFoundError(path)

    def close(self) -> None: ...


class DummySandbox:
    def __init__(self, config: Any) -> None: ...

    def open(self, label: str, *, limits: Any, workspace: Any = None) -> DummyBox:
        return DummyBox()

    def reconcile(self) -> int:
        return 0

    def close(self) -> None: ...


class BrokenSandbox(DummySandbox):
    def open(self, label: str, *, limits: Any, workspace: Any = None) -> DummyBox:
        raise InfrastructureFault("user namespaces are switched off")


class RefusingSandbox(DummySandbox):
    def open(self, label: str, *, limits: Any, workspace: Any = None) -> DummyBox:
        raise BackendUnavailable("there is no kernel support", hint="`camg doctor` knows more.")


class TinyPolicy:
    """Actor: ``h = embedding(id)``, logits ``h W^T``; sampling needs nothing but the last id."""

    def __init__(self, config: Any) -> None:
        from camg.episode.actions import BRACKET
        from camg.episode.chat import ByteCodec

        self.codec = ByteCodec(BRACKET, terse=True)

    def speak(self, dialect: Any) -> None:
        self.codec = self.codec.speaking(dialect)

    def actor(self) -> Any:
        return self._networks()[0]

    def critic(self) -> Any:
        return self._networks()[1]

    @staticmethod
    def _networks() -> tuple[Any, Any]:
        import torch
        from torch import nn

        class Actor(nn.Module):
            pack_safe = True
            output_bias = None

            def __init__(self) -> None:
                super().__init__()
                generator = torch.Generator().manual_seed(0)
                self.embed = nn.Parameter(torch.randn(260, 8, generator=generator))
                self.head = nn.Parameter(torch.randn(260, 8, generator=generator) * 0.1)

            @property
            def output_weight(self) -> Any:
                return self.head

            def hidden(self, ids: Any, mask: Any, positions: Any) -> Any:
                return self.embed[ids]

        class Critic(nn.Module):
            pack_safe = True

            def __init__(self) -> None:
                super().__init__()
                self.table = nn.Parameter(torch.zeros(260))

            def values(self, ids: Any, mask: Any, positions: Any) -> Any:
                return self.table[ids]

        return Actor(), Critic()

    def sampler(self, sampling: Any, *, weights: Path | None = None, lockstep: bool = False) -> TinySampler:
        return TinySampler(self, sampling, weights)


class TinySampler:
    """Samples with numpy: a worker that need not import torch starts in a fraction of the time."""

    def __init__(self, policy: TinyPolicy, sampling: Any, weights: Path | None) -> None:
        self.policy, self.sampling, self.folder = policy, sampling, weights
        self.version = 0
        self.held: int | None = None  # the published version in use
        self.lock = threading.Lock()
        self.state: dict[str, Any] = {}
        if weights is None:
            self.state = {name: tensor.detach().numpy() for name, tensor in policy.actor().state_dict().items()}

    def follow(self) -> None:
        from safetensors.numpy import load_file

        from camg import weights

        while self.folder is not None:
            newest = weights.latest(self.folder)
            if newest is None or newest == self.held:
                return
            try:
                self.state = load_file(self.folder / f"weights-{newest:08d}.safetensors")
            except FileNotFoundError:
                continue  # pruned meanwhile: there is a newer one
            self.version = self.held = newest

    def open(self, task: Task, seed: int) -> TinySpeaker:
        return TinySpeaker(self, seed)

    def close(self) -> None: ...


class TinySpeaker:
    def __init__(self, sampler: TinySampler, seed: int) -> None:
        import numpy as np

        self.sampler = sampler
        self.generator = np.random.default_rng(seed)

    def generate(self, prompt: Any, *, limit: int) -> Response:
        import numpy as np

        sampler = self.sampler
        with sampler.lock:
            sampler.follow()
            state, version = sampler.state, sampler.version
        ids: list[int] = []
        logprobs: list[float] = []
        last = prompt[-1]
        for _ in range(min(limit, RESPONSE_BYTES)):
            logits = (state["head"] @ state["embed"][last]) / max(sampler.sampling.temperature, 1e-3)
            table = logits - logits.max()
            table = table - np.log(np.exp(table).sum())
            last = min(int(np.searchsorted(np.exp(table).cumsum(), self.generator.random())), 259)
            ids.append(last)
            logprobs.append(float(table[last]))
            if last == 256:
                break
        stop = StopReason.EOS if ids[-1] == 256 else StopReason.LENGTH
        text = sampler.policy.codec.decode([i for i in ids if i < 256])
        return Response(tuple(ids), tuple(logprobs), stop, version, text)

    def close(self) -> None: ...


@hookimpl
def camg_environments() -> Any:
    yield EnvironmentSpec(
        name="corridor", summary="Say a.", factory=Corridor, config=CorridorConfig, budget=2, suite=False
    )


@hookimpl
def camg_policies() -> Any:
    yield PolicySpec(name="tiny", summary="A bigram model.", factory=TinyPolicy)


@hookimpl
def camg_sandboxes() -> Any:
    yield SandboxSpec(name="dummy", summary="Nothing at all.", factory=DummySandbox, isolated=False)
    yield SandboxSpec(name="broken", summary="Never opens.", factory=BrokenSandbox, isolated=False)
    yield SandboxSpec(name="refusing", summary="Cannot be.", factory=RefusingSandbox, isolated=False)
