"""MemFS of Letta Code under the common protocol.

As in the original: files in a git repository; one tool of six commands, each of which commits; ``system/`` of HEAD in
the prompt; a sliding window with an untrained summary. Departures: the prompt is compiled anew at each replacement of
the context, so that contexts stay append-only between them; the environment's own boundary clears the context as under
every memory, which is a new conversation of the same agent: files alone cross it (``session_summary``: a summary, too);
reflection (a pass in the background) is off.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import attrs

from camg.protocols import Continue, EpisodeView, Kept, Replace, Review, Step
from camg.types import (
    Action,
    Boundary,
    BoundaryKind,
    CheckpointVerdict,
    Manifest,
    Observation,
    Parameter,
    StepResult,
    Tool,
)
from camg.workspace.checkpoint import FOLDER
from camg.workspace.memory import FileSession
from camg_letta.commands import COMMANDS, Edits, Refused, plain
from camg_letta.compaction import Window
from camg_letta.config import LettaConfig
from camg_letta.frontmatter import Parsed, Wrong, checked, parse
from camg_letta.prompt import ABOUT, ABOUT_TERSE, SELF, block, compile_prompt
from camg_letta.repository import Entry, GitFailed, Repository

PERSONA = Parsed(
    ("description: who I am and how I work",),
    "I solve one long task. What I will need later I keep in these files: short, exact, one place for each thing.\n",
).text()
RESUME = "Earlier messages were removed. Your summary of them:\n{summary}"
RESUME_TERSE = "summary: {summary}"
RESTORED = "[the repository's own files were restored]"
REMADE = "[the repository was broken and has been made anew from the files that are there; its history is lost]"
_REASON_BYTES = 500

_OPTIONAL: Sequence[tuple[str, str, str]] = (
    ("file_path", "such as system/notes.md", "string"),
    ("description", "what the file is for", "string"),
    ("file_text", "the text of a new file", "string"),
    ("old_string", "a text that occurs", "string"),
    ("new_string", "what replaces it", "string"),
    ("insert_line", "the line, from 1, where the text is inserted", "integer"),
    ("insert_text", "what to insert", "string"),
    ("old_path", "of rename", "string"),
    ("new_path", "of rename", "string"),
)
TOOL = Tool(
    "memory",
    "Change a memory file and commit the change.",
    (
        Parameter("command", ", ".join(COMMANDS)),
        Parameter("reason", "the message of the commit"),
        *(Parameter(name, summary, kind, required=False, empty=True) for name, summary, kind in _OPTIONAL),
    ),
)
_TRIED = re.compile(r"""\bmemory\s*[\[:({]|=\s*["']?memory\b|"name"\s*:\s*"memory\"""")


class Letta:
    """``--memory letta``."""

    tools: Sequence[Tool] = (TOOL,)

    def __init__(self, config: LettaConfig) -> None:
        self.config = config

    def instructions(self, *, terse: bool) -> str:
        """What the tool is for, and the files that every episode begins with."""
        return f"{ABOUT_TERSE if terse else ABOUT}\n{block(SELF, parse(PERSONA), terse)}"

    def open(self, view: EpisodeView) -> LettaSession:
        """One episode's repository."""
        return LettaSession(view, self.config)


class LettaSession(FileSession):
    """Commits what the tool changes, compiles the prompt, and slides the window."""

    def __init__(self, view: EpisodeView, config: LettaConfig) -> None:
        super().__init__(view)
        self._config = config
        self._repository = Repository(view.box, config.git_seconds)
        self._edits = Edits(view.box, config)
        self._window = Window(view, config)
        self._calls = self._remade = 0
        self._repository.start({SELF: PERSONA})

    # ------------------------------------------------------------ the tool
    def handle(self, action: Action) -> StepResult:
        """Execute a command and commit; what cannot be done is an error observation and leaves everything as it was."""
        arguments = dict(action.arguments)
        command, reason = arguments.pop("command", ""), arguments.pop("reason", "")
        try:
            shown = self._execute(command, reason, arguments)
        except (Refused, Wrong, GitFailed) as error:
            shown = f"Error: {plain(str(error), 1000)}."
        except OSError as error:
            shown = f"Error: {plain(error.strerror or 'the file cannot be reached')}."
        if self._count():
            shown += f"\n{REMADE}"
        return StepResult(Observation(shown=shown))

    def _execute(self, command: str, reason: str, arguments: dict[str, object]) -> str:
        self._edits.check(command, arguments)
        if not reason.strip() or "\0" in reason or len(reason.encode(errors="replace")) > _REASON_BYTES:
            raise Refused(f"reason must be a non-empty message of at most {_REASON_BYTES} bytes")
        if dirty := self._repository.uncommitted():
            names = ", ".join(plain(path, 100) for path in dirty[:5]) + (", …" if len(dirty) > 5 else "")
            raise Refused(f"the work tree has uncommitted changes ({names}); commit or undo them with git in {FOLDER}")
        paths = self._edits.execute(command, arguments)
        commit = self._repository.commit(paths, reason.encode(errors="replace").decode())
        return f"Committed {command} of {' to '.join(paths)} ({commit})."

    # ------------------------------------------------------------ the context
    def before_turn(self) -> Replace | None:
        """Compact where the window asks for it before the core does."""
        if not self.view.steps() or not self._window.full() or self._window.hopeless():
            return None
        return self._compact()

    def at_boundary(self, boundary: Boundary) -> Replace | Continue:
        """Under pressure compact, if the window is full; at the environment's boundary begin anew."""
        if boundary.kind is BoundaryKind.DECLARED:
            if not self._config.session_summary:
                return self._begin("")
            return self._begin(self._sum_up(self.view.steps(), _facts(boundary.reminder)))
        return self._compact() if self._window.full() else Continue()

    def review(self, action: Action, before: Manifest, after: Manifest) -> Review:
        """Nothing is announced here: whatever came is fine."""
        return Review(CheckpointVerdict(accepted=True), self._begin(""))

    def _compact(self) -> Replace:
        evicted, kept = self._window.split()
        return self._begin(self._sum_up(evicted), [Kept(step.turn) for step in kept])

    def _sum_up(self, evicted: Sequence[Step], asking: str = "") -> str:
        """The note that stands for the steps that are evicted."""
        summary, tokens = self._window.summary(evicted, asking)
        self.record("letta-summary", text=summary, model_calls=1.0, model_tokens=float(tokens))
        return (RESUME_TERSE if self.view.codec.terse else RESUME).format(summary=summary)

    def _begin(self, note: str, keep: Sequence[Kept] = ()) -> Replace:
        """A context whose instructions show what is committed now."""
        about = ABOUT_TERSE if self.view.codec.terse else ABOUT
        tokens = int(self._config.memory_share * self.view.prompt_tokens)
        try:
            entries, texts = self._repository.snapshot(checked)
        except GitFailed as error:
            broken = f"Your memory cannot be shown: {error}."
            plan = Replace(note, keep=keep, instructions=f"{about}\n{broken}")
        else:
            plan = self._plan(about, entries, texts, tokens, note, keep)
        self._count()
        return plan

    def _plan(
        self,
        about: str,
        entries: dict[str, Entry],
        texts: dict[str, str],
        tokens: int,
        note: str,
        keep: Sequence[Kept],
    ) -> Replace:
        """Files give way where with them there would be no room for a response."""
        shown = compile_prompt(entries, texts, self.view.codec, tokens)
        plan = Replace(note, instructions=f"{about}\n{shown}")
        if (room := self.view.room(plan)) < 0:
            less = max(len(self.view.codec.encode(shown)) + room, 0)
            plan = Replace(note, instructions=f"{about}\n{compile_prompt(entries, texts, self.view.codec, less)}")
        return attrs.evolve(plan, keep=keep)

    # ------------------------------------------------------------ what the shell does
    def after_action(self, action: Action, result: StepResult) -> StepResult:
        """Put back what of the repository is the harness's, whatever the shell made of it."""
        if action.tool not in self.view.filesystem_tools or self._repository.intact():
            return result
        try:
            self._repository.repair()
            said = RESTORED
        except GitFailed as error:
            said = f"[{error}]"
        if self._count():
            said = REMADE
        seen = result.observation
        return attrs.evolve(result, observation=attrs.evolve(seen, shown=f"{seen.shown}\n{said}".lstrip("\n")))

    def accesses(self, action: Action, before: Manifest, after: Manifest) -> bool:
        """A call of the tool, a response that tried one and did not parse, or a shell command that touches files."""
        if action.tool is None:
            return bool(_TRIED.search(action.raw))
        return action.tool == TOOL.name or super().accesses(action, before, after)

    def _count(self) -> bool:
        """Record the calls of git since the last time. True: meanwhile the repository was made anew."""
        repository = self._repository
        if repository.calls > self._calls:
            self.record("letta-git", git_calls=float(repository.calls - self._calls))
        remade = repository.remade > self._remade
        if remade:
            self.record("letta-remade")
        self._calls, self._remade = repository.calls, repository.remade
        return remade


def _facts(reminder: str) -> str:
    """The environment's reminder speaks of the continuation file; only its fields are of use here."""
    return "\n".join(line for line in reminder.splitlines() if ".agent_memory" not in line and "<<" not in line).strip()


__all__ = ["Letta", "LettaSession"]
