"""No test reads or writes the user's cache; without the package there is nothing to test; `playing` can be imported."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

if importlib.util.find_spec("mem0") is None:  # not by importing it: that is for the plugin to do
    pytest.skip("mem0ai is not installed", allow_module_level=True)
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
