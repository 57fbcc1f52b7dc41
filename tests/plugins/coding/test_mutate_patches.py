"""Patches: what is written can be applied, taken back, and read by git; what does not fit is refused by name."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from camg.errors import DataError
from camg_coding.patches import apply_patch, unified_diff

LINE = st.sampled_from(
    ["a\n", "b\n", "c\n", "\n", "a\r\n", "\r\n", "- a\n", "-- \n", "\\ b\n", "@@ c\n", "é\x0c\u2028\n"]
)
TEXT = st.builds(
    lambda lines, last: "".join(lines) + last, st.lists(LINE, max_size=30), st.sampled_from(["", "x", "\r"])
)
NAME = st.sampled_from(["a.py", "b/c.py", "d e.txt", 'q"uote', "tab\there", "ö/ü.py", "back\\slash", "b/a b/x"])
FILES = st.dictionaries(NAME, TEXT, max_size=4)


def applied(files: Mapping[str, str], patch: str, *, reverse: bool = False) -> dict[str, str]:
    """All the files after the patch."""
    changed = {**files, **apply_patch(files, patch, reverse=reverse)}
    return {path: text for path, text in changed.items() if text is not None}


@settings(max_examples=300, deadline=None)
@given(FILES, FILES)
def test_a_patch_leads_from_one_side_to_the_other_and_back(before: dict[str, str], after: dict[str, str]) -> None:
    patch = unified_diff(before, after)
    assert applied(before, patch) == after
    assert applied(after, patch, reverse=True) == before
    assert set(apply_patch(before, patch)) == {p for p in {*before, *after} if before.get(p) != after.get(p)}
    assert (patch == "") == (before == after)


@settings(max_examples=60, deadline=None)
@given(st.sets(st.integers(0, 40), min_size=1), st.sets(st.integers(0, 40)), st.integers(1, 9))
def test_hunks_move_with_their_lines(before: set[int], after: set[int], above: int) -> None:
    old, new = ("".join(f"{i}\n" for i in sorted(numbers)) for numbers in (before, after))
    patch = unified_diff({"f": old}, {"f": new})
    head = "top\n" * above
    assert applied({"f": head + old}, patch)["f"] == head + new if patch else old == new


@settings(max_examples=25, deadline=None)
@given(before=FILES, after=FILES)
def test_git_applies_what_is_written(
    tmp_path_factory: pytest.TempPathFactory, before: dict[str, str], after: dict[str, str]
) -> None:
    folder = tmp_path_factory.mktemp("tree")
    if any(name.startswith("b/a b") for name in {*before, *after}):
        return  # git itself cannot tell the two names of an empty file there
    write(folder, before)
    patch = unified_diff(before, after)
    if patch:
        git(folder, "apply", "--whitespace=nowarn", "-", stdin=patch)
    assert read(folder) == after


def test_what_git_writes_is_applied(tmp_path: Path) -> None:
    before = {"a.py": "x\n" * 5 + "y\n", "ö b.txt": "old\r\nlast", "gone": "1\n", "empty": "", "move.py": MOVED}
    after = {"a.py": "x\n" * 5 + "z\n", "ö b.txt": "new\r\nlast", "new/n.py": "", "moved.py": f"{MOVED}n\n"}
    git(tmp_path, "init", "-q")
    write(tmp_path, before)
    git(tmp_path, "add", "-A")
    tree = git(tmp_path, "write-tree").strip()
    for path in before:
        (tmp_path / path).unlink()
    write(tmp_path, after)
    git(tmp_path, "add", "-A")
    patch = git(tmp_path, "diff", "--cached", "-M", tree)
    assert "rename from move.py" in patch
    assert applied(before, patch) == after
    assert applied(after, patch, reverse=True) == before
    mail = f"From 0123\nSubject: [PATCH] x\n\n---\n a.py | 2 +-\n\n{patch}-- \n2.30.1\n\n"
    assert applied(before, mail) == after


def test_the_text_of_a_patch() -> None:
    before = {"p/a.py": "".join(f"{i}\n" for i in range(1, 21)), "z": "end"}
    after = {"p/a.py": before["p/a.py"].replace("10\n", "ten\n"), "z": "end\n", "n": ""}
    assert unified_diff(before, after) == (
        "diff --git a/n b/n\nnew file mode 100644\nindex 0000000..e69de29\n"
        "diff --git a/p/a.py b/p/a.py\nindex 0ff3bbb..b70a2b0 100644\n--- a/p/a.py\n+++ b/p/a.py\n"
        "@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n"
        "diff --git a/z b/z\nindex e2a43ff..ae6e8a2 100644\n--- a/z\n+++ b/z\n"
        "@@ -1 +1 @@\n-end\n\\ No newline at end of file\n+end\n"
    ).replace("index e2a43ff..ae6e8a2", index("end", "end\n")).replace(
        "index 0ff3bbb..b70a2b0", index(*(files["p/a.py"] for files in (before, after)))
    )


def index(before: str, after: str) -> str:
    """The index line's ids, from git itself."""
    ids = [
        subprocess.run(["git", "hash-object", "--stdin"], input=text.encode(), capture_output=True, check=True).stdout
        for text in (before, after)
    ]
    return f"index {ids[0].decode()[:7]}..{ids[1].decode()[:7]}"


