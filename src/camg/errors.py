"""Exceptions, named after the boundary that they cross.

``CamgError`` and its children are *handled*: the command line prints their message as one line and exits with
their ``exit_code``. Anything else is a bug of ours (or of a plugin) and keeps its traceback. Plugin authors raise
plain Python exceptions; the core translates them where they cross into it.
"""

from __future__ import annotations

import enum


class ExitCode(enum.IntEnum):
    """What the process tells the shell."""

    OK = 0
    CELL_FAILED = 1  # a cell of the run or sweep did not finish
    USAGE = 2  # the command line, a configuration file or a run directory is wrong
    PLUGIN = 3  # a selected plugin is broken, missing or in conflict
    BACKEND = 4  # something that the run needs is not available here (sandbox, engine, disk)
    INTERRUPTED = 130  # Ctrl-C: drained, checkpointed, resumable


class CamgError(Exception):
    """A fault that a person can act on. ``hint`` says how."""

    exit_code: ExitCode = ExitCode.CELL_FAILED

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message if not hint else f"{message}\n  {hint}")
        self.message = message
        self.hint = hint


class UsageError(CamgError):
    """The user asked for something that cannot be: expected, got, and what to do are in the message."""

    exit_code = ExitCode.USAGE


class ConfigError(UsageError):
    """An option has a wrong name, type or value, or options exclude one another."""


class RunDirectoryError(UsageError):
    """A run directory exists without ``--resume``, does not exist with it, or holds another configuration."""


class DataError(UsageError):
    """An input file is missing or malformed; the message names file, record and reason."""


class PluginError(CamgError):
    """A selected plugin could not be loaded, or two distributions claim one name."""

    exit_code = ExitCode.PLUGIN


class BackendUnavailable(CamgError):
    """A sandbox, an engine, a device or the disk is not there; ``camg doctor`` gives the reason."""

    exit_code = ExitCode.BACKEND


class CorruptState(CamgError):
    """A queue, checkpoint or weight file fails its checksum or cannot be read; nothing was overwritten."""


class InfrastructureFault(CamgError):
    """The world under the episode broke (no sandbox, judge unreachable, engine down): rerun, never a sample.

    The only exception that makes the rollout run an episode again. What the policy caused (timeouts, exhausted
    memory, unparseable text) is data and must not raise this.
    """


class Interrupted(CamgError):
    """Ctrl-C or SIGTERM: work in flight was drained and checkpointed."""

    exit_code = ExitCode.INTERRUPTED
