"""Sandboxes and boxes for the tests of this folder."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from camg.protocols import Box
from camg.types import Limits, Workspace
from camg_sandboxes import folders
from camg_sandboxes.bwrap import BwrapConfig, BwrapSandbox, probe

OpenBox = Callable[..., Box]
WORKSPACE = {"base", "inputs", "variables", "hidden"}


@pytest.fixture(scope="module", autouse=True)
def _own_folders() -> Iterator[None]:
    """Tests here count folders of boxes: those of other tests and runs must not be among them."""
    folder = Path(tempfile.mkdtemp(prefix="camg-test-", dir=folders.root().parent))
    folder.chmod(0o711)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAMG_RUNTIME_DIR", str(folder))
        yield
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def bwrap_works() -> None:
    """Skips where bwrap cannot run, with the reason."""
    reason = probe()
    if reason is not None:
        pytest.skip(f"bwrap cannot run here: {reason}")


@pytest.fixture(scope="module")
def sandbox(bwrap_works: None) -> Iterator[BwrapSandbox]:
    """One sandbox (and keeper) for the tests of a module."""
    sandbox = BwrapSandbox(BwrapConfig())
    yield sandbox
    sandbox.close()


@pytest.fixture
def open_box(sandbox: BwrapSandbox) -> Iterator[OpenBox]:
    """Opens boxes that are closed at the end of the test; keywords beside those of a workspace are limits."""
    boxes: list[Box] = []

    def open_box(label: str = "test", **options: Any) -> Box:
        start = {name: options.pop(name) for name in [*options] if name in WORKSPACE}
        box = sandbox.open(label, limits=Limits(**options), workspace=Workspace(**start))
        boxes.append(box)
        return box

    yield open_box
    for box in boxes:
        box.close()


@pytest.fixture
def box(open_box: OpenBox) -> Box:
    """A box with the default limits."""
    return open_box()


WORKER = """
    import threading, time
    from camg.types import Limits
    from camg_sandboxes.{module} import {sandbox}, {config}
    sandbox = {sandbox}({config}({arguments}))
    boxes = [sandbox.open({label!r} + str(n), limits=Limits(wall_seconds=100)) for n in range(3)]
    threads = [threading.Thread(target=box.run, args=("setsid -f sleep 1234; sleep 1234",)) for box in boxes]
    [thread.start() for thread in threads]
    time.sleep(0.5)
    print("ready", flush=True)
    time.sleep(100)
"""


@pytest.fixture
def start_worker() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a process that holds three boxes in which commands run, as a rollout worker would."""
    workers: list[subprocess.Popen[str]] = []

    def start_worker(label: str, **names: str) -> subprocess.Popen[str]:
        source = textwrap.dedent(WORKER.format(label=label, **names))
        worker = subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True)
        workers.append(worker)
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
        return worker

    yield start_worker
    for worker in workers:
        worker.kill()
        worker.wait()
        assert worker.stdout is not None
        worker.stdout.close()


@pytest.fixture
def wait_for() -> Callable[[Callable[[], object]], bool]:
    """Tells whether something comes true within 15 seconds."""

    def wait_for(true: Callable[[], object]) -> bool:
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline:
            if true():
                return True
            time.sleep(0.05)
        return bool(true())

    return wait_for
