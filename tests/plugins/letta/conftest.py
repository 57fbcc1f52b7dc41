"""No test reads or writes the user's cache, and `through` of the other memories' tests can be imported."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from camg.testing.memory import View
from camg.types import Limits
from camg_letta.config import LettaConfig
from camg_letta.memory import Letta
from camg_sandboxes.bwrap import BwrapConfig, BwrapSandbox, probe

sys.path.insert(0, str(Path(__file__).parents[1] / "memories"))


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="module")
def sandbox():
    if reason := probe():
        pytest.skip(f"bwrap cannot run here: {reason}")
    found: Any = BwrapSandbox(BwrapConfig())
    yield found
    found.close()


class Desk:
    """A session over a box, with the loop's part played by hand."""

    def __init__(self, box: Any, *, terse: bool = False, **options: Any) -> None:
        self.box = box
        self.view: Any = View(box, terse=terse)
        self.session = Letta(LettaConfig(**options)).open(self.view)

    def ask(self, command: str, reason: str = "because", **arguments: Any) -> str:
        from camg.types import Action

        action = Action("memory", {"command": command, "reason": reason, **arguments})
        return self.session.handle(action).observation.shown

    def shell(self, command: str) -> str:
        """A shell action, and what the memory does after it."""
        from camg.types import Action
        from camg.workspace.shell import run_shell

        action = Action("shell_command", {"command": command}, raw=command)
        return self.session.after_action(action, run_shell(self.box, action)).observation.shown

    def prompt(self) -> str:
        """The instructions of the next context."""
        from camg.types import Boundary, BoundaryKind

        plan = self.session.at_boundary(Boundary(BoundaryKind.DECLARED, "Keep it."))
        return plan.instructions


@pytest.fixture
def desk(sandbox):
    box = sandbox.open("letta", limits=Limits())
    yield Desk(box)
    box.close()


@pytest.fixture
def desk_of(sandbox):
    boxes = []

    def make(**options: Any) -> Desk:
        boxes.append(sandbox.open("letta", limits=Limits()))
        return Desk(boxes[-1], **options)

    yield make
    for box in boxes:
        box.close()
