"""apply_patch in a real bwrap box: removal, and what the shell changed is put back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from camg.testing.memory import View
from camg.types import Action, Limits, Observation, StepResult, Workspace
from camg.workspace.shell import run_shell
from camg_apply_patch.config import ApplyPatchConfig
from camg_apply_patch.memory import ApplyPatchMemory
from camg_sandboxes.bwrap import BwrapConfig, BwrapSandbox, probe


def test_what_the_shell_does_to_tracked_files_is_undone(tmp_path: Path) -> None:
    if reason := probe():
        pytest.skip(f"bwrap cannot run here: {reason}")
    (tmp_path / "src").mkdir()
    for name, data in {"src/a": b"a\n", "src/b": b"b\n", "gone": b"g\n", "raw": b"\0\1"}.items():
        (tmp_path / name).write_bytes(data)
    workspace = Workspace(base=tmp_path)
    sandbox: Any = BwrapSandbox(BwrapConfig())
    box = sandbox.open("apply-patch", limits=Limits(), workspace=workspace)
    try:
        view: Any = View(box, terse=False)
        view.workspace = workspace
        session = ApplyPatchMemory(ApplyPatchConfig()).open(view)

        def shell(command: str) -> StepResult:
            action = Action("shell_command", {"command": command})
            return session.after_action(action, run_shell(box, action))

        patch = "*** Begin Patch\n*** Delete File: gone\n*** Update File: src/b\n@@\n-b\n+B\n*** End Patch"
        done = session.handle(Action("apply_patch", {"input": patch}))
        assert done.observation.exit_status == 0
        assert session.after_action(Action("apply_patch", {"input": patch}), done) == done
        assert shell("cat src/b").observation.shown == "B"
        shell("rm src/b; ln -s /etc/passwd src/b; echo x > src/a; echo g > gone; echo 2 > raw; echo o > src/o")
        assert box.run("cat src/a src/b src/o raw; ls").output == b"a\nB\no\n2\nraw\nsrc\n"
        shell("rm -r src; echo file > src")
        assert box.run("cat src/a src/b").output == b"a\nB\n"
        shell("rm src/a; mkdir -p src/a/deep; echo 1 > src/a/deep/x; mkdir .agent_memory; echo 1 > .agent_memory/n")
        assert box.run("cat src/a; ls .agent_memory").output == b"a\n"
        assert [event.kind for event in view.events] == ["enforced"] * 3
        wordless = session.after_action(Action(None, fault="no_action"), StepResult(Observation("hm")))
        assert wordless.observation.shown == "hm"
        session.close()
    finally:
        box.close()
        sandbox.close()
