"""A third-party memory: it installs beside ``camg`` and stands in one sweep with the shipped methods."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from camg.plugins import load_registry
from camg.testing import FolderSandbox, check_memory
from camg.types import TurnKind
from camg_policies.pocket.corpus import Stage

EXAMPLE = Path(__file__).parents[2] / "examples" / "camg-example-memory"
CAMG = str(Path(sys.executable).with_name("camg"))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of its own that holds the installed distribution (metadata and all), as a virtual environment would."""
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--no-build-isolation", "--no-index", "--target", str(target), str(EXAMPLE)]
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    return target


def camg(installed: Path, *arguments: str, cwd: Path, timeout: float = 120) -> Any:
    """``camg … --json`` in a process of its own, with the example installed."""
    env = {**os.environ, "PYTHONPATH": str(installed), "OMP_NUM_THREADS": "1"}
    command = [CAMG, *arguments, "--json"]
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def importable(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(installed))


@pytest.mark.usefixtures("importable")
def test_conformance() -> None:
    from camg_example_memory.config import JournalConfig
    from camg_example_memory.journal import Journal

    check_memory(Journal(JournalConfig()))


@pytest.mark.usefixtures("importable")
def test_shop_is_solved_through_it() -> None:
    stage = Stage(load_registry(), FolderSandbox(), "journal")
    episodes = stage.demonstrate("shop", "oracle", None, 3, seed=2)
    for episode in episodes:
        assert episode.outcome.complete
        assert sum(turn.kind is TurnKind.SUMMARY for turn in episode.turns) == 2


@pytest.mark.usefixtures("importable")
def test_it_shows_the_latest_entries() -> None:
    from camg_example_memory.config import JournalConfig
    from camg_example_memory.journal import Journal

    from camg.testing.memory import View
    from camg.testing.parts import FolderBox
    from camg.types import Boundary, BoundaryKind

    box = FolderBox()
    session = Journal(JournalConfig(entries=2)).open(View(box, terse=True, said="one"))
    notes = []
    for said in ("one", "<think>hm</think>", "two", "three"):
        session.view = View(box, terse=True, said=said)
        notes.append(session.at_boundary(Boundary(BoundaryKind.DECLARED, "keep it")).note)
    box.close()
    assert notes == ["notes: one", "notes: one", "notes: one\ntwo", "notes: two\nthree"]


def test_one_sweep_holds_it_and_the_shipped_methods(installed: Path, tmp_path: Path) -> None:
    options = ["--baseline", "camg-rl", "--baseline", "compaction-rl", "--baseline", "journal", "--env", "shop"]
    plan = camg(installed, "sweep", *options, "--seeds", "2", "--dry-run", cwd=tmp_path)
    assert "journal" in json.dumps(plan)
    assert len(plan["cells"]) == 6


@pytest.mark.slow
def test_the_sweep_compares_it(installed: Path, tmp_path: Path) -> None:
    """One update each: what is compared is not the point, that it is compared by the same command is."""
    options = ["--baseline", "compaction-rl", "--baseline", "journal", "--env", "shop", "--updates", "1"]
    options += ["--set", "run.episodes=16", "--set", "evaluation.tasks=16", "--out", str(tmp_path / "sweep")]
    done = camg(installed, "sweep", *options, cwd=tmp_path, timeout=400)
    labels = [method["label"] for method in done["comparison"]["methods"]]
    assert labels == ["compaction-rl", "journal"]
