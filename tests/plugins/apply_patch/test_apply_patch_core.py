"""apply_patch: what a patch makes of a tree, of a file, and of text that is no patch."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from camg.testing.memory import View, check_memory
from camg.testing.parts import FolderBox
from camg.types import Action, Observation, StepResult
from camg_apply_patch.apply import apply_patch
from camg_apply_patch.config import ApplyPatchConfig
from camg_apply_patch.contents import render, update
from camg_apply_patch.memory import ApplyPatchMemory
from camg_apply_patch.parser import PatchError, UpdateFile, parse


@pytest.fixture
def box() -> Iterator[FolderBox]:
    box = FolderBox()
    yield box
    box.close()


def tree(box: FolderBox) -> dict[str, str]:
    return {str(p.relative_to(box.root)): p.read_bytes().decode() for p in box.root.rglob("*") if p.is_file()}


U = "*** Update File: "
SCENARIOS: dict[str, tuple[dict[str, str], str, dict[str, str], str]] = {
    "add": ({}, "*** Add File: a\n+x", {"a": "x\n"}, "A a"),
    "multiple operations": (
        {"m": "1\n2\n", "d": "x\n"},
        f"*** Add File: n/a\n+c\n*** Delete File: d\n{U}m\n@@\n-2\n+3",
        {"m": "1\n3\n", "n/a": "c\n"},
        "A n/a\nD d\nM m",
    ),
    "multiple chunks": ({"a": "1\n2\n3\n4\n"}, f"{U}a\n@@\n-2\n+b\n@@\n-4\n+d", {"a": "1\nb\n3\nd\n"}, "M a"),
    "move to a new directory": ({"o": "x\n"}, f"{U}o\n*** Move to: p/q\n@@\n-x\n+y", {"p/q": "y\n"}, "M p/q"),
    "empty patch": ({"a": "1\n"}, "", {"a": "1\n"}, "No files were modified."),
    "missing context": ({"a": "1\n"}, f"{U}a\n@@\n-9\n+8", {"a": "1\n"}, "Failed to find expected lines in a:\n9"),
    "missing @@ line": ({"a": "1\n"}, f"{U}a\n@@ 9\n+8", {"a": "1\n"}, "Failed to find context '9' in a"),
    "delete of a missing file": ({"a": "1\n"}, "*** Delete File: b", {"a": "1\n"}, "Failed to delete file b"),
    "empty update hunk": ({"a": "1\n"}, f"{U}a", {"a": "1\n"}, "Update file hunk for path 'a' is empty"),
    "update needs a file": ({}, f"{U}a\n@@\n-1\n+2", {}, "Failed to read file to update a"),
    "move overwrites": ({"a": "1\n", "b": "9\n"}, f"{U}a\n*** Move to: b\n@@\n-1\n+2", {"b": "2\n"}, "M b"),
    "add overwrites": ({"a": "1\n"}, "*** Add File: a\n+2", {"a": "2\n"}, "A a"),
    "delete directory": ({"d/a": "1\n"}, "*** Delete File: d", {"d/a": "1\n"}, "Failed to delete file d"),
    "invalid header": ({"a": "1\n"}, "*** Frobnicate File: a", {"a": "1\n"}, "is not a valid hunk header"),
    "newline appended": ({"a": "1\n2"}, f"{U}a\n@@\n-1\n+0", {"a": "0\n2\n"}, "M a"),
    "failure after partial success": (
        {},
        f"*** Add File: a\n+1\n{U}b\n@@\n-1\n+2",
        {"a": "1\n"},
        "Failed to read file to update b",
    ),
    "pure addition": ({"a": "1\n"}, f"{U}a\n@@\n+2\n+3", {"a": "1\n2\n3\n"}, "M a"),
    "padded header": ({"a": "1\n"}, f"  {U}a  \n@@\n-1\n+2", {"a": "2\n"}, "M a"),
    "unicode": ({"a": "x \u2013 \u201cq\u201d\n"}, f'{U}a\n@@\n-x - "q"\n+y', {"a": "y\n"}, "M a"),
    "delete": ({"a": "1\n"}, "*** Delete File: a", {}, "D a"),
    "deletion only": ({"a": "1\n2\n3\n"}, f"{U}a\n@@\n 1\n-2\n 3", {"a": "1\n3\n"}, "M a"),
    "end of file": (
        {"a": "x\n1\nx\n"},
        f"{U}a\n@@\n-x\n+y\n*** End of File",
        {"a": "x\n1\ny\n"},
        "M a",
    ),
    "crlf kept": ({"a": "1\r\n2\r\n"}, f"{U}a\n@@\n-2\n+3", {"a": "1\r\n3\r\n"}, "M a"),
    "first @@ left out": ({"a": "1\n"}, f"{U}a\n-1\n+2", {"a": "2\n"}, "M a"),
    "seek": ({"a": "f\nx\ng\nx\n"}, f"{U}a\n@@ g\n-x\n+y", {"a": "f\nx\ng\ny\n"}, "M a"),
    "blank before the next hunk": (
        {"a": "1\n"},
        f"{U}a\n@@\n-1\n+2\n\n*** Add File: b\n+",
        {"a": "2\n", "b": "\n"},
        "A b",
    ),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenarios(box: FolderBox, name: str) -> None:
    before, body, after, said = SCENARIOS[name]
    for path, text in before.items():
        box.write(path, text.encode())
    done = apply_patch(box, f"*** Begin Patch\n{body}\n*** End Patch" if body else "*** Begin Patch\n*** End Patch")
    assert tree(box) == after
    assert said in done.text
    assert bool(done.error) == (not done.text.startswith("Success."))


@pytest.mark.parametrize("marker", ["<<EOF", "<<'EOF'", '<<"EOF"', None])
def test_wrappers_and_padding(box: FolderBox, marker: str | None) -> None:
    patch = " *** Begin Patch \n*** Add File: a\n+*** End Patch\n  *** End Patch "
    done = apply_patch(box, f"{marker}\n{patch}\nEOF\n" if marker else f"\n\n{patch}\n")
    assert not done.error
    assert tree(box) == {"a": "*** End Patch\n"}


def test_first_and_last_line() -> None:
    for text, line in (("x", "first line"), ("", "first line"), ("*** Begin Patch", "last line")):
        with pytest.raises(PatchError, match=f"The {line} of the patch must be"):
            parse(text)


@pytest.mark.parametrize("path", ["../a", "/etc/a", "x/../../a", "link", "folder/a", "dir", "a\0b", "."])
def test_what_is_no_file_of_the_workspace_is_refused(box: FolderBox, path: str) -> None:
    box.run("ln -s /etc/hostname link; ln -s /tmp folder; mkdir dir; echo 1 > dir/x")
    seen = tree(box)
    for body in (f"*** Add File: {path}\n+1", f"*** Delete File: {path}", f"{U}{path}\n@@\n-1\n+2"):
        assert apply_patch(box, f"*** Begin Patch\n{body}\n*** End Patch").error
    assert tree(box) == seen
    assert box.run("readlink link folder").output == b"/etc/hostname\n/tmp\n"


TOKENS = ["*** Begin Patch", "*** End Patch", f"{U}a", "*** Add File: b", "*** Move to: c", "*** End of File", "@@",
          "@@ x", "-x", "+y", " z", "", "<<EOF", "EOF", "\udc80", "\0", "***"]  # fmt: skip


@settings(deadline=None, max_examples=300)
@given(st.one_of(st.text(), st.lists(st.sampled_from(TOKENS)).map("\n".join)))
def test_any_text_is_a_patch_or_an_error(text: str) -> None:
    for candidate in (text, f"*** Begin Patch\n{text}\n*** End Patch"):
        with contextlib.suppress(PatchError):
            for hunk in parse(candidate):
                if isinstance(hunk, UpdateFile):
                    update("x\nz\nz\n", hunk.chunks, "a")


LINES = st.lists(st.sampled_from(["a", "b", " a", "a ", "", "@@", "***", "+", "\u2013", "-"]), max_size=30)


@settings(deadline=None, max_examples=300)
@given(LINES, LINES, st.integers(0, 4), st.sampled_from(["\n", "\r\n"]))
def test_a_rendered_difference_makes_one_text_the_other(a: list[str], b: list[str], context: int, end: str) -> None:
    old, new = ("".join(line + end for line in lines) for lines in (a, b))
    if not a:
        new = new.replace("\r", "")  # an empty file has no line ending of its own
    if not a and not b:
        return
    (hunk,) = parse(render(old, new, "f", context=context))
    assert isinstance(hunk, UpdateFile)
    assert update(old, hunk.chunks, "f") == new


def test_conformance() -> None:
    check_memory(ApplyPatchMemory(ApplyPatchConfig()))


def test_the_shell_changes_no_tracked_file(box: FolderBox) -> None:
    view = View(box, terse=True)
    session = ApplyPatchMemory(ApplyPatchConfig()).open(view)
    patch = render(None, "one\n", ".agent_memory/n.md")
    assert session.handle(Action("apply_patch", {"input": patch})).observation.exit_status == 0
    shell = Action("shell_command", {"command": "x"})
    box.run("echo two > .agent_memory/n.md; echo x > .agent_memory/new; echo built > product")
    result = session.after_action(shell, StepResult(Observation(shown="ok")))
    assert tree(box) == {".agent_memory/n.md": "one\n", "product": "built\n"}
    assert "apply_patch" in result.observation.shown
    assert view.events[0].cost["files"] == 2
    box.run("rm -r .agent_memory; ln -s product .agent_memory")
    session.after_action(shell, StepResult(Observation(shown="ok")))
    assert tree(box) == {".agent_memory/n.md": "one\n", "product": "built\n"}
    quiet = session.after_action(shell, StepResult(Observation(shown="ok")))
    assert quiet.observation.shown == "ok"
    session.close()
