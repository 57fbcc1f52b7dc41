"""As root, the suites of attacks, limits and life cycles once more, as an ordinary user."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from camg_sandboxes import kernel

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
USER = 64_321


def open_up(path: Path) -> None:
    """In this process's own mounts: let everyone reach ``path``, and nothing else of a closed folder above."""
    closed = [folder for folder in reversed(path.parents) if folder.exists() and not folder.stat().st_mode & 0o001]
    if not closed:
        return
    handle = os.open(path, os.O_PATH | os.O_DIRECTORY)
    kernel.mount("none", str(closed[0]), "tmpfs", 0, "mode=755")
    path.mkdir(parents=True)
    kernel.mount(f"/proc/self/fd/{handle}", str(path), None, kernel.MS_BIND | kernel.MS_REC)


def become_user() -> None:
    """Runs between fork and exec of pytest's child."""
    kernel.unshare(kernel.CLONE_NEWNS)
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    for path in {Path(sys.base_prefix).resolve(), Path(sys.prefix), REPOSITORY}:
        open_up(path)
    os.setgroups([])
    os.setresgid(USER, USER, USER)
    os.setresuid(USER, USER, USER)


@pytest.mark.skipif(os.getuid() != 0, reason="the suites already run as an ordinary user")
@pytest.mark.parametrize(
    "suite",
    ["escapes", "privileges", *(pytest.param(name, marks=pytest.mark.slow) for name in ("limits", "lifecycle"))],
)
def test_the_suite_holds_for_an_ordinary_user(bwrap_works: None, suite: str) -> None:
    home = Path(f"/tmp/camg-user-tests-{os.getpid()}-{suite}")
    home.mkdir()
    os.chown(home, USER, USER)
    try:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "-p", "no:cacheprovider"),
                *("-c", str(REPOSITORY / "pyproject.toml"), f"--basetemp={home}/tests"),
                str(HERE / f"test_sandbox_{suite}.py"),
            ],
            env={"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(home), "PYTHONDONTWRITEBYTECODE": "1"},
            cwd=home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            preexec_fn=become_user,
            timeout=240,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert " passed" in done.stdout
        assert "skipped" not in done.stdout
    finally:
        subprocess.run(["rm", "-rf", str(home)], check=True)
