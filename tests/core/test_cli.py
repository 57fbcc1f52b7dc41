"""The command line: lazy, helpful, with one-line errors and the exit codes of the house."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from camg.cli import run_cli
from camg.cli.group import BUILT_IN
from camg.errors import ExitCode

DATA = Path(__file__).parent / "data"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Run in an empty folder, with the plugin of tests/core/data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(DATA))
    monkeypatch.setenv("CAMG_PLUGINS", "camg_toy_plugin")
    for name in [name for name in os.environ if name.startswith("CAMG_") and name != "CAMG_PLUGINS"]:
        monkeypatch.delenv(name)


def camg(capsys, *arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout, stderr."""
    capsys.readouterr()
    code = run_cli(arguments)
    out, err = capsys.readouterr()
    return code, out, err


def in_process(*arguments: str, code: str | None = None) -> subprocess.CompletedProcess[str]:
    """A fresh interpreter, since this one has imported everything."""
    words = ["-c", code] if code else ["-m", "camg.cli", *arguments]
    return subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(DATA)},
    )


# ---------------------------------------------------------------- lazy
def test_help_imports_no_torch_and_no_command():
    code = (
        "import sys; from camg.cli import run_cli; code = run_cli(['--help']);"
        "heavy = {'torch', 'transformers', 'numpy', 'matplotlib', 'rich'} & set(sys.modules);"
        "commands = [m for m in sys.modules if m.startswith('camg.cli.') and m != 'camg.cli.group'];"
        "print('HEAVY', heavy, commands, file=sys.stderr); sys.exit(code)"
    )
    done = in_process(code=code)
    assert done.returncode == 0
    assert "HEAVY set() []" in done.stderr


@pytest.mark.parametrize(
    "arguments", [["plugins"], ["show"], ["show", "learner"], ["run", "--help"], ["run", "--dry-run", "--env", "toy"]]
)
def test_these_import_no_torch(arguments):
    code = (
        f"import sys; from camg.cli import run_cli; code = run_cli({arguments!r});"
        "print('HEAVY', {'torch', 'transformers', 'matplotlib'} & set(sys.modules), file=sys.stderr); sys.exit(code)"
    )
    done = in_process(code=code)
    assert done.returncode == 0, done.stderr
    assert "HEAVY set()" in done.stderr


def test_help_is_quick():
    best = min(_seconds("--help") for _ in range(3))
    assert best < 0.9  # 0.25 s on an idle machine; benchmarks/ holds the target


