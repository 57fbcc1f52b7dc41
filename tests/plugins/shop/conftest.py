"""Episodes in the real loop over plain folders, and a cache of its own for the generated catalogue."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from camg.episode.actions import BRACKET
from camg.protocols import Dialect, Script
from camg.testing import play
from camg.types import Episode, Task
from camg_shell.config import ShellConfig
from camg_shell.memory import ShellMemory
from camg_shop.environment import Shop

Author = Callable[[Task, int, Dialect], Script]


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """No test reads or writes the user's cache."""
    folder, before = tmp_path_factory.mktemp("cache"), os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(folder)
    yield folder
    if before is None:
        del os.environ["XDG_CACHE_HOME"]
    else:
        os.environ["XDG_CACHE_HOME"] = before


@pytest.fixture
def player() -> Callable[..., Episode]:
    """``player(shop, task_id, author, seed=0)``: one episode with the shell memory."""

    def run(shop: Shop, task_id: str, author: Author, seed: int = 0) -> Episode:
        memory = ShellMemory(ShellConfig())
        return play(shop, memory, lambda task, number: author(task, number, BRACKET), task_id, seed=seed)

    return run


@pytest.fixture(scope="session")
def shop(cache: Path) -> Shop:
    """With default options."""
    return Shop()
