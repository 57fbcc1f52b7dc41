"""Shell files as memory (paper 4.2 and A.2), and its two variants: the continuation file alone, and an aliased tool.

At a boundary the policy is asked to write ``.agent_memory/CONTINUATION.md``; only a valid write replaces the context,
and the file's content is not inserted: a neutral line names the path, reading it is the policy's choice.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from camg.protocols import EpisodeView
from camg.types import Action, StepResult, Tool
from camg.workspace.checkpoint import FOLDER, NAME, PATH
from camg.workspace.memory import FileSession
from camg.workspace.shell import SHELL_COMMAND
from camg_shell.config import ShellConfig

OPENING = f"""\
Your workspace outlives your context. From time to time the context is replaced: you are then asked first to write
{PATH}, and only files remain. """

FILES = f"""\
Regular files below {FOLDER}/ are your memory; create, revise, search and read them with
{{tool}}, which runs from the workspace root. Write several lines with one quoted here-document:
{{tool}} with: mkdir -p {FOLDER} && cat > {FOLDER}/notes.md <<'EOF' … EOF"""

ONE_FILE = f"""\
That file is your only memory: other files below {FOLDER}/ are removed. Write and read it
with {{tool}}, which runs from the workspace root, in one quoted here-document:
{{tool}} with: mkdir -p {FOLDER} && cat > {PATH} <<'EOF' … EOF"""


class ShellMemory:
    """``--memory shell``: no tools of its own."""

    tools: Sequence[Tool] = ()

    def __init__(self, config: ShellConfig) -> None:
        self.config = config
        self.shell_tool = attrs.evolve(SHELL_COMMAND, name=config.alias) if config.alias else None

    def instructions(self, *, terse: bool) -> str:
        """What files are for. The embedded policy has learnt it from demonstrations and gets none."""
        if terse:
            return ""
        files = ONE_FILE if self.config.continuation_only == "always" else FILES
        return OPENING + files.format(tool=self.config.alias or SHELL_COMMAND.name)

    def open(self, view: EpisodeView) -> FileSession:
        """One episode's memory."""
        only = self.config.continuation_only
        alone = only == "always" or (only == "evaluation" and view.evaluating)
        return OneFileSession(view) if alone else FileSession(view)


class OneFileSession(FileSession):
    """The continuation file is the only memory file: what else appears beside it is removed, and that is said."""

    def after_action(self, action: Action, result: StepResult) -> StepResult:
        """After a shell command: remove the others. Folders go with what they hold."""
        if action.tool not in self.view.filesystem_tools:
            return result
        manifest = self.view.box.manifest()
        others = sorted(path for path, state in manifest.items() if path != NAME and state.kind != "directory")
        removed = [path for path in others if self._remove(path)]
        if not removed:
            return result
        self.record("enforced", files=float(len(removed)))
        names = ", ".join(path[:80] for path in removed[:3]) + (f" and {len(removed) - 3} more" if removed[3:] else "")
        shown = f"{result.observation.shown}\n[removed: {names}; {PATH} is the only memory file]"
        return attrs.evolve(result, observation=attrs.evolve(result.observation, shown=shown))

    def _remove(self, path: str) -> bool:
        """Is it gone? ``.`` stands for a memory folder that is itself a link or a file."""
        try:
            self.view.box.remove(FOLDER if path == "." else f"{FOLDER}/{path}")
        except OSError:
            return False
        return True
