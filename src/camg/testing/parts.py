"""Stand-ins for tests: a box that is a folder, a sampler that is a function, and a way to play one episode."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from camg.episode.actions import BRACKET
from camg.episode.chat import ByteCodec
from camg.protocols import ChatCodec, Environment, Memory, Script
from camg.types import (
    Change,
    CommandResult,
    Dispatch,
    Episode,
    FileState,
    Limits,
    Manifest,
    Response,
    StopReason,
    Task,
    Workspace,
)
from camg.workspace.changes import changes
from camg.workspace.tree import remove

MEMORY = ".agent_memory"


class FolderBox:
    """A :class:`camg.protocols.Box` in a temporary folder, **without isolation**: for trusted commands in tests."""

    def __init__(self, limits: Limits | None = None, workspace: Workspace | None = None) -> None:
        self.limits = limits or Limits()
        start = workspace or Workspace()
        self._variables = dict(start.variables)
        self.root = Path(tempfile.mkdtemp(prefix="camg-box-"))
        if start.base is not None:
            shutil.copytree(start.base, self.root, dirs_exist_ok=True, symlinks=True)

    def run(self, command: str, *, wall_seconds: float | None = None) -> CommandResult:
        """Run ``bash -c command``; its process group is killed afterwards."""
        started = time.monotonic()
        environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": str(self.root), "LANG": "C.UTF-8"}
        environment |= self._variables
        with tempfile.TemporaryFile() as stream:  # not a pipe: a process in the background would keep that open
            process = subprocess.Popen(
                ["bash", "-c", command],
                cwd=self.root,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                status: int | None = process.wait(timeout=wall_seconds or self.limits.wall_seconds)
            except subprocess.TimeoutExpired:
                status = None
            _kill_group(process.pid)
            process.wait()
            stream.seek(0)
            output = stream.read()
        kept = output[: self.limits.output_bytes]
        return CommandResult(
            output=kept,
            exit_status=128 - status if status is not None and status < 0 else status,
            timed_out=status is None,
            dropped_bytes=len(output) - len(kept),
            seconds=time.monotonic() - started,
        )

    def manifest(self) -> Manifest:
        """What lies below ``.agent_memory``, without following links."""
        found: dict[str, FileState] = {}
        base = self.root / MEMORY
        if base.is_symlink() or not base.is_dir():
            return found
        for folder, folders, files in os.walk(base):
            for name in (*folders, *files):
                path = Path(folder, name)
                found[str(path.relative_to(base))] = _state(path)
        return found

    def read(self, path: str, limit: int) -> bytes:
        """At most ``limit`` bytes of a regular file. Raises ``OSError``."""
        with os.fdopen(os.open(self._inside(path), os.O_RDONLY | os.O_NOFOLLOW), "rb") as stream:
            return stream.read(limit)

    def write(self, path: str, data: bytes) -> None:
        """Place a file; parents are made. Raises ``OSError``."""
        target = self._inside(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o644), "wb") as stream:
            stream.write(data)

    def remove(self, path: str) -> None:
        """Remove a file, link or whole folder. Raises ``OSError``."""
        root = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            remove(root, path)
        finally:
            os.close(root)

    def changes(self, base: Path, limit: int, skip: Callable[[str], bool]) -> Mapping[str, Change]:
        """What differs from ``base``."""
        root = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            return changes(root, base, limit, skip)
        finally:
            os.close(root)

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.root, ignore_errors=True)

    def _inside(self, path: str) -> Path:
        target = self.root / path
        if not target.parent.resolve().is_relative_to(self.root.resolve()):
            raise PermissionError(f"{path} leads out of the workspace")
        return target


def _kill_group(leader: int) -> None:
    try:
        os.killpg(leader, 9)
    except (ProcessLookupError, PermissionError):
        return


def _state(path: Path) -> FileState:
    info = path.lstat()
    if stat.S_ISREG(info.st_mode):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        return FileState("file", info.st_size, digest, info.st_nlink)
    kind = "directory" if stat.S_ISDIR(info.st_mode) else "symlink" if stat.S_ISLNK(info.st_mode) else "other"
    return FileState(kind, links=info.st_nlink)


class FolderSandbox:
    """A :class:`camg.protocols.Sandbox` of folder boxes, for tests."""

    def open(
        self,
        label: str,
        *,
        limits: Limits,
        workspace: Workspace | None = None,
    ) -> FolderBox:
        """A fresh folder. ``inputs`` cannot be placed at absolute paths here and are refused."""
        if workspace is not None and workspace.inputs:
            raise ValueError("Expected no inputs, since a folder has no root of its own.")
        return FolderBox(limits, workspace)

    def reconcile(self) -> int:
        """Nothing is kept."""
        return 0

    def close(self) -> None:
        """Nothing is held."""


class ScriptedSpeaker:
    """The voice of a script. Log-probs are 0: a script is certain."""

    def __init__(self, script: Script, codec: ChatCodec) -> None:
        self._script, self._codec = script, codec

    def generate(self, prompt: Sequence[int], *, limit: int) -> Response:
        """Ask the script, given the decoded context."""
        started = time.monotonic()
        ids = (*self._codec.encode(self._script(self._codec.decode(prompt))), self._codec.eos_id)
        ended = len(ids) <= limit
        ids = ids[:limit]
        text = self._codec.decode(ids[:-1] if ended else ids)
        stop = StopReason.EOS if ended else StopReason.LENGTH
        return Response(ids, (0.0,) * len(ids), stop, policy_version=0, text=text, seconds=time.monotonic() - started)

    def close(self) -> None:
        """Nothing is held."""


class ScriptedSampler:
    """A :class:`camg.protocols.Sampler` without a model. ``script_of``: ``(task, seed) -> Script``."""

    version = 0

    def __init__(self, script_of: Callable[[Task, int], Script], codec: ChatCodec | None = None) -> None:
        self.codec: ChatCodec = codec or ByteCodec(BRACKET, terse=True)
        self._script_of = script_of

    def open(self, task: Task, seed: int) -> ScriptedSpeaker:
        """The script of one episode."""
        return ScriptedSpeaker(self._script_of(task, seed), self.codec)

    def close(self) -> None:
        """Nothing is held."""


def play(
    environment: Environment,
    memory: Memory,
    script_of: Callable[[Task, int], Script],
    task_id: str,
    *,
    seed: int = 0,
    sandbox: object | None = None,
    **rollout: int,
) -> Episode:
    """Play one whole episode with a script in the real loop, with generous limits. Raises as the loop does.

    ``rollout``: other limits than the defaults of ``[rollout]``, such as ``actions=5``.
    """
    from camg.episode.loop import Components, run_episode
    from camg.settings import RolloutSettings

    task = environment.task(task_id)
    sampler = ScriptedSampler(script_of, ByteCodec(getattr(memory, "dialect", None) or BRACKET, terse=True))
    parts = Components(
        environment=environment,
        memory=memory,
        sampler=sampler,
        codec=sampler.codec,
        sandbox=sandbox or FolderSandbox(),  # type: ignore[arg-type]
        limits=Limits(),
        rollout=RolloutSettings(**rollout),
    )
    return run_episode(Dispatch(0, 0, task.env, task.id, seed), parts, label="camg-testing")
