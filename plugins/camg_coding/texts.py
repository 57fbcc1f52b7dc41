"""How a full episode reads: the task, and the reminder that asks for a checkpoint (paper A.3.2, A.4.3)."""

from __future__ import annotations

from camg_coding.config import SENTINEL
from camg_coding.records import Instance, Profile

LAST_LINE = "It ends the task at once. Without it nothing is graded."  # of the brief
REMINDER = "Spend your next response on creating or updating"

_BRIEF = """\
Repair an issue of the repository {repo}, whose files are your working folder.

<issue>
{issue}
</issue>

Change the project's source files until the issue is resolved and nothing else breaks; hidden tests decide. Changes of \
tests ({tests}), of their configuration and of what is compiled do not count, and files in .agent_memory are never \
submitted. Each response is one shell_command; you have {budget} of them. The project and what its tests need can be \
imported, `python -m pytest` runs them{check}; there is no network.
When you are done, submit with a command of its own:
echo {sentinel}
{last}"""

_REMINDER = """\
The context is nearly full and will be replaced; your files stay. {ask} \
{path} with one filesystem action (at most {limit} bytes). Keep: the objective (the issue in your words), the evidence \
(causes found, changes made, what tests showed), the paths that matter, the next step. The command has this shape:
mkdir -p {folder} && cat > {path} <<'EOF'
objective: …
evidence: …
paths: …
next: …
EOF"""


class FullTexts:
    """Texts of full episodes (:class:`camg_coding.session.Texts`)."""

    def __init__(self, instance: Instance, profile: Profile | None, budget: int) -> None:
        self._instance = instance
        self._profile = profile
        self._budget = budget

    def brief(self) -> str:
        """The same in every context. It names no hidden test."""
        tests = self._profile.tests if self._profile is not None else ()
        arguments = " ".join(self._profile.arguments) if self._profile is not None else ""
        return _BRIEF.format(
            repo=self._instance.repo,
            issue=self._instance.problem_statement.strip(),
            tests=", ".join(tests) or "all files that pytest collects",
            budget=self._budget,
            check=f" (the grader adds {arguments})" if arguments else "",
            sentinel=SENTINEL,
            last=LAST_LINE,
        )

    def reminder(self, path: str, limit: int) -> str:
        """The fields worth keeping."""
        folder, _, _ = path.rpartition("/")
        return _REMINDER.format(ask=REMINDER, path=path, limit=limit, folder=folder or ".")

    def fault(self, shown: str) -> str:
        """The loop's own sentence names the parse fault."""
        return shown
