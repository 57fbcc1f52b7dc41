"""What ``camg doctor`` says about sandboxes: whether each works, and if not why, and what to do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from camg.errors import BackendUnavailable
from camg.types import HealthCheck
from camg_sandboxes import bwrap, process, seccomp

_SWITCHES = (
    (
        "/proc/sys/kernel/unprivileged_userns_clone",
        "0",
        "this kernel lets only root make user namespaces",
        "sudo sysctl -w kernel.unprivileged_userns_clone=1",
    ),
    (
        "/proc/sys/user/max_user_namespaces",
        "0",
        "user namespaces are switched off on this machine",
        "sudo sysctl -w user.max_user_namespaces=15000",
    ),
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor keeps ordinary programs from using user namespaces (Ubuntu 23.10 and later)",
        "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or give bwrap and python an AppArmor profile "
        "with `userns,`",
    ),
)
_ELSEWHERE = (
    "In a container, allow nested namespaces (docker run --security-opt seccomp=unconfined "
    "--security-opt apparmor=unconfined --cap-add SYS_ADMIN), or use --sandbox process --i-know-this-is-not-isolated."
)


def checks() -> Iterator[HealthCheck]:
    """One line per sandbox, and one for what makes bwrap better."""
    reason = bwrap.probe()
    if reason is None:
        yield HealthCheck("sandbox bwrap", ok=True, detail=f"a box opened and ran ({bwrap.find_bwrap()})")
    else:
        switch = _switched_off()
        detail = f"{switch[0]} ({reason})" if switch else reason
        yield HealthCheck("sandbox bwrap", ok=False, detail=detail, remedy=switch[1] if switch else _remedy())
    reason = process.probe()
    detail = "runs, without any isolation: needs --i-know-this-is-not-isolated"
    yield HealthCheck(
        "sandbox process", ok=reason is None, detail=reason or detail, remedy="Install bash." if reason else ""
    )
    known = seccomp.program() is not None
    yield HealthCheck(
        "sandbox filter",
        ok=known,
        detail="boxes filter system calls" if known else f"no system-call filter for {os.uname().machine}",
        remedy="" if known else "Boxes run without it; memory that no process has resident is not limited.",
    )


def _switched_off(switches: tuple[tuple[str, str, str, str], ...] = _SWITCHES) -> tuple[str, str] | None:
    """(reason, remedy) of the first kernel switch that forbids user namespaces."""
    for path, bad, reason, remedy in switches:
        try:
            value = Path(path).read_text(encoding="ascii").strip()
        except OSError:
            continue
        if value == bad:
            return reason, remedy
    return None


def _remedy() -> str:
    try:
        bwrap.find_bwrap()
    except BackendUnavailable as error:
        return error.hint
    return _ELSEWHERE
