"""Versioned weights in a folder: the learner publishes, every sampler follows.

One version is one safetensors file ``weights-00000007.safetensors``, written beside and renamed, with a SHA-256 over
metadata and tensors in its own header: a version that can be seen is whole, and one that rotted is recognised.
torch is imported lazily, so that :func:`latest` costs one directory listing and nothing else.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from camg.errors import BackendUnavailable, CorruptState

if TYPE_CHECKING:
    from torch import Tensor
    from typing_extensions import Buffer

_NAME = re.compile(r"weights-(\d{8,})\.safetensors")
_HALF = re.compile(r"\..+\.safetensors\.(\d+)\.tmp")
_DIGEST, _ALIASES = "sha256", "aliases"


# ---------------------------------------------------------------- versions
def publish(folder: Path, state: Mapping[str, Tensor], version: int, *, keep: int = 2) -> Path:
    """Publish ``state`` as ``version`` and remove all but the newest ``keep`` versions; returns the file.

    ``state`` is any state dict (any dtypes, any device; tied tensors are stored once and come back tied). Atomic: a
    reader sees the whole version or none. Raises :class:`BackendUnavailable` when the disk refuses; the versions that
    were there stay.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = _file(folder, version)
    write(path, state, {"version": str(version)})
    for old in versions(folder)[: -max(1, keep)]:
        if old != version:
            _file(folder, old).unlink(missing_ok=True)
    return path


def withdraw(folder: Path, *, newer_than: int) -> int:
    """Remove the versions past ``newer_than``, those of updates that no checkpoint holds; returns how many.

    For a learner that resumes: samplers that hold a withdrawn version must be started afresh.
    """
    lost = [version for version in versions(folder) if version > newer_than]
    for version in lost:
        _file(folder, version).unlink(missing_ok=True)
    return len(lost)


def latest(folder: Path) -> int | None:
    """The newest published version, or None. One directory listing: call it as often as you like."""
    found = versions(folder)
    return found[-1] if found else None


def load(folder: Path, version: int) -> dict[str, Tensor]:
    """The state dict of one version, on the CPU.

    Raises :class:`CorruptState` when the file is damaged or is not there (any more: see :func:`follow`).
    """
    return read(_file(folder, version))[0]


def follow(folder: Path, *, newer_than: int | None = None) -> tuple[int, dict[str, Tensor]] | None:
    """The newest version and its state dict, or None when nothing newer than ``newer_than`` is there.

    A reader that loses the race with pruning (the version vanished between listing and reading) tries the then newest.
    Raises :class:`CorruptState` as :func:`load` does.
    """
    while True:
        version = latest(folder)
        if version is None or (newer_than is not None and version <= newer_than):
            return None
        try:
            return version, load(folder, version)
        except CorruptState:
            if latest(folder) == version:
                raise


def versions(folder: Path) -> list[int]:
    """The published versions that are there, oldest first."""
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(int(match[1]) for name in names if (match := _NAME.fullmatch(name)))


def _file(folder: Path, version: int) -> Path:
    return folder / f"weights-{version:08d}.safetensors"


# ---------------------------------------------------------------- checked files
def write(path: Path, state: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """Write tensors and metadata to ``path``: beside it, fsync, rename, fsync of the folder.

    Raises :class:`BackendUnavailable` when the disk refuses (full, read-only); what was at ``path`` stays.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    tensors, aliases = _untie(state)
    header = {**metadata, _ALIASES: json.dumps(aliases, sort_keys=True)}
    header[_DIGEST] = _digest(tensors, header)
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep(path.parent)
        save_file(tensors, beside, header)
        _sync(beside)
        os.replace(beside, path)
        _sync(path.parent)
    except (OSError, SafetensorError) as error:
        raise BackendUnavailable(
            f"Cannot write {path}: {error}.", hint="Free disk space (nothing was overwritten), then run with --resume."
        ) from error
    finally:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and metadata of a file of :func:`write`; raises :class:`CorruptState` unless every byte is as written."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            metadata = dict(file.metadata() or {})
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    except (OSError, SafetensorError) as error:
        raise CorruptState(f"Cannot read {path}: {error}.", hint=_REMEDY) from error
    expected = metadata.pop(_DIGEST, None)
    found = _digest(tensors, metadata)
    if expected != found:
        raise CorruptState(f"{path} is damaged: expected SHA-256 {expected}, got {found}.", hint=_REMEDY)
    aliases: dict[str, str] = json.loads(metadata.pop(_ALIASES))
    tensors |= {alias: tensors[name] for alias, name in aliases.items()}
    return tensors, metadata


_REMEDY = "Remove this file to fall back to the one before it."


def whole(path: Path) -> bool:
    """Whether the file has the length that its header promises (cheap: reads the header only)."""
    try:
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            header = json.loads(file.read(length)) if length < 1 << 30 else None
            if not isinstance(header, dict):
                return False
            ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
            promised: int = 8 + length + max(ends, default=0)
            return path.stat().st_size == promised
    except (OSError, ValueError, struct.error, KeyError, TypeError):
        return False


def _sweep(folder: Path) -> None:
    """Remove the halves that writers left which were killed at work; those of a live process stay."""
    for name in os.listdir(folder):
        half = _HALF.fullmatch(name)
        if half and not _alive(int(half[1])):
            (folder / name).unlink(missing_ok=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # there, but of another user
        return True
    return True


def _untie(state: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Contiguous CPU tensors that share nothing, and ``alias -> name`` for tensors that are one and the same."""
    tensors: dict[str, Tensor] = {}
    aliases: dict[str, str] = {}
    seen: dict[tuple[object, ...], str] = {}
    storages: set[int] = set()
    for name, tensor in state.items():
        key = (tensor.device, tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tensor.stride())
        if tensor.numel() and key in seen:
            aliases[name] = seen[key]
            continue
        seen[key] = name
        copy = tensor.detach().cpu().contiguous()
        if copy.untyped_storage().data_ptr() in storages or copy.untyped_storage().nbytes() != copy.nbytes:
            copy = copy.clone()  # a view into what another name holds: safetensors stores whole tensors only
        storages.add(copy.untyped_storage().data_ptr())
        tensors[name] = copy
    return tensors, aliases


def _digest(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> str:
    digest = hashlib.sha256(json.dumps(dict(metadata), sort_keys=True).encode())
    for name, raw in _raw(tensors):
        digest.update(name.encode())
        digest.update(raw)
    return digest.hexdigest()


def _raw(tensors: Mapping[str, Tensor]) -> Iterator[tuple[str, Buffer]]:
    import torch

    for name in sorted(tensors):
        tensor = tensors[name]
        shape = f"{name} {tensor.dtype} {tuple(tensor.shape)} "
        yield shape, cast("Buffer", tensor.contiguous().reshape(-1).view(torch.uint8).numpy())


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
