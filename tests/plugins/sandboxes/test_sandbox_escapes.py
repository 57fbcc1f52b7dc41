"""Attempts to reach the network or files from a box, each a real attack with a check that it failed.

Runs as whoever runs the tests; ``test_sandbox_users.py`` runs it once more as an ordinary user.
"""

from __future__ import annotations

import secrets
import socket
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from camg.protocols import Box
from camg.types import CommandResult


def python(box: Box, source: str, wall_seconds: float | None = None) -> CommandResult:
    """Run a Python program inside ``box``."""
    return box.run(f"python3 - <<'EOF'\n{textwrap.dedent(source)}\nEOF", wall_seconds=wall_seconds)


def text(result: CommandResult) -> str:
    return result.output.decode("utf-8", "replace")


@pytest.fixture
def secret(tmp_path: Path) -> tuple[Path, str]:
    """A host file as a grader would keep one, readable for everyone on the host."""
    value = secrets.token_hex(16)
    path = tmp_path / "grader_state.json"
    path.write_text(value)
    for folder in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        folder.chmod(0o755)
    return path, value


# ---------------------------------------------------------------- network
@pytest.fixture
def host_server() -> Iterator[tuple[int, list[str]]]:
    """A server on the host's loopback; yields its port and who called."""
    callers: list[str] = []
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, address = server.accept()
            except OSError:
                return
            callers.append(str(address))
            connection.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield server.getsockname()[1], callers
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    thread.join(5)


