"""Task sets on disk: what `camg tasks build coding` writes and the environment reads.

::

    <set>/set.json                      what it was built from, with which seed, and the yield by reason
    <set>/tasks.jsonl                   one Instance a line
    <set>/repos/<key>/profile.json      Profile
    <set>/repos/<key>/tree/             the repository's files (without history); never seen by a policy as it is
    <set>/repos/<key>/packages/         what it needs, importable, without the project itself; read-only in boxes
    <set>/prepared/<instance_id>/       what episodes start from (camg_coding.prepare), made when first needed
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import field, frozen

from camg.errors import DataError
from camg_coding.records import Instance, Profile, dump, parse

FORMAT = 1


def cache_root() -> Path:
    """``$XDG_CACHE_HOME/camg/coding``."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "camg" / "coding"


@frozen(eq=False)
class TaskSet:
    """A task set in memory; trees and packages stay on disk."""

    folder: Path
    profiles: Mapping[str, Profile]
    instances: Mapping[str, Instance]  # by instance_id, in the set's order
    about: Mapping[str, Any] = field(factory=dict)

    def profile(self, instance: Instance) -> Profile:
        """Raises :class:`DataError` for an instance without an executable repository."""
        if instance.profile not in self.profiles:
            raise DataError(
                f"{instance.instance_id} cannot be run here: its repository {instance.repo} was not built.",
                hint="`camg tasks build coding --help` says how.",
            )
        return self.profiles[instance.profile]

    def repository(self, key: str) -> Path:
        """The folder of a repository."""
        return self.folder / "repos" / key

    def tree(self, profile: Profile) -> Path:
        """Its files."""
        return self.repository(profile.key) / "tree"

    def packages(self, profile: Profile) -> Path:
        """What it needs beside itself."""
        return self.repository(profile.key) / "packages"


def read_set(folder: Path) -> TaskSet:
    """Raises :class:`DataError`, naming file and line."""
    folder = folder.expanduser()
    about = _read_json(folder / "set.json")
    if about.get("format") != FORMAT:
        raise DataError(
            f"Expected a task set of format {FORMAT} in {folder}, got {about.get('format')!r}.",
            hint="Build it again with `camg tasks build coding`.",
        )
    profiles = {}
    for path in sorted((folder / "repos").glob("*/profile.json")):
        profile = parse(Profile, path.read_text(encoding="utf-8"), str(path))
        profiles[profile.key] = profile
    instances: dict[str, Instance] = {}
    path = folder / "tasks.jsonl"
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        instance = parse(Instance, line, f"{path}, line {number}")
        if instance.instance_id in instances:
            raise DataError(f"Expected each task once in {path}, got {instance.instance_id} again in line {number}.")
        instances[instance.instance_id] = instance
    return TaskSet(folder, profiles, instances, about)


def write_set(folder: Path, instances: Sequence[Instance], about: Mapping[str, Any]) -> None:
    """Write the list of tasks and ``set.json``, last: a set without it is not finished. Raises :class:`DataError`."""
    write_text(folder / "tasks.jsonl", "".join(dump(instance) + "\n" for instance in instances))
    write_text(folder / "set.json", json.dumps({"format": FORMAT, **about}, indent=1) + "\n")


def write_profile(folder: Path, profile: Profile) -> None:
    """Beside the repository's tree and packages."""
    write_text(folder / "repos" / profile.key / "profile.json", dump(profile) + "\n")


def write_text(path: Path, text: str) -> None:
    """Whole or not at all. Raises :class:`DataError`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as beside:
            beside.write(text)
        Path(beside.name).replace(path)
    except OSError as error:
        raise DataError(f"Expected to write {path}: {error}.", hint="Name a folder that is writable.") from error


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DataError(
            f"Expected a task set in {path.parent}: it has no {path.name}.",
            hint="`camg tasks build coding` makes one; --resume finishes one that was interrupted.",
        ) from error
    except (OSError, ValueError) as error:
        raise DataError(f"Expected JSON in {path}: {error}.") from error
    if not isinstance(content, dict):
        raise DataError(f"Expected a JSON object in {path}, got {type(content).__name__}.")
    return content
