"""The directory of a run: made whole or not at all, found again by ``--resume``, held by one process at a time.

``manifest.json`` says what was asked and with what it was done; ``cells/<hash>/config.toml`` what each cell is.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from attrs import field, frozen

from camg.config.provenance import git_state, machine
from camg.config.record import RunConfig
from camg.config.toml import write_text
from camg.errors import BackendUnavailable, CorruptState, RunDirectoryError
from camg.plugins import Registry

MANIFEST = "manifest.json"


@frozen
class RunDirectory:
    """A run on disk. ``cells``: hash -> folder; ``configs``: hash -> settings; both in the order of the grid."""

    path: Path
    manifest: Mapping[str, Any]
    cells: Mapping[str, Path]
    configs: Mapping[str, RunConfig]
    _lock: Any = field(default=None, repr=False, eq=False)

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Write ``summary.json``, what ``--json`` prints."""
        write_text(self.path / "summary.json", json.dumps(summary, indent=2) + "\n")

    def close(self) -> None:
        """Let another process take the run."""
        if self._lock is not None:
            self._lock.close()


def run_hash(cells: Sequence[RunConfig]) -> str:
    """8 hex digits: the hash of the one cell, or over the hashes of all."""
    digests = [cell.digest() for cell in cells]
    return digests[0] if len(digests) == 1 else hashlib.sha256(" ".join(digests).encode()).hexdigest()[:8]


def slug(cells: Sequence[RunConfig], name: str = "") -> str:
    """A readable part for the folder's name: ``name``, the baseline, or the components."""
    first = cells[0]
    text = name or (f"sweep-{len(cells)}-" if len(cells) > 1 else "") + (
        first.baseline or "-".join(["+".join(first.envs), first.memory, first.estimator, first.policy])
    )
    return re.sub(r"[^a-z0-9+_.-]+", "-", text.lower()).strip("-.")[:60] or "run"


def open_run(
    cells: Sequence[RunConfig],
    registry: Registry,
    *,
    argv: Sequence[str],
    root: Path = Path("runs"),
    out: Path | None = None,
    name: str = "",
    resume: bool = False,
) -> RunDirectory:
    """Make the directory of a run, or take up the one that exists.

    ``out``: the exact directory; else ``root/<date>-<slug>-<hash8>`` (with ``resume``: the latest date). Raises
    :class:`RunDirectoryError` if it exists without ``resume``, is not there with it, holds other settings (which are
    named), or is in use by another process.
    """
    part = f"{slug(cells, name)}-{run_hash(cells)}"
    if not resume:
        path = out or root / f"{datetime.now().astimezone():%Y-%m-%d}-{part}"
        return _hold(_create(path, cells, registry, argv, name), cells)
    if out is None:
        found = sorted(p for p in root.glob(f"*-{part}") if (p / MANIFEST).is_file()) if root.is_dir() else []
        out = found[-1] if found else _nothing_to_resume(root, cells, registry, name)
    held = _hold(out, cells)
    _compare(held, cells, registry)
    if held.manifest.get("plugins_fingerprint") != registry.fingerprint():
        manifest = {**held.manifest, **_plugins(registry)}  # plugins may have been upgraded since: from here on, these
        for digest, config in held.configs.items():
            config.save(held.cells[digest] / "config.toml", registry=registry)
        write_text(out / MANIFEST, json.dumps(manifest, indent=2) + "\n")
    return held


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest of a run. Raises :class:`RunDirectoryError` (no run) or :class:`CorruptState` (unreadable)."""
    file = path / MANIFEST
    if not file.is_file():
        raise RunDirectoryError(f"{path} holds no run: there is no {MANIFEST}.", hint="See the folders below runs/.")
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as cause:
        raise CorruptState(f"{file} cannot be read: {cause}") from cause
    if not isinstance(manifest, dict) or not isinstance(manifest.get("cells"), dict):
        raise CorruptState(f"{file} is no manifest of a run: it has no table of cells.")
    return manifest


def saved_configs(path: Path, registry: Registry) -> dict[str, RunConfig]:
    """The settings of every cell of a run, by hash, in the order of the grid."""
    return {d: RunConfig.load(path / "cells" / d / "config.toml", registry) for d in read_manifest(path)["cells"]}


def _create(path: Path, cells: Sequence[RunConfig], registry: Registry, argv: Sequence[str], name: str) -> Path:
    exists = RunDirectoryError(
        f"{path} exists already.",
        hint="Add --resume to go on with it, or begin another: --name NAME, --seed N or --out DIR.",
    )
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise exists
    beside: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
        beside.chmod(0o777 & ~_umask())
        for config in cells:
            folder = beside / "cells" / config.digest()
            folder.mkdir(parents=True)
            config.save(folder / "config.toml", registry=registry)
        manifest = _manifest(cells, registry, argv, name)
        write_text(beside / MANIFEST, json.dumps(manifest, indent=2) + "\n")
        beside.rename(path)
    except OSError as cause:
        if cause.errno in (errno.ENOTEMPTY, errno.EEXIST) and path.parent.is_dir():
            raise exists from None  # another process was quicker
        raise BackendUnavailable(f"Cannot make the run's directory {path}: {cause.strerror}.") from cause
    finally:
        if beside is not None:
            shutil.rmtree(beside, ignore_errors=True)
    return path


def _umask() -> int:
    """The permissions that new files lack; Linux shows them without changing them."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("Umask:"):
            return int(line.split()[1], 8)
    return 0o022


