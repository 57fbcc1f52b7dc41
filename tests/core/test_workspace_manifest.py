"""Snapshots of ``.agent_memory`` and workspace files, over trees that a policy may have made."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from camg.types import FileState
from camg.workspace.manifest import DEPTH, scan
from camg.workspace.tree import read_file, write_file


@pytest.fixture
def root(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    folder = tmp_path / ".agent_memory"
    folder.mkdir()
    return folder


def test_an_absent_folder_is_an_empty_manifest(root: int) -> None:
    assert scan(root) == {}


def test_files_and_folders_have_their_states(root: int, memory: Path) -> None:
    (memory / "CONTINUATION.md").write_bytes(b"notes")
    (memory / "deep" / "er").mkdir(parents=True)
    (memory / "deep" / "er" / "x").write_bytes(b"")
    os.link(memory / "CONTINUATION.md", memory / "again")
    note = FileState("file", 5, hashlib.sha256(b"notes").hexdigest(), 2)
    assert scan(root) == {
        "CONTINUATION.md": note,
        "again": note,
        "deep": FileState("directory"),
        "deep/er": FileState("directory"),
        "deep/er/x": FileState("file", 0, hashlib.sha256(b"").hexdigest()),
    }


def test_links_pipes_sockets_and_devices_are_seen_and_not_opened(root: int, memory: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("secret")
    (memory / "link").symlink_to(tmp_path / "outside" / "secret")
    (memory / "folder").symlink_to(tmp_path / "outside")
    (memory / "dangling").symlink_to("nowhere")
    os.mkfifo(memory / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(memory / "socket"))
    started = time.monotonic()
    kinds = {name: state.kind for name, state in scan(root).items()}
    assert time.monotonic() - started < 1
    assert kinds == {"link": "symlink", "folder": "symlink", "dangling": "symlink", "pipe": "other", "socket": "other"}
    assert all(not state.sha256 for state in scan(root).values())


@pytest.mark.parametrize("kind", ["symlink", "file", "other"])
def test_a_memory_folder_that_is_none_has_one_entry(root: int, tmp_path: Path, kind: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "CONTINUATION.md").write_text("planted")
    path = tmp_path / ".agent_memory"
    match kind:
        case "symlink":
            path.symlink_to("elsewhere")
        case "file":
            path.write_text("x")
        case _:
            os.mkfifo(path)
    assert {name: state.kind for name, state in scan(root).items()} == {".": kind}


def test_large_files_have_a_size_and_no_hash(root: int, memory: Path) -> None:
    (memory / "big").write_bytes(bytes(101))
    (memory / "fits").write_bytes(bytes(100))
    found = scan(root, hashed_bytes=100)
    assert found["big"] == FileState("file", 101, "")
    assert found["fits"].sha256 == hashlib.sha256(bytes(100)).hexdigest()


def test_names_that_are_not_utf8_survive_json(root: int, memory: Path) -> None:
    names = [b"\xff\xfe", b"caf\xc3\xa9", b"new\nline", b"quote\"'\\", b" ", b"-rf"]
    for name in names:
        (memory / os.fsdecode(name)).write_bytes(name)
    found = scan(root)
    back = json.loads(json.dumps(list(found)))
    assert back == list(found)
    assert sorted(os.fsencode(name) for name in back) == sorted(names)


def test_a_deep_tree_ends(root: int, memory: Path) -> None:
    folder = os.open(memory, os.O_RDONLY)
    for _ in range(300):  # further than a snapshot goes
        os.mkdir("d", dir_fd=folder)
        below = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    os.close(folder)
    found = scan(root)
    assert len(found) == DEPTH + 1
    assert found["/".join(["d"] * (DEPTH + 1))].kind == "other"
    os.system(f"rm -rf {memory}")


def test_ten_thousand_files_are_all_there(root: int, memory: Path) -> None:
    for number in range(10_000):
        (memory / str(number)).touch()
    assert len(scan(root)) == 10_000


def test_a_changing_tree_never_raises(root: int, memory: Path) -> None:
    stop = threading.Event()

    def churn() -> None:
        while not stop.is_set():
            for name in ("a", "b"):
                path = memory / name
                path.write_bytes(os.urandom(5000))
                path.unlink()
                path.mkdir()
                (path / "x").touch()
                (path / "x").unlink()
                path.rmdir()
                path.symlink_to("/")
                path.unlink()

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        for _ in range(300):
            for state in scan(root).values():
                assert state.kind in {"file", "directory", "symlink", "other"}
    finally:
        stop.set()
        thread.join()


def test_two_small_files_take_a_fraction_of_a_millisecond(root: int, memory: Path) -> None:
    (memory / "CONTINUATION.md").write_bytes(os.urandom(4000))
    (memory / "notes").write_bytes(os.urandom(1000))
    best = min(_seconds(root) for _ in range(200))
    assert best < 0.3e-3


def _seconds(root: int) -> float:
    started = time.perf_counter()
    scan(root)
    return time.perf_counter() - started


def test_no_descriptor_is_lost(root: int, memory: Path) -> None:
    (memory / "a" / "b").mkdir(parents=True)
    (memory / "a" / "c").write_text("x")
    before = len(os.listdir("/proc/self/fd"))
    for path in ("a", "x/../y", "/etc/passwd", "", ".agent_memory/a/c/d", ".agent_memory/nothing"):
        with pytest.raises(OSError, match=r"\[Errno"):
            read_file(root, path, 10)
    with pytest.raises(OSError, match=r"\[Errno"):
        write_file(root, ".agent_memory/a", b"a folder stands here")
    scan(root)
    assert len(os.listdir("/proc/self/fd")) == before
    assert [path.name for path in memory.iterdir()] == ["a"]  # nothing half-written either


def test_writing_replaces_links_and_keeps_modes_and_other_names(root: int, tmp_path: Path) -> None:
    (tmp_path / "target").write_text("target")
    (tmp_path / "link").symlink_to("target")
    write_file(root, "link", b"new")
    assert (tmp_path / "target").read_text() == "target"
    assert (tmp_path / "link").read_bytes() == b"new"
    assert not (tmp_path / "link").is_symlink()
    (tmp_path / "run.sh").write_text("old")
    (tmp_path / "run.sh").chmod(0o755)
    os.link(tmp_path / "run.sh", tmp_path / "other")
    write_file(root, "run.sh", b"new")
    assert (tmp_path / "run.sh").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "other").read_text() == "old"
    (tmp_path / "folder").symlink_to("/tmp")
    with pytest.raises(OSError, match=r"\[Errno"):
        write_file(root, "folder/x", b"out")
    for path in ("../x", "/tmp/x", "a/../../x", "", ".", "a/", "a\0b"):
        with pytest.raises(OSError, match=r"\[Errno"):
            write_file(root, path, b"out")


@given(st.binary(max_size=3000), st.integers(0, 4000))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50, deadline=None)
def test_what_was_written_is_read(root: int, data: bytes, limit: int) -> None:
    write_file(root, "./a//b/c", data)
    assert read_file(root, "a/b/c", limit) == data[:limit]
