"""For plugin authors: conformance checks, and parts that stand in for a model and a sandbox.

Each check runs the component as CAMG would and raises ``AssertionError`` with a sentence that says what was expected
and what came. They are plain functions, so that any test runner, or none, will do::

    from camg.testing import check_environment

    check_environment(Maze(MazeConfig()), splits=("train", "eval"), oracle=solve, memory=memory)
"""

from __future__ import annotations

from camg.testing.environment import check_environment
from camg.testing.estimator import check_estimator
from camg.testing.expect import expect
from camg.testing.memory import check_memory
from camg.testing.parts import FolderBox, FolderSandbox, ScriptedSampler, play
from camg.testing.policy import check_policy
from camg.testing.sandbox import check_sandbox

__all__ = [
    "FolderBox",
    "FolderSandbox",
    "ScriptedSampler",
    "check_environment",
    "check_estimator",
    "check_memory",
    "check_policy",
    "check_sandbox",
    "expect",
    "play",
]
