"""The documentation says what the code does: links lead somewhere, commands parse, snippets run, all is current."""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest

ROOT = Path(__file__).parents[2]
GENERATED = ROOT / "docs" / "reference"
WRITTEN = sorted(
    path
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")]
    if GENERATED not in path.parents
)
FENCE = re.compile(r"^([ ]*)```(\w*)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def blocks(path: Path, language: str) -> list[str]:
    found = [match for match in FENCE.finditer(path.read_text()) if match.group(2) == language]
    return [re.sub(rf"^{match.group(1)}", "", match.group(3), flags=re.MULTILINE) for match in found]


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    """docs/generate.py as a module."""
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_reference_is_current(generate: ModuleType) -> None:
    stale = [page for page, text in generate.pages().items() if (GENERATED / page).read_text() != text]
    assert not stale, "run `make docs` and commit"


def test_every_option_has_a_help_text(generate: ModuleType) -> None:
    from camg.config import SECTIONS
    from camg.plugins import KINDS, load_registry

    registry = load_registry(disabled=["external"])
    configs = dict(SECTIONS)
    for kind in KINDS:
        for component in registry.names(kind):
            config = getattr(registry.spec(kind, component), "config", None)
            if config is not None:
                configs[f"{kind} {component}"] = config
    bare = [
        f"{section} {row[0]}" for section, config in configs.items() for row in generate.options(config) if not row[3]
    ]
    assert not bare


@pytest.mark.parametrize("path", [*WRITTEN, *sorted(GENERATED.glob("*.md"))], ids=name)
def test_links_lead_somewhere(path: Path) -> None:
    text = FENCE.sub("", path.read_text())
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        file, _, _ = target.partition("#")
        if file and not re.match(r"[a-z]+:", file) and not (path.parent / file).exists():
            broken.append(target)
    assert not broken


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text()
    pages = [str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").glob("*/*.md")]
    assert len(pages) >= 15
    assert not [page for page in pages if f"({page})" not in index]


def documented_commands() -> list[Any]:
    """Every ``camg …`` line of a console block, of an indented block, and of a table's code span."""
    found = []
    for path in WRITTEN:
        text = path.read_text().replace("\\\n", " ")
        lines = re.findall(r"^\s*(?:\$ )?(camg [a-z-].*)$", text, re.MULTILINE)
        lines += re.findall(r"`(camg [a-z][^`]*)`", text)
        found += [
            pytest.param(line.strip(), id=f"{name(path)}: {' '.join(line.split())}") for line in dict.fromkeys(lines)
        ]
    return found


@pytest.mark.parametrize("line", documented_commands())
def test_commands_parse(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each word is a command or an option with an acceptable value; nothing is run. A bare name need only exist."""
    from camg.cli.group import cli

    words = ["0" if word.isupper() else word for word in shlex.split(line, comments=True)[1:]]
    command: click.Command = cli
    context = click.Context(cli, info_name="camg")
    while isinstance(command, click.Group) and words:
        found = command.get_command(context, words[0])
        assert found is not None, f"no command {words[0]!r}"
        command, words = found, words[1:]
        # a run or a file that does not exist here is no fault of the page
        for parameter in command.params:
            if parameter.type.name in ("run", "path", "file", "directory"):
                monkeypatch.setattr(parameter, "type", click.STRING)
        if words and not isinstance(command, click.Group):
            command.make_context(command.name, list(words), parent=context)
        context = click.Context(command, info_name=command.name, parent=context)


def test_the_pages_hold_commands() -> None:
    assert len(documented_commands()) > 30


@pytest.mark.parametrize("path", [path for path in WRITTEN if blocks(path, "python")], ids=name)
def test_snippets_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block that begins with ``# name.py`` becomes that module; the others run one after the other."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    names: dict[str, Any] = {"__name__": "snippet"}
    try:
        for block in blocks(path, "python"):
            title = re.match(r"# (\w+)\.py\n", block)
            if title:
                (tmp_path / f"{title.group(1)}.py").write_text(block)
                importlib.invalidate_caches()
                check_plugin(importlib.import_module(title.group(1)))
            else:
                exec(compile(block, name(path), "exec"), names)
    finally:
        for module in set(sys.modules) - before:
            if getattr(sys.modules[module], "__file__", None) and str(tmp_path) in str(sys.modules[module].__file__):
                del sys.modules[module]


def check_plugin(module: ModuleType) -> None:
    """The module is a plugin that loads without a problem and whose components can be built."""
    from camg.plugins import load_registry

    registry = load_registry(extra=[module], quiet=True)
    info = next(plugin for plugin in registry.plugins() if plugin.value == module.__name__)
    assert not info.error
    offers = [(kind, component) for kind, specs in info.offers.items() for component in specs]
    assert offers
    for kind, component in offers:
        assert registry.build(kind, component) is not None


@pytest.mark.parametrize("path", [path for path in WRITTEN if blocks(path, "toml")], ids=name)
def test_toml_parses(path: Path) -> None:
    for block in blocks(path, "toml"):
        tomllib.loads(block)


def test_first_plugin_is_a_buildable_distribution(tmp_path: Path) -> None:
    """The tutorial's two files make a wheel that registers the entry point."""
    import subprocess
    import zipfile

    page = ROOT / "docs" / "tutorial" / "first-plugin.md"
    for block in [*blocks(page, "python")[:1], *blocks(page, "toml")]:
        (tmp_path / block.partition("\n")[0].removeprefix("# ")).write_text(block)
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", "out"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    wheel = zipfile.ZipFile(next((tmp_path / "out").glob("*.whl")))
    entry = next(name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    assert "batch-mean = batch_mean" in wheel.read(entry).decode()
    assert "batch_mean.py" in wheel.namelist()
