"""The six commands over a real repository in a real box: what each does, what it refuses, what of it git knows."""

from __future__ import annotations

import pytest

NOTE = {"file_path": "notes/a.md", "description": "a note", "file_text": "one\ntwo\ntwo\n"}


def log(desk) -> list[str]:
    return desk.shell("cd .agent_memory; git log --format=%s").splitlines()


def text(desk, path="notes/a.md") -> str:
    return desk.box.read(f".agent_memory/{path}", 10_000).decode()


@pytest.fixture
def noted(desk):
    assert "Committed create of notes/a.md" in desk.ask("create", **NOTE)
    return desk


def test_each_command_edits_and_commits(noted):
    desk = noted
    assert text(desk) == "---\ndescription: a note\n---\none\ntwo\ntwo\n"
    said = desk.ask("str_replace", "twice", file_path="notes/a.md", old_string="two", new_string="2")
    assert "Committed" in said
    assert text(desk).endswith("one\n2\ntwo\n")  # the first match alone
    desk.ask("insert", file_path="notes/a", insert_line=1, insert_text="zero")
    assert text(desk).endswith("---\nzero\none\n2\ntwo\n")
    desk.ask("update_description", file_path="notes/a.md", description="numbers")
    assert "description: numbers\n" in text(desk)
    desk.ask("rename", old_path="notes/a.md", new_path="system/b.md")
    assert text(desk, "system/b.md").endswith("zero\none\n2\ntwo\n")
    desk.ask("create", file_path="system/deep/c.md", description="c")
    assert "Committed delete of system/deep" in desk.ask("delete", "tidy", file_path="system/deep")
    assert log(desk) == ["tidy", *["because"] * 4, "twice", "because", "Memory begins"]
    assert desk.shell("cd .agent_memory; git status --porcelain; git fsck") == "[no output]"


REFUSED = {
    "unknown command": ("copy", {"file_path": "a.md"}, "there is no command 'copy'"),
    "missing argument": ("create", {"file_path": "a.md"}, "create takes file_path, description, file_text?"),
    "foreign argument": ("delete", {"file_path": "notes/a.md", "old_path": "x"}, "delete takes file_path"),
    "exists": ("create", NOTE, "exists already"),
    "no such file": ("delete", {"file_path": "b.md"}, "does not exist"),
    "no match": ("str_replace", {"file_path": "notes/a.md", "old_string": "x", "new_string": ""}, "does not occur"),
    "empty match": ("str_replace", {"file_path": "notes/a.md", "old_string": "", "new_string": "x"}, "does not occur"),
    "no change": ("str_replace", {"file_path": "notes/a.md", "old_string": "two", "new_string": "two"}, "nothing"),
    "same description": ("update_description", {"file_path": "notes/a.md", "description": "a note"}, "nothing"),
    "line 0": ("insert", {"file_path": "notes/a.md", "insert_line": 0, "insert_text": "x"}, "from 1, got 0"),
    "outside": ("create", {"file_path": "../a.md", "description": "x"}, "no path of a memory file"),
    "git's own": ("create", {"file_path": ".git/hooks/a.md", "description": "x"}, "no path of a memory file"),
    "root": ("delete", {"file_path": "."}, "no path of a memory file"),
    "absolute": ("delete", {"file_path": "/etc"}, "no path of a memory file"),
    "control characters": ("create", {"file_path": "a\x1b[2J.md", "description": "x"}, "cannot be printed"),
    "long path": ("create", {"file_path": "x" * 600, "description": "x"}, "too long"),
    "no description": ("create", {"file_path": "b.md", "description": " \n"}, "description must be"),
    "huge": ("create", {"file_path": "b.md", "description": "x", "file_text": "x" * 70_000}, "the limit is 65536"),
    "no unicode": ("create", {"file_path": "b.md", "description": "x", "file_text": "\ud800"}, "no valid Unicode"),
    "taken name": ("rename", {"old_path": "notes/a.md", "new_path": "system/persona.md"}, "exists already"),
    "folder renamed": ("rename", {"old_path": "notes", "new_path": "other"}, "does not exist"),
}


