"""Front matter: taken apart and put together again, and Letta's rules, in Python and in the hook that git runs."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from camg_letta.frontmatter import Parsed, Wrong, check, checked, one_line, parse, valid
from camg_letta.hook import HOOK

FILE = "---\ndescription: what it is for\n---\nthe body\n"
LINES = st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=20).filter(
    lambda line: line != "---"
)


@settings(deadline=None)
@given(st.lists(LINES, max_size=5), st.text(st.characters(exclude_categories=["Cs"]), max_size=80))
def test_a_file_is_its_parts(header, body):
    file = Parsed(tuple(header), body)
    assert parse(file.text()) == file


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_a_description_is_one_line_whatever_it_is(text):
    file = parse(FILE).described(text)
    assert file.value("description") == one_line(text)
    assert file.body == "the body\n"


def test_values_may_continue_on_indented_lines():
    file = parse("---\ndescription: one\n  two\n\tthree\nlimit: 5\n---\n")
    assert file.value("description") == "one two three"
    assert file.value("limit") == "5"
    assert file.value("read_only") is None
    assert file.described("new").header == ("description: new", "limit: 5")


def test_the_rules_hold_below_two_folders():
    assert checked("system/a.md")
    assert checked("reference/deep/b.md")
    assert not checked("notes/a.md")
    assert not checked("system/a.txt")


WRONG = {
    "no front matter": ("just text", "missing front matter"),
    "not closed": ("---\ndescription: x\n", "not closed"),
    "no description": ("---\nlimit: 3\n---\n", "non-empty description"),
    "empty description": ("---\ndescription:  \n---\n", "non-empty description"),
    "unknown key": ("---\ndescription: x\nowner: me\n---\n", "unknown key 'owner'"),
    "read_only added": ("---\ndescription: x\nread_only: true\n---\n", "read_only is protected"),
}


@pytest.mark.parametrize(("text", "reason"), WRONG.values(), ids=WRONG.keys())
def test_what_breaks_a_rule_is_named(text, reason):
    with pytest.raises(Wrong, match=reason):
        check(text, None)


def test_what_is_read_only_stays():
    locked = "---\ndescription: x\nread_only: true\n---\nkept\n"
    with pytest.raises(Wrong, match="cannot be modified"):
        check(locked.replace("kept", "changed"), locked)
    tolerated = "---\ndescription: x\nlimit: 100\nread_only: false\n---\n"
    check(tolerated + "more", tolerated)
    with pytest.raises(Wrong, match="protected"):
        check(tolerated.replace("read_only: false\n", ""), tolerated)


# ---------------------------------------------------------------- the hook says the same
@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hook")
    git(folder, "init", "-q", "-b", "main")
    hook = folder / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(HOOK)
    hook.chmod(0o755)
    return folder


def git(folder, *arguments):
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    return subprocess.run(
        ["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=30
    )


def committed(folder, head, text) -> str:
    """Commit ``text`` over ``head``; returns what the hook complained of."""
    path = folder / "system" / "a.md"
    path.parent.mkdir(exist_ok=True)
    git(folder, "rm", "-q", "-f", "--ignore-unmatch", "system/a.md")
    git(folder, "commit", "-q", "--no-verify", "--allow-empty", "-m", "clear")
    path.parent.mkdir(exist_ok=True)
    if head is not None:
        path.write_bytes(head.encode())
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "--no-verify", "--allow-empty", "-m", "head")
    path.write_bytes(text.encode())
    git(folder, "add", "-A")
    done = git(folder, "commit", "-q", "--allow-empty", "-m", "change")
    assert (done.returncode == 0) == (not done.stderr), done
    return done.stderr


@pytest.mark.parametrize(("text", "reason"), WRONG.values(), ids=WRONG.keys())
def test_the_hook_refuses_the_same(repository, text, reason):
    assert reason in committed(repository, None, text)


KEY_LINES = st.sampled_from(
    [
        *("description: x", "description:", "description : y", "description: a: b", "limit: 4", "owner: me"),
        *("read_only: true", "read_only: false", "read_only:", "read_only", "  more", ""),
    ]
)
FILES = st.builds(
    lambda header, body: "\n".join(["---", *header, "---", body]), st.lists(KEY_LINES, max_size=4), st.just("body\n")
)


@settings(max_examples=25, deadline=None)
@given(head=st.none() | FILES, text=FILES)
def test_hook_and_rules_agree(repository, head, text):
    if head == text:
        return
    try:
        check(text, head)
        reason = ""
    except Wrong as error:
        reason = str(error)
    said = committed(repository, head, text)
    assert bool(said) == bool(reason), (said, reason)


def test_a_file_that_is_valid_is_taken_apart():
    assert valid(FILE).body == "the body\n"
