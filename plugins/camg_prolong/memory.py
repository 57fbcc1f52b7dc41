"""PRO-LONG under the common protocol: nothing is asked for at a boundary, since everything is in the log already.

The log is the harness's: writing it is no access to the memory, and what the policy changes in it is undone after its
response. Other files below the folder are the policy's, as ever.
"""

from __future__ import annotations

from collections.abc import Sequence

from camg.protocols import EpisodeView, Replace
from camg.types import Action, Boundary, BoundaryKind, FileState, Manifest, StepResult, Tool
from camg.workspace.memory import FileSession
from camg_prolong.config import ProlongConfig
from camg_prolong.log import NAME, PATH, Log

ABOUT = f"""\
Your context is bounded and is replaced without warning. Everything that happens is logged in {PATH}: one JSON
object a line, with timestamp (the number of the response), sessionId, type (session_start, user_prompt, tool_call,
tool_result, assistant_message, session_end) and content. Search it narrowly with the shell (grep -o, tail, cut), never
load it whole, and never edit it: it is restored."""
ABOUT_TERSE = f"all is logged in {PATH}"
NOTE = """\
Your earlier context was replaced. What happened is in {path} ({size} bytes{full}). Search it narrowly, for instance:
grep -o '.\\{{0,80\\}}WORD.\\{{0,80\\}}' {path} | tail -n 5"""
NOTE_TERSE = "log: {path} ({size} bytes{full})"


class Prolong:
    """``--memory prolong``: no tools of its own."""

    tools: Sequence[Tool] = ()

    def __init__(self, config: ProlongConfig) -> None:
        self.config = config

    def instructions(self, *, terse: bool) -> str:
        """Where the log is and how to search it."""
        return ABOUT_TERSE if terse else ABOUT

    def open(self, view: EpisodeView) -> ProlongSession:
        """One episode's log."""
        return ProlongSession(view, self.config)


class ProlongSession(FileSession):
    """Keeps the log. A session of it is one of the environment's, from a brief to the next declared boundary."""

    def __init__(self, view: EpisodeView, config: ProlongConfig) -> None:
        super().__init__(view)
        self._log = Log(view.box, config.log_bytes)
        self._session = 0
        self._begun = False
        self._turn = 0

    def before_turn(self) -> None:
        """Log the brief of a session that begins."""
        if not self._begun:
            self._begun = True
            self._append("session_start", "")
            self._append("user_prompt", self.view.brief())
            self._restore()

    def after_action(self, action: Action, result: StepResult) -> StepResult:
        """Log the response and its result, whole even where the policy is shown less."""
        seen = result.observation
        self._append("assistant_message" if action.tool is None else "tool_call", action.raw)
        self._append("tool_result", seen.shown if seen.full is None else seen.full)
        self._turn += 1
        self._restore()
        return result

    def at_boundary(self, boundary: Boundary) -> Replace:
        """A fresh context that says where the log is."""
        if boundary.kind is BoundaryKind.DECLARED:
            self._append("session_end", "")
            self._session += 1
            self._begun = False
            self._restore()
        note = NOTE_TERSE if self.view.codec.terse else NOTE
        full = ", full: later events are missing" if self._log.full else ""
        return Replace(note.format(path=PATH, size=len(self._log), full=full))

    def accesses(self, action: Action, before: Manifest, after: Manifest) -> bool:
        """A shell command that names or walks the folder, or changed a file in it other than the log."""
        same = {NAME: FileState(kind="file")}
        return super().accesses(action, {**before, **same}, {**after, **same})

    def _append(self, kind: str, content: str) -> None:
        was_full = self._log.full
        if not self._log.append(self._turn, self._session, kind, content) and not was_full:
            self.record("prolong-full")

    def _restore(self) -> None:
        if not self._log.restore():
            self.record("prolong-unwritable")
