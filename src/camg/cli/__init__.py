"""The command line. One file per command; nothing here imports torch, and ``camg --help`` imports no command."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

import click

from camg.errors import CamgError, ExitCode


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``camg`` and exit: handled errors as one line, everything else with its traceback."""
    sys.exit(run_cli(list(sys.argv[1:] if arguments is None else arguments)))


def run_cli(arguments: Sequence[str]) -> int:
    """Run one command line in this process; returns the exit code (:class:`ExitCode`)."""
    from camg.cli.group import cli

    try:
        result = cli.main(list(arguments), prog_name="camg", standalone_mode=False)
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("Interrupted.", err=True)
        return ExitCode.INTERRUPTED
    except click.ClickException as problem:
        problem.show()
        return ExitCode.USAGE
    except CamgError as problem:
        click.echo(f"{click.style('Error:', fg='red')} {problem}", err=True)
        return problem.exit_code
    except BrokenPipeError:  # the reader (head, less) has gone; Python would complain once more at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    return result if isinstance(result, int) else ExitCode.OK
