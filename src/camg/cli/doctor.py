"""``camg doctor``: what works on this machine, and what to do about what does not."""

from __future__ import annotations

import os
import shutil
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import attrs
import click

from camg.cli.group import BUILT_IN, registry_of
from camg.cli.options import echo_json, json_option, runs_root
from camg.config import DEFAULTS
from camg.config.provenance import machine
from camg.discovery import GROUP
from camg.errors import ExitCode
from camg.plugins import Registry, Status
from camg.report.format import size
from camg.specs import resolve
from camg.types import HealthCheck

FREE_BYTES = 1 << 30
MEMORY_BYTES = 2 << 30


@click.command("doctor", help=BUILT_IN["doctor"])
@json_option
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Exit code 3: a plugin is broken; 4: the default sandbox cannot run."""
    registry = registry_of(ctx)
    sandbox = _sandbox(registry)
    checks = [*_machine(), *_plugins(registry), sandbox]
    for found in registry.hook.camg_health_checks():
        checks += list(found or ())
    if as_json:
        echo_json({"checks": [attrs.asdict(check) for check in checks], "machine": machine()})
    else:
        for check in checks:
            mark = click.style("ok  ", fg="green") if check.ok else click.style("FAIL", fg="red")
            click.echo(f"{mark}  {click.style(check.name, bold=True)}: {check.detail}")
            if not check.ok and check.remedy:
                click.echo(f"      -> {check.remedy}")
    ctx.exit(_exit_code(checks, sandbox, registry))


def _exit_code(checks: list[HealthCheck], sandbox: HealthCheck, registry: Registry) -> ExitCode:
    if not sandbox.ok:
        return ExitCode.BACKEND
    return ExitCode.PLUGIN if registry.problems else ExitCode.OK


def _machine() -> Iterator[HealthCheck]:
    about = machine()
    supported = sys.version_info[:2] >= (3, 11)
    yield HealthCheck("python", supported, about["python"], "Install Python 3.11 or later.")
    cores, memory = about["cores"], about["memory_bytes"]
    yield HealthCheck(
        "machine",
        memory >= MEMORY_BYTES,
        f"{about['system']}, {cores} cores, {size(memory)} memory",
        f"Training the embedded policy wants {size(MEMORY_BYTES)} of memory.",
    )
    libraries = about["libraries"]
    lacking = [name for name in ("torch", "transformers", "tokenizers", "safetensors") if name not in libraries]
    detail = ", ".join(f"{name} {version}" for name, version in libraries.items())
    yield HealthCheck("libraries", not lacking, detail, f"pip install {' '.join(lacking)}")
    root = runs_root()
    there = next(path for path in (root.absolute(), *root.absolute().parents) if path.exists())
    free, writable = shutil.disk_usage(there).free, os.access(there, os.W_OK)
    yield HealthCheck(
        "disk",
        writable and free >= FREE_BYTES,
        f"{size(free)} free for {root}" + ("" if writable else ", which cannot be written"),
        "Free some space, or let CAMG_RUNS name another folder.",
    )


def _plugins(registry: Registry) -> Iterator[HealthCheck]:
    broken = [info for info in registry.plugins() if info.status in (Status.BROKEN, Status.CONFLICT)]
    working = sum(info.status is Status.LOADED for info in registry.plugins())
    yield HealthCheck(
        "plugins",
        not registry.problems,
        "; ".join(registry.problems) if registry.problems else f"{working} work",
        "Repair or uninstall "
        + (", ".join(info.name for info in broken) or "one of them")
        + "; --no-plugin NAME goes on without.",
    )
    stale = stale_entry_points()
    if stale is not None:
        yield HealthCheck(
            "entry points",
            not stale,
            f"out of date: {', '.join(stale)}" if stale else "as in pyproject.toml",
            f"Entry points change only when the package is installed: pip install -e {_source()}",
        )


def _source() -> Path:
    """The work tree that an editable install is made of."""
    return Path(__file__).resolve().parents[3]


def stale_entry_points() -> list[str] | None:
    """Plugins whose installed entry point is not what ``pyproject.toml`` says; None for a normal install."""
    file = _source() / "pyproject.toml"
    try:
        project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
        if project["name"] != GROUP:
            return None
        installed = {p.name: p.value for p in metadata.distribution(GROUP).entry_points if p.group == GROUP}
    except (OSError, tomllib.TOMLDecodeError, KeyError, metadata.PackageNotFoundError):
        return None
    declared: dict[str, str] = project.get("entry-points", {}).get(GROUP, {})
    return sorted(name for name in {*declared, *installed} if declared.get(name) != installed.get(name))


def _sandbox(registry: Registry) -> HealthCheck:
    """The default sandbox, by its own probe."""
    name = DEFAULTS["sandbox"]
    remedy = "The checks of the sandbox name the cause; `--sandbox process` runs without isolation."
    if name not in registry.names("sandbox"):
        return HealthCheck("default sandbox", False, f"{name}: no working plugin offers it", "camg plugins")
    probe = registry.spec("sandbox", name).probe
    reason = resolve(probe)() if probe is not None else None
    return HealthCheck("default sandbox", reason is None, f"{name}: {reason or 'runs here'}", remedy)
