"""Programs that building calls on this machine: git and pip."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from camg.errors import DataError

_SECONDS = 900.0
# a project's build must neither ask questions nor read or write the user's configuration of git
_QUIET = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_NOSYSTEM": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_INPUT": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}


def run(
    arguments: Sequence[str], what: str, *, variables: Mapping[str, str] | None = None, folder: Path | None = None
) -> bytes:
    """Standard output. Raises :class:`DataError` that says ``what`` failed, with the program's own last words."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PIP_TARGET")}
    try:
        done = subprocess.run(
            arguments,
            env={**environment, **_QUIET, **(variables or {})},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
        )
    except FileNotFoundError as error:
        raise DataError(f"{what}: {arguments[0]} was not found.", hint=f"Install {arguments[0]}.") from error
    except subprocess.TimeoutExpired as error:
        raise DataError(f"{what}: {arguments[0]} took longer than {_SECONDS:.0f} s.") from error
    if done.returncode != 0:
        raise DataError(f"{what}: {last_words(done.stderr) or f'{arguments[0]} ended with {done.returncode}'}")
    return done.stdout


def pip(arguments: Sequence[str], what: str, *, variables: Mapping[str, str] | None = None) -> bytes:
    """``python -m pip`` of this interpreter. Raises :class:`DataError`."""
    return run([sys.executable, "-m", "pip", *arguments], what, variables=variables)


def last_words(stderr: bytes) -> str:
    """The last line that names an error, else the last line; at most 300 characters."""
    lines = [line.strip() for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    named = [line for line in lines if line.lower().startswith(("error:", "fatal:")) and "exit code" not in line]
    chosen = named or [line for line in lines if not line.startswith(("hint:", "note:", "[notice]", "WARNING"))]
    return chosen[-1][:300] if chosen else ""
