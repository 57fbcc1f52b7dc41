"""``camg new-plugin``: what it writes passes its own checks and shows in ``camg plugins``; baselines resolve."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from camg.cli import run_cli
from camg.cli.new_plugin import TEMPLATES, write_plugin
from camg.config import reasons_against, resolve_config
from camg.errors import UsageError
from camg.plugins import load_registry


def run_in(folder: Path, *arguments: str, plugins: str = "") -> str:
    environment = {**os.environ, "PYTHONPATH": str(folder), "CAMG_PLUGINS": plugins, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=120, env=environment, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("kind", TEMPLATES)
def test_a_new_plugin_works_as_it_is(kind, tmp_path, capsys):
    folder = tmp_path / "plugin"
    assert run_cli(["new-plugin", "my-part", "--kind", kind, "--dir", str(folder)]) == 0
    assert sorted(path.name for path in folder.iterdir()) == ["camg_my_part.py", "pyproject.toml"]
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["camg"] == {"my-part": "camg_my_part"}
    assert project["name"] == "camg-my-part"
    assert run_in(folder, "camg_my_part.py") == "my-part passes\n"
    found = json.loads(run_in(folder, "-m", "camg.cli", "plugins", "--json", plugins="camg_my_part"))
    assert found["problems"] == []
    assert {"name": "camg_my_part", "offers": {kind: ["my-part"]}}.items() <= {
        key: row[key] for row in found["plugins"] if row["name"] == "camg_my_part" for key in ("name", "offers")
    }.items()


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "mine.py").write_text("precious")
    with pytest.raises(UsageError, match="exists already"):
        write_plugin("mine", "environment", tmp_path / "p")
    assert [path.name for path in (tmp_path / "p").iterdir()] == ["mine.py"]
    for name in ("Mine", "1st", "a b", "learner", ""):
        with pytest.raises(UsageError, match="Expected a name"):
            write_plugin(name, "environment", tmp_path / "q")
    assert not (tmp_path / "q").exists()


BASELINES = {
    "camg-rl": ("shell", "response-gae"),
    "frozen": ("shell", "response-gae"),
    "frozen-auto-summary": ("auto-summary", "response-gae"),
    "mem0": ("mem0", "response-gae"),
    "letta": ("letta", "response-gae"),
    "compaction-rl": ("compaction", "response-gae"),
    "compaction-rl-original": ("compaction", "compaction"),
    "agemem": ("agemem", "response-gae"),
    "agemem-original": ("agemem", "stepwise-grpo"),
    "apply-patch": ("apply-patch", "response-gae"),
    "no-memory-gradient": ("shell", "response-gae"),
    "token-gae": ("shell", "token-gae"),
    "continuation-only": ("shell", "response-gae"),
    "continuation-only-eval": ("shell", "response-gae"),
}


def test_every_baseline_is_listed_here():
    assert set(load_registry(quiet=True).names("baseline")) == set(BASELINES)


@pytest.mark.parametrize("name", BASELINES)
def test_baselines_resolve_and_define_what_they_say(name):
    registry = load_registry(quiet=True)
    options = {"env": ["shop"], "baseline": name, "policy": "torch", "torch.model": "some/model"}
    config = resolve_config(registry, command_line=options, environ={})
    assert reasons_against(config, registry) == []
    assert (config.memory, config.estimator) == BASELINES[name]
    assert config.learner.no_memory_gradient == (name == "no-memory-gradient")
    assert (config.run.updates == 0) == name.startswith(("frozen", "letta", "mem0"))
    values, spec = config.flat(), registry.spec("baseline", name)
    for key, value in spec.settings.items():
        assert value == values.get(key, values.get(f"memory:{key}")), key
    assert spec.table


@pytest.mark.parametrize(
    "name",
    [
        *("camg-rl", "frozen", "no-memory-gradient", "token-gae", "continuation-only", "continuation-only-eval"),
        *("compaction-rl", "compaction-rl-original", "agemem", "agemem-original", "apply-patch", "frozen-auto-summary"),
    ],
)
def test_what_the_embedded_policy_can_do_is_offered_with_it(name):
    registry = load_registry(quiet=True)
    config = resolve_config(registry, command_line={"env": ["shop"], "baseline": name}, environ={})
    assert reasons_against(config, registry) == []


def test_show_prints_all_that_a_baseline_sets(capsys):
    assert run_cli(["show", "baseline", "compaction-rl-original"]) == 0
    text = capsys.readouterr().out
    for word in ("compaction.credit", "original", "learner.value_pretraining", "50", "critic steps", "own recipe"):
        assert word in text
    assert run_cli(["show", "baseline", "camg-rl", "--json"]) == 0
    (item,) = json.loads(capsys.readouterr().out)
    assert item["facts"]["table"] == "Table 2"
    assert [row["name"] for row in item["settings"]] == ["learner.no_memory_gradient", "shell.continuation_only"]
    assert all(row["help"] for row in item["settings"])


def test_show_says_why_the_embedded_policy_does_not_go_with_a_memory_only_where_it_does_not(capsys):
    assert run_cli(["show", "memory", "--json"]) == 0
    for item in json.loads(capsys.readouterr().out):
        assert ("pocket_reason" in item["facts"]) is not item["facts"]["pocket"], item["name"]
