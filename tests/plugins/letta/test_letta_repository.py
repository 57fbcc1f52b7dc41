"""The repository under a policy that has a shell over it: what it breaks is mended, what it plants does not act."""

from __future__ import annotations

import re

import pytest

from camg.errors import BackendUnavailable
from camg.testing.parts import FolderBox
from camg.types import CommandResult
from camg_letta.memory import REMADE, RESTORED
from camg_letta.repository import Repository

PLANT = "touch /workspace/planted"
HOSTILE = {
    "git directory removed": "rm -rf .agent_memory.git",
    "memory folder removed": "rm -rf .agent_memory",
    "both removed": "rm -rf .agent_memory .agent_memory.git",
    "HEAD is nonsense": "echo nonsense > .agent_memory.git/HEAD",
    "HEAD names another branch": "cd .agent_memory && git checkout -q --orphan other && git rm -rfq .",
    "git directory is a link": "rm -rf .agent_memory.git; ln -s /etc .agent_memory.git",
    "memory folder is a link": "rm -rf .agent_memory; ln -s /etc .agent_memory",
    "memory folder is a file": "rm -rf .agent_memory; echo x > .agent_memory",
    "git directory is a pipe": "rm -rf .agent_memory.git; mkfifo .agent_memory.git",
    "objects removed": "find .agent_memory.git/objects -type f -delete",
    "objects emptied": "find .agent_memory.git/objects -type f -exec chmod u+w {} + -exec truncate -s 0 {} +",
    "index is nonsense": "echo nonsense > .agent_memory.git/index",
    "locks left": "touch .agent_memory.git/index.lock .agent_memory.git/refs/heads/main.lock",
    "a repository of its own": "rm -f .agent_memory/.git; git init -q .agent_memory",
    "modes taken": "chmod -R a-rwx .agent_memory.git .agent_memory",
    "fsmonitor": f"printf '[core]\\n\\tfsmonitor = {PLANT}\\n' >> .agent_memory.git/config",
    "editor and pager": f"printf '[core]\\n\\teditor={PLANT}\\n\\tpager={PLANT}\\n' >> .agent_memory.git/config",
    "hook": f"printf '#!/bin/sh\\n{PLANT}\\n' | tee .agent_memory.git/hooks/post-commit > .agent_memory.git/hooks/"
    "pre-commit; chmod +x .agent_memory.git/hooks/*",
    "filter": "echo '* filter=x' > .agent_memory/.gitattributes; "
    f"printf '[filter \"x\"]\\n\\tclean={PLANT}\\n\\tsmudge={PLANT}\\n' >> .agent_memory.git/config; "
    "cd .agent_memory && git add .gitattributes && git commit -qm attributes; rm -f /workspace/planted",
    "worktree elsewhere": "sed -i 's#worktree.*#worktree = /etc#' .agent_memory.git/config",
    "alternates": "echo /etc > .agent_memory.git/objects/info/alternates",
    "home": f"mkdir -p .config/git; printf '[core]\\n\\tfsmonitor = {PLANT}\\n' | tee .gitconfig > .config/git/config",
}
REMOVES = re.compile(r"rm -rfq? \.(agent_memory)?( |;|$)")  # the notes themselves


@pytest.mark.parametrize("command", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_broken_repository_is_mended_and_a_planted_program_does_not_run(desk, command):
    desk.ask("create", file_path="notes/kept.md", description="x", file_text="kept")
    said = desk.shell(command)
    refused = desk.ask("create", file_path="notes/new.md", description="x", file_text="new")
    if "uncommitted changes" in refused:  # it is the policy's own mess, and it can tidy up
        desk.shell("cd .agent_memory; git add -A; git commit -qm tidy")
        refused = desk.ask("create", file_path="notes/new.md", description="x", file_text="new")
    assert "Committed create of notes/new.md" in refused, (said, refused)
    assert desk.box.read(".agent_memory/notes/new.md", 100).endswith(b"new")
    assert "notes/new.md" in desk.prompt()
    assert "planted" not in desk.shell("ls -a")
    if not REMOVES.search(command):
        assert desk.box.read(".agent_memory/notes/kept.md", 100).endswith(b"kept")


def test_the_policy_is_told_what_was_put_back(desk):
    assert desk.shell("echo x > .agent_memory/.git").endswith(RESTORED)
    assert RESTORED not in desk.shell("echo fine")
    assert desk.shell("rm -rf .agent_memory.git").endswith(REMADE)
    assert [event.kind for event in desk.view.events].count("letta-remade") == 1


def test_a_commit_that_cannot_be_made_leaves_nothing_behind(desk):
    """Git's objects cannot be written, so the file that the command made is taken back."""
    before = desk.box.manifest()
    desk.shell("chmod -R a-w .agent_memory.git/objects")
    said = desk.ask("create", file_path="a.md", description="x", file_text="y")
    if said.startswith("Error"):  # whoever is root writes all the same
        assert "was not committed" in said
        assert desk.box.manifest() == before
    else:
        assert "Committed" in said


def test_many_and_large_files_stay_within_bounds(desk):
    desk.shell(
        "cd .agent_memory; mkdir -p system many; for i in $(seq 1500); do echo x > many/$i.md; done; "
        "printf -- '---\\ndescription: big\\n---\\n' > system/big.md; "
        "head -c 2000000 /dev/zero | tr '\\0' a >> system/big.md; "
        "git add -A; git commit -q -m many"
    )
    shown = desk.prompt()
    assert len(shown) < 0.35 * desk.view.prompt_tokens
    assert "system/big.md" in shown
    assert "more" in shown
    assert "the limit is 200" in desk.ask("create", file_path="a.md", description="x")


def test_the_same_commands_give_the_same_commits(desk_of):
    ids = []
    for _ in range(2):
        desk = desk_of()
        desk.ask("create", file_path="a.md", description="x", file_text="y")
        ids.append(desk.shell("cd .agent_memory; git log --format=%H"))
    assert ids[0] == ids[1]


def test_a_sandbox_without_git_is_unavailable():
    box = FolderBox()
    bare = Repository(_Without(box), 5.0)
    with pytest.raises(BackendUnavailable, match="needs git"):
        bare.start({"system/persona.md": "---\ndescription: x\n---\n"})
    box.close()


class _Without:
    """A box whose PATH is empty."""

    def __init__(self, box):
        self._box = box
        self.write = box.write

    def run(self, command: str, *, wall_seconds: float) -> CommandResult:
        return self._box.run(f"PATH=/nonexistent\n{command}", wall_seconds=wall_seconds)
