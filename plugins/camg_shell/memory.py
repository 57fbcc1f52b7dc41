"""Shell files as memory (paper 4.2 and A.2).

At a boundary the policy is asked to write ``.agent_memory/CONTINUATION.md``; only a valid write replaces the context,
and the file's content is not inserted: a neutral line names the path, reading it is the policy's choice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from camg.protocols import Announce, EpisodeView, Replace, Review
from camg.specs import NoConfig
from camg.types import Action, Boundary, Manifest, Observation, StepResult, Tool
from camg.workspace.checkpoint import FOLDER, PATH, changed_paths, judge

INSTRUCTIONS = f"""\
Your workspace outlives your context. From time to time the context is replaced: you are then asked first to write
{PATH}, and only files remain. Regular files below {FOLDER}/ are your memory; create, revise, search and read them with
shell_command, which runs from the workspace root. Write several lines with one quoted here-document:
shell_command with: mkdir -p {FOLDER} && cat > {FOLDER}/notes.md <<'EOF' … EOF"""

NEUTRAL = f"Your earlier context was replaced. Your continuation file is {PATH}."
NEUTRAL_TERSE = f"notes: {PATH}"
RETRY = "The checkpoint was not accepted: {reason}. The context is unchanged; it is asked for again.\n{reminder}"
RETRY_TERSE = "not saved: {reason}\n{reminder}"

# each command starts at the workspace root: it names the folder or a glob that matches it, or walks the tree
_MENTIONS = re.compile(r"agent_memory|CONTINUATION\.md|\.ag\w*[*?\[]|\.\[?a?[*?]")
_WALKS = re.compile(
    r"\bgrep\s+(-\w+\s+)*-\w*[rR]|\bfind\b.*(-exec|xargs)|\b(cp|tar|rsync)\b.*\s\.(/|\s|$)|\bls\s+-\w*R"
)


class ShellMemory:
    """``--memory shell``: no tools of its own."""

    tools: Sequence[Tool] = ()

    def __init__(self, config: NoConfig) -> None:
        self.config = config

    def instructions(self, *, terse: bool) -> str:
        """What files are for. The embedded policy has learnt it from demonstrations and gets none."""
        return "" if terse else INSTRUCTIONS

    def open(self, view: EpisodeView) -> ShellMemorySession:
        """One episode's memory."""
        return ShellMemorySession(view)


class ShellMemorySession:
    """Asks for checkpoints and judges them; the files are the policy's own."""

    def __init__(self, view: EpisodeView) -> None:
        self._view = view
        self._reminder = ""

    def before_turn(self) -> Replace | None:
        """Nothing happens behind the policy's back."""
        return None

    def handle(self, action: Action) -> StepResult:
        """Never called: there are no tools here."""
        return StepResult(Observation(shown=f"{action.tool} is not a tool."), invalid=True)

    def at_boundary(self, boundary: Boundary) -> Announce | Replace:
        """Say the environment's reminder and wait for the write."""
        self._reminder = boundary.reminder
        return Announce(boundary.reminder)

    def review(self, action: Action, before: Manifest, after: Manifest) -> Review:
        """Replace the context after a valid write; else name the reason and ask again."""
        view = self._view
        verdict = judge(action, before, after, limit=view.continuation_bytes, filesystem_tools=view.filesystem_tools)
        terse = view.codec.terse
        if verdict.accepted:
            return Review(verdict, Replace(NEUTRAL_TERSE if terse else NEUTRAL))
        notice = (RETRY_TERSE if terse else RETRY).format(reason=verdict.detail, reminder=self._reminder)
        return Review(verdict, Announce(notice))

    def accesses(self, action: Action, before: Manifest, after: Manifest) -> bool:
        """A filesystem action that names the folder (or a glob of it), walks over it, or changed what it holds.

        Read from the command's text: a path that a program composes itself and only reads goes unseen.
        """
        if action.tool not in self._view.filesystem_tools:
            return False
        text = "\n".join(action.arguments.values())
        if _MENTIONS.search(text) or changed_paths(before, after):
            return True
        return bool(before) and bool(_WALKS.search(text))

    def after_action(self, action: Action, result: StepResult) -> StepResult:
        """Nothing is forbidden."""
        return result

    def close(self) -> None:
        """Nothing is held."""
