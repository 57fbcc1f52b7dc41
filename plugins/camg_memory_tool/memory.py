"""The memory tool under the common protocol.

The original has no checkpoint. Here the environment's reminder is said once at a boundary; the next response that is
an action is the last of its context, whatever it was. A response without any action is answered with the reminder
again. The verdict is accepted if the response was a command of the tool that succeeded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from camg.protocols import Announce, EpisodeView, Replace, Review
from camg.types import (
    Action,
    Boundary,
    CheckpointFailure,
    CheckpointVerdict,
    Manifest,
    Observation,
    Parameter,
    StepResult,
    Tool,
)
from camg.workspace.checkpoint import FOLDER
from camg.workspace.memory import FileSession
from camg_memory_tool.config import MemoryToolConfig
from camg_memory_tool.files import COMMANDS, ROOT, Files, Refused, plain

ABOUT = f"""\
Your context is bounded: from time to time it is replaced, after one more action of yours, and only the files below
{ROOT} remain. Keep there, with the tool `memory`, what you will need, and view it when a context begins. Commands:
view(path, view_range?), create(path, file_text), str_replace(path, old_str, new_str), insert(path, insert_line,
insert_text; 0 is the top), delete(path), rename(old_path, new_path). {ROOT} is the folder {FOLDER} of the workspace."""
ABOUT_TERSE = f"memory keeps files in {ROOT}."
USE = f"\nUse the tool memory, where that folder is {ROOT}; after your next action the context is replaced."
AGAIN = "There was no action, so nothing was kept.\n"
NOTE = f"Your earlier context was replaced. Your notes are in {ROOT}."
NOTE_TERSE = f"notes: {ROOT}"

_OPTIONAL: Sequence[tuple[str, str, str]] = (
    ("path", "a file or folder", "string"),
    ("view_range", "[first, last] line", "array"),
    ("file_text", "the whole text", "string"),
    ("old_str", "a text that occurs once", "string"),
    ("new_str", "what replaces it", "string"),
    ("insert_line", "the line after which to insert", "integer"),
    ("insert_text", "what to insert", "string"),
    ("old_path", "of rename", "string"),
    ("new_path", "of rename", "string"),
)
TOOL = Tool(
    "memory",
    f"View and change the files below {ROOT}.",
    (
        Parameter("command", ", ".join(COMMANDS)),
        *(Parameter(name, summary, kind, required=False, empty=True) for name, summary, kind in _OPTIONAL),
    ),
)
_TRIED = re.compile(r"""\bmemory\s*[\[:({]|=\s*["']?memory\b|"name"\s*:\s*"memory\"""")


class MemoryTool:
    """``--memory memory-tool``."""

    tools: Sequence[Tool] = (TOOL,)

    def __init__(self, config: MemoryToolConfig) -> None:
        self.config = config

    def instructions(self, *, terse: bool) -> str:
        """What the tool is for, and its commands."""
        return ABOUT_TERSE if terse else ABOUT

    def open(self, view: EpisodeView) -> MemoryToolSession:
        """One episode's files."""
        return MemoryToolSession(view, self.config)


class MemoryToolSession(FileSession):
    """Executes commands, and lets one action pass between a boundary's reminder and the fresh context."""

    def __init__(self, view: EpisodeView, config: MemoryToolConfig) -> None:
        super().__init__(view)
        self._files = Files(view.box, config)
        self._succeeded = False

    def handle(self, action: Action) -> StepResult:
        """Execute a command; what cannot be done is an error observation."""
        arguments = dict(action.arguments)
        command = arguments.pop("command", "")
        self._succeeded = False
        try:
            shown = self._files.execute(command, arguments)
            self._succeeded = True
        except Refused as error:
            shown = f"Error: {error}."
        except OSError as error:
            shown = f"Error: {plain(error.strerror or 'the file cannot be reached')}."
        return StepResult(Observation(shown=shown))

    def at_boundary(self, boundary: Boundary) -> Announce:
        """Say the environment's reminder, once."""
        self._reminder = boundary.reminder if self.view.codec.terse else boundary.reminder + USE
        return Announce(self._reminder)

    def review(self, action: Action, before: Manifest, after: Manifest) -> Review:
        """Any action is the last one of its context."""
        if action.tool is None:
            verdict = CheckpointVerdict(False, CheckpointFailure.UNPARSEABLE, "the response held no executable action")
            return Review(verdict, Announce(self._reminder if self.view.codec.terse else AGAIN + self._reminder))
        note = NOTE_TERSE if self.view.codec.terse else NOTE
        if action.tool != TOOL.name:
            failure, detail = CheckpointFailure.NOT_FILESYSTEM, "the response was no command of the memory tool"
        elif not self._succeeded:
            failure, detail = CheckpointFailure.UNCHANGED, "the command of the memory tool failed"
        else:
            return Review(CheckpointVerdict(accepted=True), Replace(note))
        return Review(CheckpointVerdict(False, failure, detail), Replace(note))

    def accesses(self, action: Action, before: Manifest, after: Manifest) -> bool:
        """A command, a response that tried one and did not parse, or a shell command that touches the files."""
        if action.tool is None:
            return bool(_TRIED.search(action.raw))
        return action.tool == TOOL.name or super().accesses(action, before, after)