@pytest.mark.parametrize(("command", "arguments", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_done_changes_nothing(noted, command, arguments, reason):
    before = noted.box.manifest()
    said = noted.ask(command, **arguments)
    assert said.startswith("Error: ")
    assert reason in said
    assert len(said) < 1200
    assert noted.box.manifest() == before
    assert log(noted) == ["because", "Memory begins"]


@pytest.mark.parametrize("reason", ["", " \n", "x\0y", "x" * 600], ids=["empty", "blank", "nul", "long"])
def test_a_commit_needs_a_message(desk, reason):
    assert "reason must be" in desk.ask("create", reason, **NOTE)


@pytest.mark.parametrize("reason", ["--amend", "'; rm -rf /; '", "$(touch x)", "ein Wört ✓", "\ud800"])
def test_a_message_is_text_alone(desk, reason):
    assert "Committed" in desk.ask("create", reason, **NOTE)
    assert log(desk)[1:] == ["Memory begins"]
    assert log(desk)[0] == reason.encode(errors="replace").decode()


@pytest.mark.parametrize("path", ["-rf.md", "a b'c.md", "*.md", ":(top)x.md", "é✓.md", "#.md"])
def test_a_path_is_a_name_alone(noted, path):
    assert "Committed" in noted.ask("create", file_path=path, description="x", file_text="kept")
    assert text(noted, path).endswith("kept")
    assert "Committed delete" in noted.ask("delete", file_path=path)
    assert text(noted).endswith("two\n")


def test_a_work_tree_with_changes_is_refused_until_they_are_committed(noted):
    noted.shell("echo more >> .agent_memory/notes/a.md; echo x > .agent_memory/loose")
    said = noted.ask("delete", file_path="notes/a.md")
    assert "uncommitted changes (notes/a.md, loose)" in said
    noted.shell("cd .agent_memory; git add -A; git commit -q -m 'by hand'")
    assert "Committed" in noted.ask("delete", file_path="notes/a.md")
    assert log(noted)[:2] == ["because", "by hand"]


def test_the_front_matter_is_guarded_below_system_and_reference(desk):
    assert "Committed" in desk.ask("create", file_path="system/a.md", description="x", file_text="y")
    refused = desk.shell(
        "cd .agent_memory; printf -- '---\\ndescription: x\\nowner: me\\n---\\n' > system/a.md; "
        "git commit -qam wrong; git checkout -q -- . ; git reset -q --hard"
    )
    assert "unknown key 'owner'" in refused
    assert log(desk)[0] == "because"


def test_read_only_holds_against_every_command(desk):
    locked = "---\ndescription: rules\nread_only: true\n---\nkept\n"
    desk.box.write(".agent_memory/system/rules.md", locked.encode())
    desk.shell("cd .agent_memory; git add -A; git commit -q --no-verify -m rules")
    path = {"file_path": "system/rules.md"}
    for command, arguments in (
        ("str_replace", {**path, "old_string": "kept", "new_string": "gone"}),
        ("insert", {**path, "insert_line": 1, "insert_text": "x"}),
        ("delete", path),
        ("delete", {"file_path": "system"}),
        ("rename", {"old_path": "system/rules.md", "new_path": "x.md"}),
        ("update_description", {**path, "description": "x"}),
    ):
        assert "is read_only and cannot be modified" in desk.ask(command, **arguments), command
    assert text(desk, "system/rules.md") == locked


def test_the_limit_of_files(desk_of):
    desk = desk_of(files=4)
    for name in "ab":
        assert "Committed" in desk.ask("create", file_path=name, description="x")
    assert "the limit is 4" in desk.ask("create", file_path="c", description="x")
    assert "Committed" in desk.ask("delete", file_path="a")
    assert "Committed" in desk.ask("create", file_path="c", description="x")


def test_a_file_that_is_no_text_or_no_file_is_named(desk):
    desk.shell(
        "cd .agent_memory; printf '\\377\\376' > bytes.md; ln -s /etc/passwd link.md; mkfifo pipe.md; "
        "git add -A; git commit -q -m odd"
    )
    assert "is no UTF-8 text" in desk.ask("str_replace", file_path="bytes.md", old_string="a", new_string="b")
    assert "is no regular file" in desk.ask("str_replace", file_path="link.md", old_string="root", new_string="b")
    assert "is no regular file" in desk.ask("delete", file_path="pipe.md")


def test_calls_of_git_are_recorded(noted):
    noted.prompt()
    costs = [event.cost["git_calls"] for event in noted.view.events if event.kind == "letta-git"]
    assert len(costs) == 2
    assert all(cost >= 1 for cost in costs)
    assert all(event.slots == 0 for event in noted.view.events)