def test_the_hosts_loopback_cannot_be_reached(box: Box, host_server: tuple[int, list[str]]) -> None:
    port, callers = host_server
    before = call(port)  # it is there
    result = box.run(f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached")
    after = call(port)
    assert result.exit_status != 0
    assert b"reached" not in result.output
    deadline = time.monotonic() + 20
    while after not in callers and time.monotonic() < deadline:
        time.sleep(0.01)
    assert callers == [before, after]  # they are accepted in order: the box would stand between


def call(port: int) -> str:
    """Connect as a process of the host; our address, as the server sees it."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        return str(connection.getsockname())


def test_no_address_outside_has_a_route(box: Box) -> None:
    result = box.run(
        "for a in 1.1.1.1 169.254.169.254 10.0.0.1; do (exec 3<>/dev/tcp/$a/80) && echo reached; done; true"
    )
    assert b"reached" not in result.output
    assert text(box.run("cat /proc/net/route | wc -l")).strip() == "1"  # the heading
    assert "eth" not in text(box.run("cat /proc/net/dev"))


def test_abstract_unix_sockets_of_the_host_are_not_there(box: Box) -> None:
    name = f"camg-test-{secrets.token_hex(8)}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0" + name)
        server.listen()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect("\0" + name)  # on the host it is
        result = python(box, f"import socket\nsocket.socket(socket.AF_UNIX).connect('\\0{name}')\nprint('reached')")
    assert b"reached" not in result.output
    assert b"ConnectionRefused" in result.output


@pytest.mark.parametrize("family", [40, 38, 17, 29], ids=["vsock", "alg", "packet", "can"])
def test_sockets_that_ignore_network_namespaces_are_refused(box: Box, family: int) -> None:
    result = python(
        box,
        f"""
        import errno, socket
        for kind in (1, 2, 3, 5):
            try:
                socket.socket({family}, kind)
            except OSError as error:
                print(error.errno == errno.EAFNOSUPPORT)
        """,
    )
    assert text(result).split() == ["True"] * 4


# ---------------------------------------------------------------- files of the host
def test_host_files_are_not_in_the_box(box: Box, secret: tuple[Path, str]) -> None:
    path, value = secret
    assert value in path.read_text()
    for attempt in (
        f"cat {path}",
        f"cat /proc/1/root{path}",
        f"cat /proc/self/root{path}",
        f"cat /proc/1/cwd/../../../..{path}",
        f"cd / && cat ../../../..{path}",
        f"ln -s {path} link; cat link",
        f"mkdir -p .agent_memory; ln -s {path} .agent_memory/CONTINUATION.md; cat .agent_memory/CONTINUATION.md",
        f"grep -r {value} / --exclude-dir=proc --exclude-dir=usr --exclude-dir=opt 2>/dev/null",
    ):
        assert value not in text(box.run(attempt)), attempt


def test_what_the_host_keeps_private_is_not_there(box: Box) -> None:
    assert text(box.run("ls -d /root /home /var/lib /var/run /sys /boot /srv /mnt 2>/dev/null")) == ""
    assert box.run("cat /etc/shadow").exit_status != 0
    assert b"$" not in box.run("cat /etc/passwd").output
    assert text(box.run("ls -A /tmp /dev/shm /run | grep -v ':$' | grep -v '^$'")) == ""


def test_no_secret_of_the_environment_comes_in(monkeypatch: pytest.MonkeyPatch, box: Box) -> None:
    # The keeper was started with this process's environment long ago: set before a fresh one is started.
    from camg.types import Limits
    from camg_sandboxes.bwrap import BwrapConfig, BwrapSandbox

    monkeypatch.setenv("SOME_API_KEY", "sk-do-not-leak")
    fresh = BwrapSandbox(BwrapConfig())
    try:
        inside = fresh.open("environment", limits=Limits())
        seen = inside.run("env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'").output
        inside.close()
    finally:
        fresh.close()
    assert b"sk-do-not-leak" not in seen
    names = {line.split("=")[0] for line in text(box.run("env")).splitlines()}
    assert names <= {"HOME", "PATH", "LANG", "TERM", "USER", "PWD", "SHLVL", "_", "LD_LIBRARY_PATH"}


def test_another_episodes_files_are_out_of_reach(open_box: object) -> None:
    mine, other = open_box("mine"), open_box("other")  # type: ignore[operator]
    value = secrets.token_hex(16)
    other.run(f"echo {value} > notes; mkdir .agent_memory; echo {value} > .agent_memory/a; echo {value} > /tmp/t")
    sleeper = threading.Thread(target=lambda: other.run("sleep 1"))
    sleeper.start()
    found = mine.run(f"ls -A . /tmp; grep -rs {value} /workspace /tmp /dev/shm /proc/*/cwd/ /proc/*/root/tmp; ps -e")
    sleeper.join()
    assert value not in text(found)
    assert "sleep" not in text(found)
    assert "notes" not in text(found)


def test_links_out_of_the_box_are_not_followed_by_the_host(box: Box, secret: tuple[Path, str]) -> None:
    path, value = secret
    box.run(f"ln -s {path} link; ln -s {path.parent} folder; ln -s / root; mkdir real; ln -s {path} real/link")
    for name in ("link", f"folder/{path.name}", f"root{path}", "real/link", "real/../link"):
        with pytest.raises(OSError, match=r"\[Errno"):
            box.read(name, 100)
    for name in (f"folder/{path.name}", f"root{path}", f"folder/new-{value}"):
        with pytest.raises(OSError, match=r"\[Errno"):
            box.write(name, b"overwritten")
    box.write("link", b"a file now")  # a link is replaced, what it named stays
    assert path.read_text() == value
    assert not (path.parent / f"new-{value}").exists()
    assert text(box.run("cat link")) == "a file now"


def test_a_memory_folder_that_is_a_link_is_seen_as_one(box: Box, secret: tuple[Path, str]) -> None:
    path, _ = secret
    box.run(f"ln -s {path.parent} .agent_memory")
    manifest = box.manifest()
    assert {name: state.kind for name, state in manifest.items()} == {".": "symlink"}
    with pytest.raises(OSError, match=r"\[Errno"):
        box.read(f".agent_memory/{path.name}", 100)


def test_pipes_and_devices_in_the_memory_folder_do_not_hang_the_host(box: Box) -> None:
    box.run("mkdir .agent_memory; cd .agent_memory; mkfifo pipe; ln -s /dev/zero zero; mknod d c 1 5; echo a > file")
    started = time.monotonic()
    manifest = box.manifest()
    with pytest.raises(OSError, match=r"\[Errno"):
        box.read(".agent_memory/pipe", 10)
    assert time.monotonic() - started < 1
    assert manifest["pipe"].kind == "other"
    assert manifest["zero"].kind == "symlink"
    assert "d" not in manifest


def test_hard_links_to_read_only_files_do_not_make_them_writable(box: Box, open_box: object, tmp_path: Path) -> None:
    source = tmp_path / "input.txt"
    source.write_text("public")
    inside = open_box(inputs={"/inputs/input.txt": source})  # type: ignore[operator]
    result = inside.run("ln /inputs/input.txt here; ln /usr/bin/env env; echo bad > here; cat /inputs/input.txt")
    assert "public" in text(result)
    assert source.read_text() == "public"
    assert inside.run("test -e env").exit_status == 1


def test_read_only_inputs_and_system_stay_as_they_are(open_box: object, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "table.csv").write_text("1,2")
    box = open_box(inputs={"/inputs/data": tmp_path / "data"})  # type: ignore[operator]
    assert text(box.run("cat /inputs/data/table.csv")) == "1,2"
    for attempt in (
        "echo 3 >> /inputs/data/table.csv",
        "rm -rf /inputs/data",
        "mv /inputs/data/table.csv /inputs/data/other",
        "chmod 777 /inputs/data/table.csv",
        "touch /inputs/data/new",
        "python3 -c \"import os; os.truncate('/inputs/data/table.csv', 0)\"",
        "mount -o remount,rw /inputs/data",
        "echo x > /usr/bin/new",
        "echo x > /etc/passwd",
        "echo x > /new",
        "echo x > /dev/new",
        "mkdir /run/new",
    ):
        assert box.run(attempt).exit_status != 0, attempt
    assert (tmp_path / "data" / "table.csv").read_text() == "1,2"
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == ["table.csv"]


def test_a_base_is_changed_inside_and_never_outside(open_box: object, tmp_path: Path) -> None:
    base = tmp_path / "base"
    (base / "package").mkdir(parents=True)
    (base / "package" / "code.py").write_text("one = 1\n")
    (base / "other.txt").write_text("other\n")
    first = open_box(base=base)  # type: ignore[operator]
    second = open_box(base=base)  # type: ignore[operator]
    result = first.run(
        "echo two = 2 >> package/code.py && rm other.txt && mv package moved && mkdir package && ls package moved"
        " && chmod 700 moved && ln moved/code.py hard && git init -q && git add . && git commit -qm all && cat hard"
    )
    assert result.exit_status == 0, text(result)
    assert text(result).endswith("one = 1\ntwo = 2\n")
    assert text(second.run("cat package/code.py other.txt")) == "one = 1\nother\n"
    assert (base / "package" / "code.py").read_text() == "one = 1\n"
    assert sorted(path.name for path in base.iterdir()) == ["other.txt", "package"]
