"""Files as memory, changed through ``apply_patch`` (paper D.7): boundaries and review are those of shell files."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from camg.protocols import EpisodeView
from camg.types import Action, Observation, Parameter, StepResult, Tool
from camg.workspace.checkpoint import FOLDER, PATH
from camg.workspace.memory import FileSession
from camg_apply_patch.apply import apply_patch
from camg_apply_patch.config import ApplyPatchConfig
from camg_apply_patch.enforcement import Keeper, Undone

APPLY_PATCH = Tool(
    name="apply_patch",
    summary="Change text files of the workspace: one patch, from '*** Begin Patch' to '*** End Patch'.",
    parameters=(Parameter("input", "the whole patch"),),
    filesystem=True,
)

INSTRUCTIONS = f"""\
Your workspace outlives your context. From time to time the context is replaced: you are then asked first to write
{PATH}, and only files remain. Regular files below {FOLDER}/ are your memory. Read, search and run with
shell_command; create, change and delete text files with apply_patch only. A patch is one or more file hunks:
*** Begin Patch
*** Add File: {FOLDER}/notes.md
+each line of the new file, after a plus (an existing file is overwritten)
*** Update File: src/app.py
*** Move to: src/main.py
@@ def greet():
 a line that stays, after a space: three before and after a change find its place
-a line that goes
+a line that comes
*** Delete File: old.txt
*** End Patch
"*** Move to" is optional. "@@" opens each further change of a file; text after it names a line above the change. A
change that ends with the line "*** End of File" is sought at the end only. Paths are relative to the workspace root.
What was done before a failing hunk stays."""

TERSE = """\
apply_patch: *** Begin Patch / *** Add File: P / +line / *** End Patch
also *** Delete File: P; *** Update File: P with @@, " " keep, "-" old, "+" new"""


class ApplyPatchMemory:
    """``--memory apply-patch``."""

    tools: Sequence[Tool] = (APPLY_PATCH,)

    def __init__(self, config: ApplyPatchConfig) -> None:
        self.config = config

    def instructions(self, *, terse: bool) -> str:
        """What files are for, and the format of a patch."""
        return TERSE if terse else INSTRUCTIONS

    def open(self, view: EpisodeView) -> ApplyPatchSession:
        """One episode's memory."""
        return ApplyPatchSession(view, enforce=self.config.enforce)


class ApplyPatchSession(FileSession):
    """Applies patches, and undoes what the shell changed."""

    def __init__(self, view: EpisodeView, *, enforce: bool) -> None:
        super().__init__(view)
        self._keeper = Keeper(view.box, view.workspace.base) if enforce else None

    def handle(self, action: Action) -> StepResult:
        """Apply a patch; one that fails is data, with exit status 1."""
        if action.tool != APPLY_PATCH.name:
            return StepResult(Observation(shown=f"{action.tool} is not a tool."), invalid=True)
        done = apply_patch(self.view.box, str(action.arguments.get("input", "")))
        if self._keeper:
            self._keeper.wrote(done.written)
        return StepResult(Observation(shown=done.text, exit_status=1 if done.error else 0))

    def after_action(self, action: Action, result: StepResult) -> StepResult:
        """After a shell command: put tracked text files back, say so, and count them."""
        if self._keeper is None or action.tool == APPLY_PATCH.name or action.tool not in self.view.filesystem_tools:
            return result
        undone = self._keeper.enforce()
        if not undone.restored:
            return result
        self.record("enforced", files=float(len(undone.restored)), left=float(undone.left))
        shown = f"{result.observation.shown}\n{_notice(undone)}"
        return attrs.evolve(result, observation=attrs.evolve(result.observation, shown=shown))

    def close(self) -> None:
        """Nothing stays behind."""
        if self._keeper:
            self._keeper.close()


def _notice(undone: Undone) -> str:
    names = ", ".join(path[:80] for path in undone.restored[:3])
    more = f" and {len(undone.restored) - 3} more" if len(undone.restored) > 3 else ""
    return f"[put back as it was: {names}{more}; files are changed with apply_patch]"