def _seconds(*arguments: str) -> float:
    """CPU seconds, which do not depend on what else the machine does."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert in_process(*arguments).returncode == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_help_names_every_command_in_one_line(capsys):
    code, out, _ = camg(capsys, "--help")
    assert code == 0
    for name, line in BUILT_IN.items():
        assert any(row.split()[:1] == [name] and row.endswith(line) for row in out.splitlines()), name
    assert "Examples:" in out
    assert max(map(len, out.splitlines())) <= 110


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_command_has_help(capsys, name):
    code, out, _ = camg(capsys, name, "--help")
    assert code == 0
    assert BUILT_IN[name] in " ".join(out.split())


# ---------------------------------------------------------------- errors
@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["rnu"], 2, "There is no command 'rnu'. Did you mean 'run'?"),
        (["run", "--envs", "toy"], 2, "--env"),
        (["run", "--env", "tyo"], 2, "Unknown environment 'tyo'. Did you mean 'toy'?"),
        (["run", "--env", "toy", "--memory", "shel"], 2, "Did you mean 'shell'?"),
        (["run", "--env", "toy", "--set", "toy.sise=3"], 2, "Did you mean 'toy.size'?"),
        (["run", "--env", "toy", "--set", "toy.size=x"], 2, "Expected a whole number, got 'x'"),
        (["run", "--env", "toy", "--set", "toy.size"], 2, "Expected NAME=VALUE"),
        (["run", "--env", "toy", "--seed", "1", "--set", "run.seed=2"], 2, "given twice"),
        (["run", "--env", "toy", "--config", "absent.toml"], 2, "absent.toml"),
        (["run", "--env", "toy", "--policy", "toy-broken"], 3, "could not be imported"),
        (["run", "--env", "toy", "--sandbox", "toy-absent"], 4, "The sandbox 'toy-absent' cannot run here: no kernel"),
        (["run", "--env", "toy", "--sandbox", "process"], 2, "--i-know-this-is-not-isolated"),
        (["report"], 2, "There is no run below runs"),
        (["report", "absent"], 2, "There is no run 'absent'"),
        (["replay", "absent", "0"], 2, "There is no run 'absent'"),
        (["show", "nothing"], 2, "There is no component or section 'nothing'"),
        (["tasks", "build", "toy"], 2, "nothing to build"),
        (["tasks", "show", "toy", "absent"], 2, "Expected a toy task"),
        (["new-plugin", "Wrong Name"], 2, "Expected a name of lower-case letters"),
        (["completion", "tcsh"], 2, "tcsh"),
        (["run", "--env", "toy", "--resume"], 2, "There is no run of these settings to resume"),
        (["run", "--env", "toy", "--resume", "--out", "absent"], 2, "absent holds no run"),
    ],
)
def test_errors_are_short_and_have_their_exit_code(capsys, tmp_path, arguments, code, words):
    found, out, err = camg(capsys, *arguments)
    assert (found, out) == (code, "")
    assert words in err
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []  # nothing was written


def test_what_is_no_handled_error_keeps_its_traceback(capsys):
    with pytest.raises(ZeroDivisionError):
        run_cli(["toy-crash"])


def test_ctrl_c_exits_130(capsys):
    code, _, err = camg(capsys, "toy-interrupt")
    assert code == ExitCode.INTERRUPTED
    assert err.endswith("Interrupted.\n")
    assert "Traceback" not in err


def test_a_closed_pipe_is_no_error():
    done = subprocess.run(
        f"{sys.executable} -m camg.cli show learner | head -1; exit ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(DATA)},
    )
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


# ---------------------------------------------------------------- plugins
def test_a_plugin_adds_commands_and_replaces_none(capsys):
    code, out, err = camg(capsys, "--help")
    assert code == 0
    assert "From plugins:" in out
    assert "toy-hello" in out
    assert "the command 'run' of 'camg_toy_plugin' (-) is left out" in err
    assert camg(capsys, "toy-hello")[1] == "hello\n"


def test_plugins_are_listed_and_left_out(capsys):
    code, out, _ = camg(capsys, "plugins", "--json")
    found = json.loads(out)
    assert code == 0
    toy = next(row for row in found["plugins"] if row["name"] == "camg_toy_plugin")
    assert (toy["status"], toy["offers"]["environment"]) == ("loaded", ["toy"])
    assert found["problems"] == []
    _, out, _ = camg(capsys, "--no-plugin", "camg_toy_plugin", "plugins", "--json")
    toy = next(row for row in json.loads(out)["plugins"] if row["name"] == "camg_toy_plugin")
    assert (toy["status"], toy["offers"]) == ("disabled", {})
    assert "environment: shop" in camg(capsys, "plugins")[1]


def test_a_broken_plugin_is_one_line_and_the_command_goes_on(capsys, tmp_path, monkeypatch):
    (tmp_path / "camg_broken.py").write_text("import no_such_module\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("CAMG_PLUGINS", "camg_toy_plugin,camg_broken")
    code, out, err = camg(capsys, "show", "toy")
    assert code == 0
    assert "toy.size" in out
    assert [line for line in err.splitlines() if "camg_broken" in line] == err.splitlines()
    assert len(err.splitlines()) == 1
    monkeypatch.setenv("CAMG_STRICT_PLUGINS", "1")
    code, out, err = camg(capsys, "show", "toy")
    assert (code, out) == (3, "")
    assert "no_such_module" in err


# ---------------------------------------------------------------- show, tasks, doctor, completion
def test_show_prints_defaults_and_help(capsys):
    _, out, _ = camg(capsys, "show", "toy")
    assert "toy.size" in out
    assert "how large" in out
    _, out, _ = camg(capsys, "show", "policy", "pocket", "--json")
    assert json.loads(out)[0]["kind"] == "policy"
    _, out, _ = camg(capsys, "show", "learner", "--json")
    options = {row["name"]: row for row in json.loads(out)[0]["options"]}
    assert options["clip"]["default"] == 0.2
    assert "environment" in camg(capsys, "show")[1]
    assert "shell" in camg(capsys, "show", "memory")[1]


def test_tasks_are_listed_and_shown(capsys):
    code, out, err = camg(capsys, "tasks", "show", "toy", "--set", "size=2")
    assert (code, out) == (0, "toy.0\ntoy.1\n")
    assert "2 tasks in the split eval" in err
    _, out, _ = camg(capsys, "tasks", "show", "toy", "toy.1", "--json")
    assert json.loads(out) == {
        "id": "toy.1",
        "env": "toy",
        "split": "eval",
        "budget": 3,
        "brief": "Say 1.",
        "payload": {"number": 1},
    }
    assert camg(capsys, "tasks", "check", "toy")[1] == "checked\n"
    assert "toy" in camg(capsys, "tasks", "check", "--help")[1]


def test_doctor_speaks_of_machine_plugins_and_sandbox(capsys):
    code, out, _ = camg(capsys, "doctor", "--json")
    checks = {check["name"]: check for check in json.loads(out)["checks"]}
    assert {"python", "machine", "libraries", "disk", "plugins", "default sandbox", "toy health"} <= set(checks)
    assert code == (0 if checks["default sandbox"]["ok"] else 4)
    assert "-> repaint it" in camg(capsys, "doctor")[1]


def test_doctor_exits_4_without_the_default_sandbox(capsys):
    code, out, _ = camg(capsys, "--no-plugin", "sandboxes", "doctor")
    assert code == 4
    assert "FAIL  default sandbox" in out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(capsys, shell):
    code, out, _ = camg(capsys, "completion", shell)
    assert code == 0
    assert "_CAMG_COMPLETE" in out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("camg ru", "run"),
        ("camg run --memory sh", "shell"),
        ("camg run --env to", "toy"),
        ("camg show lear", "learner"),
    ],
)
def test_the_shell_completes(words, expected):
    environment = {"_CAMG_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    done = subprocess.run(
        [sys.executable, "-m", "camg.cli"],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(DATA), **environment},
    )
    assert f"plain,{expected}" in done.stdout.splitlines()
    assert done.stderr == ""


def test_a_misspelt_plugin_to_leave_out_is_refused(capsys):
    assert run_cli(["--no-plugin", "shopp", "plugins"]) == 2
    assert "Did you mean 'shop'?" in capsys.readouterr().err
    assert run_cli(["--no-plugin", "external", "plugins"]) == 0
