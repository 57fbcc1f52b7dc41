"""Options that several commands share, and how they become settings."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from camg.cli.group import registry_of
from camg.config.rundir import MANIFEST
from camg.errors import RunDirectoryError

F = TypeVar("F", bound=Callable[..., Any])


class ComponentName(click.ParamType):  # type: ignore[type-arg]
    """The name of an installed component; the shell completes it, the resolver says "did you mean"."""

    name = "name"

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Installed names with their summaries."""
        registry = registry_of(ctx)
        names = [name for name in registry.names(self.kind) if name.startswith(incomplete)]
        return [CompletionItem(name, help=registry.spec(self.kind, name).summary) for name in names]


class Assignment(click.ParamType):  # type: ignore[type-arg]
    """``name=value`` -> the pair."""

    name = "name=value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Split at the first ``=``."""
        if isinstance(value, tuple):
            return value
        name, equals, text = value.partition("=")
        if not equals or not name.strip():
            self.fail(f"Expected NAME=VALUE (such as learner.actor_lr=1e-4), got {value!r}.", param, ctx)
        return name.strip(), text.strip()


class RunName(click.ParamType):  # type: ignore[type-arg]
    """A run: a directory, the name of one below the runs root (or its beginning or hash), or ``latest``."""

    name = "run"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Find the run. Raises :class:`RunDirectoryError`."""
        return value if isinstance(value, Path) else find_run(str(value))

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Runs below the root, latest first, then folders."""
        names = ["latest", *(path.name for path in known_runs())]
        return [CompletionItem(n) for n in names if n.startswith(incomplete)] + [CompletionItem(incomplete, type="dir")]


def runs_root() -> Path:
    """Where runs are kept: ``CAMG_RUNS``, else ``runs`` in the working directory."""
    return Path(os.environ.get("CAMG_RUNS") or "runs")


def known_runs() -> list[Path]:
    """Runs below the root, latest first."""
    root = runs_root()
    found = [path.parent for path in root.glob(f"*/{MANIFEST}")] if root.is_dir() else []
    return sorted(found, key=lambda path: (path / MANIFEST).stat().st_mtime, reverse=True)


def find_run(text: str) -> Path:
    """The directory of a run. Raises :class:`RunDirectoryError` naming what there is."""
    runs = known_runs()
    if text == "latest":
        if runs:
            return runs[0]
        raise RunDirectoryError(f"There is no run below {runs_root()}.", hint="Make one with `camg run`, or name it.")
    if (Path(text) / MANIFEST).is_file():
        return Path(text)
    matches = [run for run in runs if run.name == text or run.name.startswith(text) or run.name.endswith(f"-{text}")]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise RunDirectoryError(f"'{text}' may be any of {', '.join(run.name for run in matches)}.")
    hint = f"The latest: {', '.join(run.name for run in runs[:3])}." if runs else "No run is known here."
    raise RunDirectoryError(f"There is no run '{text}': Expected a folder with {MANIFEST}.", hint=hint)


def find_cell(run: Path, cell: str | None, known: list[str]) -> str:
    """The hash of a cell, from its beginning; a run of one needs none. Raises :class:`RunDirectoryError`."""
    matches = [digest for digest in known if digest.startswith(cell or "")]
    if len(matches) == 1:
        return matches[0]
    expected = f"--cell with one of {', '.join(known)}"
    raise RunDirectoryError(f"{run}: Expected {expected}, got {cell!r}." if cell else f"{run}: Expected {expected}.")


def component_options(*, several: bool) -> Callable[[F], F]:
    """The component options of ``run`` (given once) or ``sweep`` (``several``: repeat and multiply)."""
    more = "; repeats and multiplies" if several else ""

    def decorate(command: F) -> F:
        for kind, text in (
            ("baseline", "Whole method to start from"),
            ("recipe", "Training stages"),
            ("reward", "What the learner trains on"),
            ("sandbox", "Where shell commands run"),
            ("policy", "Model and engine"),
            ("estimator", "Credit assignment"),
            ("memory", "How the policy remembers"),
        ):
            command = click.option(f"--{kind}", type=ComponentName(kind), multiple=several, help=text + more + ".")(
                command
            )
        return click.option(
            "--env", type=ComponentName("environment"), multiple=True, help="Environment; repeat for one joint run."
        )(command)

    return decorate


def setting_options(command: F) -> F:
    """``--set``, ``--config``, ``--no-plugin`` and the two switches that stand for a setting each."""
    for option in (
        click.option("--no-plugin", metavar="NAME", multiple=True, help="Leave out a plugin; repeatable."),
        click.option(
            "--i-know-this-is-not-isolated",
            is_flag=True,
            help="Accept a sandbox without isolation (--sandbox process).",
        ),
        click.option("--no-memory-gradient", is_flag=True, help="Responses that access the memory are not trained."),
        click.option("--config", type=click.Path(path_type=Path, dir_okay=False), help="TOML file with settings."),
        click.option("--set", "settings", type=Assignment(), multiple=True, help="Any setting, e.g. shop.sessions=6."),
    ):
        command = option(command)
    return command


def output_options(command: F) -> F:
    """``--json`` and ``--quiet``."""
    command = click.option("--quiet", "-q", is_flag=True, help="No progress.")(command)
    return json_option(command)


def json_option(command: F) -> F:
    """``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")(command)


def cell_option(command: F) -> F:
    """``--cell``."""
    return click.option("--cell", metavar="HASH", help="Which cell of a sweep (the beginning of its hash).")(command)


def echo_json(value: Any) -> None:
    """Print a result for machines on stdout."""
    click.echo(json.dumps(value, indent=2))
