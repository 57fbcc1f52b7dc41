"""Sandboxes: ``bwrap`` (default, isolated) and ``process`` (not isolated). ``docker`` belongs here too, later."""

from __future__ import annotations

from collections.abc import Iterable

from camg import hookimpl
from camg.specs import SandboxSpec, resolve
from camg.types import HealthCheck


@hookimpl
def camg_sandboxes() -> Iterable[SandboxSpec]:
    """The sandboxes of this package."""
    from camg_sandboxes.bwrap import BwrapConfig
    from camg_sandboxes.process import ProcessConfig

    yield SandboxSpec(
        name="bwrap",
        summary="A bubblewrap namespace per episode: no network, own processes and files, limits on everything.",
        factory="camg_sandboxes.bwrap:BwrapSandbox",
        config=BwrapConfig,
        probe="camg_sandboxes.bwrap:probe",
    )
    yield SandboxSpec(
        name="process",
        summary="Ordinary processes, NOT isolated from this machine: only where bwrap cannot run.",
        factory="camg_sandboxes.process:ProcessSandbox",
        config=ProcessConfig,
        probe="camg_sandboxes.process:probe",
        isolated=False,
    )


@hookimpl
def camg_health_checks() -> Iterable[HealthCheck]:
    """What works here."""
    yield from resolve("camg_sandboxes.health:checks")()
