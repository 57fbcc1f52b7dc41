"""``camg completion``: the script that makes the shell complete commands, options, components and runs."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from camg.cli.group import BUILT_IN, cli
from camg.errors import UsageError

SHELLS = ("bash", "zsh", "fish")


@click.command("completion", help=BUILT_IN["completion"])
@click.argument("shell", required=False, type=click.Choice(SHELLS))
def command(shell: str | None) -> None:
    """Print the script; e.g. `camg completion bash > ~/.local/share/bash-completion/completions/camg`."""
    name = shell or Path(os.environ.get("SHELL", "")).name
    completer = get_completion_class(name) if name in SHELLS else None
    if completer is None:
        raise UsageError(f"Expected one of {', '.join(SHELLS)}, got {name!r}.", hint="camg completion bash")
    click.echo(completer(cli, {}, "camg", "_CAMG_COMPLETE").source())
