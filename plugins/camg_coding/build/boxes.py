"""The boxes in which projects are tried: the same isolation that episodes have."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from attrs import evolve

from camg.errors import BackendUnavailable, Interrupted
from camg.plugins import Registry, load_registry
from camg.protocols import Box, Sandbox
from camg.specs import resolve
from camg.types import Limits, Workspace

LIMITS = Limits(
    wall_seconds=120.0,
    cpu_seconds=120.0,
    processes=256,
    memory_bytes=2 << 30,
    output_bytes=8 << 20,
    files=100_000,
    written_bytes=1 << 30,
)
"""Of a box that runs a suite; the suite's own time limit is the profile's."""


class Pool:
    """Opens boxes of one sandbox, at most ``jobs`` at a time. Usable from any thread; a :class:`Boxes`."""

    def __init__(self, sandbox: Sandbox, jobs: int) -> None:
        self._sandbox = sandbox
        self._room = threading.BoundedSemaphore(jobs)
        self._stopped = False

    def __call__(self, workspace: Workspace, *, limits: Limits | None = None) -> Box:
        """A box that does not count: for callers that hold a place already. Raises InfrastructureFault."""
        return self._sandbox.open("coding-build", limits=limits or LIMITS, workspace=workspace)

    @contextmanager
    def place(self) -> Iterator[None]:
        """Wait for one of the places. Raises :class:`Interrupted` after :meth:`stop`."""
        with self._room:
            if self._stopped:
                raise Interrupted("The work was stopped.", hint="What was finished is kept.")
            yield

    def stop(self) -> None:
        """Give no places any more: other threads end at their next one."""
        self._stopped = True

    @contextmanager
    def opened(
        self, workspace: Workspace, *, wall_seconds: float | None = None, limits: Limits | None = None
    ) -> Iterator[Box]:
        """A box in one of the places, closed at the end; ``wall_seconds`` raises its limits to that."""
        limits = limits or LIMITS
        if wall_seconds is not None and wall_seconds > limits.wall_seconds:
            limits = evolve(limits, wall_seconds=wall_seconds, cpu_seconds=wall_seconds)
        with self.place():
            box = self(workspace, limits=limits)
            try:
                yield box
            finally:
                box.close()


@contextmanager
def open_pool(jobs: int, registry: Registry | None = None) -> Iterator[Pool]:
    """Boxes of the first installed sandbox that isolates and works here. Raises :class:`BackendUnavailable`."""
    sandbox = _isolated(registry or load_registry(quiet=True))
    try:
        yield Pool(sandbox, jobs)
    finally:
        sandbox.close()


def _isolated(registry: Registry) -> Sandbox:
    reasons = []
    for name in registry.names("sandbox"):
        spec = registry.spec("sandbox", name)
        if not spec.isolated:
            continue
        reason = resolve(spec.probe)() if spec.probe is not None else None
        if reason is None:
            sandbox: Sandbox = registry.build("sandbox", name)
            return sandbox
        reasons.append(f"{name}: {reason}")
    raise BackendUnavailable(
        "Building and checking Coding's tasks runs other people's code, and no isolated sandbox works here"
        + (f" ({'; '.join(reasons)})." if reasons else "."),
        hint="`camg doctor` says what to do.",
    )
