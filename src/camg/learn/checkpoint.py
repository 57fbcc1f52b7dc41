"""Checkpoints of the learner: whole or absent, checksummed, exact.

One file ``update-00000012.safetensors`` (see :func:`camg.weights.write`) holds actor, critic, both optimisers and the
random states; its metadata the update index, the ids of every episode used so far, and whatever the caller must find
again at the same place (``extra``: schedule position, seeds). No pickle: a checkpoint from elsewhere cannot run code.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from camg.errors import CorruptState
from camg.learn.learner import Learner
from camg.weights import read, whole, write

FORMAT = "camg-checkpoint-1"
_NAME = re.compile(r"update-(\d{8,})\.safetensors")


def save(folder: Path, learner: Learner, extra: Mapping[str, Any] | None = None, *, keep: int = 2) -> Path:
    """Write the learner's state after its last update, then remove all but the newest ``keep`` whole checkpoints.

    ``extra`` is any JSON-able mapping. Raises :class:`BackendUnavailable` when the disk refuses; the checkpoints that
    were there stay.
    """
    state = {
        "format": FORMAT,
        "update": learner.updates,
        "version": learner.version,
        "used": _ranges(learner.used),
        "random": random.getstate(),
        "extra": dict(extra or {}),
    }
    path = folder / f"update-{learner.updates:08d}.safetensors"
    write(path, dict(_tensors(learner)), {"state": json.dumps(state)})
    for old in _checkpoints(folder)[: -max(1, keep)]:
        if old != path:
            old.unlink(missing_ok=True)
    return path


def latest(folder: Path) -> Path | None:
    """The newest checkpoint whose length is what its header promises, or None; torn ones are passed over."""
    return next((path for path in reversed(_checkpoints(folder)) if whole(path)), None)


def refuse_torn(folder: Path) -> None:
    """Raise :class:`CorruptState` if a checkpoint newer than :func:`latest` is torn: going back is the user's choice.

    Writing is atomic, so no kill leaves one behind; a copy or a disk did.
    """
    good = latest(folder)
    torn = [path for path in _checkpoints(folder) if good is None or path > good]
    if torn:
        again = f"after update {summary(good)['update']}" if good else "from the beginning"
        names = ", ".join(str(path) for path in torn)
        raise CorruptState(
            f"Expected whole checkpoints, got torn ones: {names}.", hint=f"Remove them to go on {again}."
        )


def load(path: Path, learner: Learner) -> dict[str, Any]:
    """Bring a freshly built learner to the state of a checkpoint, and return its ``extra``.

    Afterwards every update gives the same numbers, to the last bit, as if there had been no interruption. Raises
    :class:`CorruptState`, naming the file, when it is damaged or belongs to another model (the learner is unchanged).
    """
    tensors, metadata = read(path)
    state = _state(path, metadata)
    parts: dict[str, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        part, _, rest = name.partition("/")
        parts.setdefault(part, {})[rest] = tensor
    if learner.critic is None and "critic" in parts:
        raise CorruptState(f"{path} belongs to another model: expected no critic, got one.")
    for part, network in _networks(learner):
        _same_shapes(path, part, network.state_dict(), parts.get(part, {}))
    for part, network in _networks(learner):
        network.load_state_dict(parts[part])
    for part, optimiser in _optimisers(learner):
        optimiser.load_state_dict(
            {"state": _unflatten(parts.get(part, {})), "param_groups": optimiser.state_dict()["param_groups"]}
        )
    learner.updates = int(state["update"])
    learner.used = set(_numbers(state["used"]))
    _restore_random(state["random"], parts["random"])
    extra: dict[str, Any] = state["extra"]
    return extra


def summary(path: Path) -> dict[str, Any]:
    """What a checkpoint says of itself: ``update``, ``version``, ``used`` (list of ids), ``extra``.

    Raises :class:`CorruptState` when it is damaged.
    """
    state = _state(path, read(path)[1])
    return {name: state[name] for name in ("update", "version", "extra")} | {"used": list(_numbers(state["used"]))}


def _state(path: Path, metadata: Mapping[str, str]) -> dict[str, Any]:
    state: dict[str, Any] = json.loads(metadata.get("state", "{}"))
    if state.get("format") != FORMAT:
        raise CorruptState(f"{path} is no checkpoint: expected format {FORMAT!r}, got {state.get('format')!r}.")
    return state


def _checkpoints(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("update-*") if _NAME.fullmatch(path.name)) if folder.is_dir() else []


# ---------------------------------------------------------------- tensors
def _networks(learner: Learner) -> Iterator[tuple[str, torch.nn.Module]]:
    yield "actor", learner.actor
    if learner.critic is not None:
        yield "critic", learner.critic


def _optimisers(learner: Learner) -> Iterator[tuple[str, torch.optim.Optimizer]]:
    yield "actor_optimiser", learner.actor_optimiser
    if learner.critic_optimiser is not None:
        yield "critic_optimiser", learner.critic_optimiser


def _tensors(learner: Learner) -> Iterator[tuple[str, Tensor]]:
    for part, network in _networks(learner):
        for name, tensor in network.state_dict().items():
            yield f"{part}/{name}", tensor
    for part, optimiser in _optimisers(learner):
        for index, values in optimiser.state_dict()["state"].items():
            for name, value in values.items():
                yield f"{part}/{index}/{name}", torch.as_tensor(value)
    yield "random/torch", torch.get_rng_state()
    if torch.cuda.is_available():
        for device, generator in enumerate(torch.cuda.get_rng_state_all()):
            yield f"random/cuda/{device}", generator


def _unflatten(tensors: Mapping[str, Tensor]) -> dict[int, dict[str, Tensor]]:
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        index, _, rest = name.partition("/")
        state.setdefault(int(index), {})[rest] = tensor
    return state


def _same_shapes(path: Path, part: str, expected: Mapping[str, Tensor], found: Mapping[str, Tensor]) -> None:
    differing = [
        name
        for name in sorted(expected.keys() | found.keys())
        if name not in expected or name not in found or expected[name].shape != found[name].shape
    ]
    if differing:
        raise CorruptState(
            f"{path} belongs to another model: expected the {part}'s {len(expected)} tensors, got {len(found)}; "
            f"{len(differing)} differ, the first is {differing[0]!r}."
        )


def _restore_random(python: list[Any], tensors: Mapping[str, Tensor]) -> None:
    version, numbers, gauss = python
    random.setstate((version, tuple(numbers), gauss))
    torch.set_rng_state(tensors["torch"])
    devices = torch.cuda.device_count() if torch.cuda.is_available() else 0
    for device in range(devices):
        if f"cuda/{device}" in tensors:
            torch.cuda.set_rng_state(tensors[f"cuda/{device}"], device)


# ---------------------------------------------------------------- ids
def _ranges(numbers: Iterable[int]) -> str:
    """``{0, 1, 2, 5, 7, 8} -> "0-2,5,7-8"``."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _numbers(ranges: str) -> Iterator[int]:
    for run in ranges.split(",") if ranges else ():
        first, _, last = run.partition("-")
        yield from range(int(first), int(last or first) + 1)