MOVED = "".join(f"a line of some length, number {i}\n" for i in range(20))
PATCH = "--- a/f\n+++ b/f\n@@ -2,2 +2,2 @@\n a\n-b\n+c\n"


@pytest.mark.parametrize(
    ("files", "patch", "message"),
    [
        ({"f": "1\na\nx\n"}, PATCH, r"f: hunk 1 of 1 \(line 2\): its lines are not in the file: expected 'a', got 'a'"),
        ({"f": "a\nb\n\n\na\nb\n"}, PATCH, r"f: hunk 1 of 1 \(line 2\): .* fit at lines 1, 5"),
        ({"f": "1\na\nb"}, PATCH, "its lines are not in the file"),
        ({"f": "1\na\r\nb\r\n"}, PATCH, "its lines are not in the file"),
        ({}, PATCH, "f: expected an existing file"),
        ({"f": "x\n"}, "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+y\n", "f: expected to create this file, but it exists"),
        ({"f": "x\ny\n"}, "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", "f: expected to delete all of the file"),
        ({}, "--- /dev/null\n+++ b/../f\n@@ -0,0 +1 @@\n+y\n", "expected a path within the repository, got '../f'"),
        ({}, "--- /dev/null\n+++ b//etc/f\n@@ -0,0 +1 @@\n+y\n", "expected a path within the repository, got '/etc/f'"),
        ({"f": "a\n"}, "nothing here\n", "expected a unified diff"),
        (
            {"f": "1\na\nb\n"},
            PATCH.replace("2,2 @@", "2,3 @@"),
            "line 7: expected 2 old and 3 new lines .* of f, got the end",
        ),
        ({"f": "1\na\nb\n"}, PATCH + "+d\n", r"line 7: expected a hunk or the next file, got '\+d'"),
        ({"f": "1\na\nb\n"}, PATCH.replace("@@ -2,2", "@@ -2;2"), "line 3: expected a hunk of f"),
        ({"f": "1\na\nb\n"}, PATCH.replace("+++", "++"), "expected a unified diff"),
        ({}, "diff --git a/f b/f\nindex 1..2 100644\nGIT binary patch\n", "line 3: expected a change of text"),
        ({}, "diff --git a/f b/f\nBinary files a/f and b/f differ\n", "line 2: expected a change of text"),
        (
            {"f": "a"},
            "--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+y\n\\ No newline at end of file\n",
            "without line end would stand",
        ),
    ],
)
def test_what_does_not_fit_is_refused_by_name(files: dict[str, str], patch: str, message: str) -> None:
    kept = dict(files)
    with pytest.raises(DataError, match=message):
        apply_patch(files, patch)
    assert files == kept


def test_blank_patches_and_lost_last_line_ends() -> None:
    assert apply_patch({"f": "x"}, "") == {}
    assert apply_patch({"f": "x"}, "\n \n") == {}
    assert apply_patch({"f": "1\na\nb\n"}, PATCH.removesuffix("\n")) == {"f": "1\na\nc\n"}
    # an editor that strips white space leaves blank lines of context quite empty
    assert apply_patch({"f": "\nb\n"}, "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n\n-b\n+c\n") == {"f": "\nc\n"}


def test_two_changes_of_one_file_follow_each_other() -> None:
    files = {"f": "1\na\nb\n"}
    patch = PATCH + PATCH.replace("+c", "+d").replace("-b", "-c")
    assert apply_patch(files, patch) == {"f": "1\na\nd\n"}
    assert apply_patch({"f": "1\na\nd\n"}, patch, reverse=True) == files


def write(folder: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode())


def read(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_bytes().decode() for p in folder.rglob("*") if p.is_file()}


def git(folder: Path, *arguments: str, stdin: str = "") -> str:
    """Run git in the folder, apart from the user's settings and from any repository around it."""
    environment = {"HOME": str(folder), "PATH": "/usr/bin:/bin", "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=environment, input=stdin.encode(), capture_output=True, check=False
    )
    assert done.returncode == 0, f"{done.stderr.decode()}\n{stdin}"
    return done.stdout.decode()
