"""Boxes of the shipped sandboxes remove files, links and folders, and nothing through a link."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from camg.protocols import Box, Sandbox
from camg.types import Limits
from camg_sandboxes.bwrap import BwrapConfig, BwrapSandbox
from camg_sandboxes.process import ProcessConfig, ProcessSandbox


@pytest.fixture(params=["bwrap", "process"])
def shipped(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    sandbox: Any
    if request.param == "bwrap":
        request.getfixturevalue("bwrap_works")
        sandbox = BwrapSandbox(BwrapConfig())
    else:
        sandbox = ProcessSandbox(ProcessConfig(i_know_this_is_not_isolated=True))
    yield sandbox
    sandbox.close()


@pytest.fixture
def shipped_box(shipped: Sandbox) -> Iterator[Box]:
    box = shipped.open("removal", limits=Limits())
    yield box
    box.close()


def test_a_file_a_pipe_a_link_and_a_tree_can_be_removed(shipped_box: Box) -> None:
    shipped_box.run(
        "echo 1 > file; mkfifo pipe; mkdir -p stay tree/deep; echo 2 > stay/x; ln -s ../../stay tree/deep/l"
    )
    shipped_box.run("ln -s stay link; ln -s nowhere broken")
    for path in ("file", "pipe", "link", "broken", "tree"):
        shipped_box.remove(path)
    assert shipped_box.run("ls -A; cat stay/x").output.split() == [b"stay", b"2"]


@pytest.mark.parametrize("path", ["absent", "absent/below", "link/x", "../x", "stay/../stay", "/etc", "", ".", "a\0b"])
def test_what_is_not_there_or_not_inside_cannot_be_removed(shipped_box: Box, path: str) -> None:
    shipped_box.run("mkdir stay; echo 2 > stay/x; ln -s stay link")
    with pytest.raises(OSError):  # noqa: PT011 - each path has a kind of its own
        shipped_box.remove(path)
    assert shipped_box.run("cat stay/x; readlink link").output == b"2\nstay\n"