def _manifest(cells: Sequence[RunConfig], registry: Registry, argv: Sequence[str], name: str) -> dict[str, Any]:
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": list(argv),
        "name": name,
        "cells": {c.digest(): {"values": c.flat(), "sources": dict(c.sources)} for c in cells},
        **_plugins(registry),
        "git": git_state(),
        "machine": machine(),
    }


def _plugins(registry: Registry) -> dict[str, Any]:
    return {
        "plugins": [info.to_json() for info in registry.plugins()],
        "plugins_fingerprint": registry.fingerprint(),
    }


def _hold(path: Path, cells: Sequence[RunConfig]) -> RunDirectory:
    """Lock a run for this process; the lock goes with it, however it ends."""
    manifest = read_manifest(path)
    lock = (path / ".lock").open("a")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise RunDirectoryError(f"{path} is in use by another process: wait for it, or stop it first.") from None
    configs = {config.digest(): config for config in cells}
    return RunDirectory(path, manifest, {d: path / "cells" / d for d in configs}, configs, lock)


def _compare(run: RunDirectory, cells: Sequence[RunConfig], registry: Registry) -> None:
    """Refuse to resume a run under other settings; name what differs from the nearest of its cells."""
    known = run.manifest["cells"]
    if set(known) == {config.digest() for config in cells}:
        return
    run.close()
    there = [RunConfig.load(run.path / "cells" / digest / "config.toml", registry) for digest in known]
    new = [config for config in cells if config.digest() not in known]
    if not new:
        raise RunDirectoryError(
            f"{run.path} holds {len(known)} cells, but this command describes {len(cells)} of them."
        )
    edited = [digest for digest, config in zip(known, there, strict=True) if config.digest() != digest]
    if edited:
        raise RunDirectoryError(
            f"{run.path / 'cells' / edited[0] / 'config.toml'} was changed after the run began.",
            hint="Change it back, or begin another run with these settings: --config FILE.",
        )
    nearest = min((new[0].differences(other) for other in there), key=len)
    raise RunDirectoryError(
        f"{run.path} was begun with other settings: {_listing(nearest)}.",
        hint="Resume it with the settings that it has, or begin another run.",
    )


def _listing(differences: Mapping[str, tuple[Any, Any]], limit: int = 6) -> str:
    items = [f"{name} is {there!r} there, {here!r} here" for name, (here, there) in differences.items()]
    return "; ".join(items[:limit]) + (f"; and {len(items) - limit} more" if len(items) > limit else "")


def _nothing_to_resume(root: Path, cells: Sequence[RunConfig], registry: Registry, name: str) -> Path:
    """Nothing to resume: say which run of the same kind comes nearest, and how it differs."""
    message = f"There is no run of these settings to resume below {root}."
    similar = sorted(root.glob(f"*-{slug(cells, name)}-????????")) if root.is_dir() else []
    for path in reversed(similar):
        try:
            nearest = min((cells[0].differences(c) for c in saved_configs(path, registry).values()), key=len)
        except (RunDirectoryError, CorruptState):
            continue
        message += f" The latest of its kind, {path.name}, differs: {_listing(nearest)}."
        break
    raise RunDirectoryError(message, hint="Name the run itself: --resume --out DIR.")
