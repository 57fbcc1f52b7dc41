"""Who may import whom, read from the source: arrows point down only (house rules)."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE = ROOT / "src" / "camg"
PLUGINS = ROOT / "plugins"
DATA = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]["extend-exclude"]

LAYERS = [
    {"", "types", "errors"},
    {"protocols", "specs"},
    {"hookspecs", "settings"},
    {"discovery", "plugins", "config", "weights"},
    {"workspace", "episode", "serve"},
    {"testing"},
    {"rollout"},
    {"learn"},
    {"supervise", "evaluate"},
    {"report"},
    {"cli"},
]
"""From the ground up. Parts of one layer may import one another, and everything below."""

LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}

ALLOWED = {
    "camg",
    "camg.types",
    "camg.protocols",
    "camg.specs",
    "camg.errors",
    "camg.testing",
    "camg.episode.chat",
    "camg.episode.actions",
    "camg.serve",
    "camg.weights",
}
"""What a plugin may import of camg, besides what lies below ``camg.workspace`` and ``camg.learn``."""

EXCEPTIONS = {
    "camg_coding/build/boxes.py": {"camg.plugins"},  # tries projects in whichever sandbox isolates here
    "camg_policies/scripted.py": {"camg.plugins"},  # asks the registry for the oracle of any environment
    "camg_policies/pocket/commands.py": {"camg.plugins"},  # the warm start plays every environment that offers to
    "camg_policies/pocket/corpus.py": {"camg.settings", "camg.episode.loop"},  # ... in the real loop
}
"""Module of a plugin -> what else it may import, with the reason."""

HEAVY = {"torch", "transformers", "tokenizers", "safetensors", "docker", "sglang", "numpy", "matplotlib", "rich"}


def modules(folder: Path) -> list[Path]:
    return sorted(
        path
        for path in folder.rglob("*.py")
        if "__pycache__" not in path.parts and not any(path.is_relative_to(ROOT / data) for data in DATA)
    )


def imported(path: Path, *, top: bool = False) -> Iterator[tuple[int, str]]:
    """``(line, module)`` of every import; ``top``: only what runs when the module is imported."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = _deferred(tree) if top else set()
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            for (
                alias
            ) in node.names:  # ``from camg import weights`` imports a module, ``from camg import hookimpl`` none
                name = f"{node.module}.{alias.name}"
                yield node.lineno, name if _is_module(name) else str(node.module)


def _is_module(name: str) -> bool:
    path = ROOT / "src" / Path(*name.split("."))
    return name.startswith("camg.") and (path.is_dir() or path.with_suffix(".py").is_file())


def _deferred(tree: ast.Module) -> set[int]:
    """Nodes inside functions, and below ``if TYPE_CHECKING``."""
    inside: set[int] = set()
    for node in ast.walk(tree):
        checking = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        if checking or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            inside |= {id(child) for child in ast.walk(node) if child is not node}
    return inside


def layer(module: str) -> str:
    """``camg.learn.losses`` -> ``learn``."""
    return module.split(".")[1] if "." in module else ""


def test_every_part_of_the_core_has_a_layer():
    parts = {path.stem if path.is_file() else path.name for path in CORE.iterdir() if path.suffix in ("", ".py")}
    assert parts - {"__init__", "__pycache__"} == set(LEVEL) - {""}


@pytest.mark.parametrize("path", modules(CORE), ids=lambda path: str(path.relative_to(CORE)))
def test_the_core_imports_downwards_and_no_plugin(path):
    relative = path.relative_to(CORE)
    own = relative.parts[0].removesuffix(".py") if relative.parts[0] != "__init__.py" else ""
    for line, module in imported(path):
        assert not module.startswith("camg_"), f"{relative}:{line} imports the plugin {module}"
        if module == "camg" or module.startswith("camg."):
            name = layer(module)
            assert LEVEL[name] <= LEVEL[own], f"{relative}:{line} imports camg.{name}, which stands above"


@pytest.mark.parametrize("path", modules(PLUGINS), ids=lambda path: str(path.relative_to(PLUGINS)))
def test_plugins_import_what_they_may_and_never_each_other(path):
    relative = path.relative_to(PLUGINS)
    own = relative.parts[0]
    for line, module in imported(path):
        package = module.split(".")[0]
        if package.startswith("camg_"):
            assert package == own, f"{relative}:{line} imports {package}"
        if package == "camg" and not module.startswith(("camg.workspace", "camg.learn")):
            allowed = ALLOWED | EXCEPTIONS.get(relative.as_posix(), set())
            assert module in allowed, f"{relative}:{line} imports {module}, which is not for plugins"


@pytest.mark.parametrize("path", sorted(PLUGINS.glob("*/__init__.py")), ids=lambda path: path.parent.name)
def test_a_plugin_begins_light(path):
    for line, module in imported(path, top=True):
        assert module.split(".")[0] not in HEAVY, f"{path.parent.name}/__init__.py:{line} imports {module}"


@pytest.mark.parametrize("name", ["episode/context.py", "learn/samples.py", "evaluate/statistics.py"])
def test_pure_modules_do_no_io_and_read_no_clock(name):
    tree = ast.parse((CORE / name).read_text(encoding="utf-8"))
    forbidden = {"os", "io", "pathlib", "time", "datetime", "subprocess", "socket", "shutil", "tempfile", "sys"}
    found = {module.split(".")[0] for _, module in imported(CORE / name)} & forbidden
    calls = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert found == set()
    assert calls & {"open", "print", "input"} == set()


def test_importing_the_command_line_and_every_plugin_imports_nothing_heavy():
    packages = [path.parent.name for path in PLUGINS.glob("*/__init__.py")]
    code = (
        f"import sys, importlib\n[importlib.import_module(name) for name in {packages!r}]\n"
        "import camg.cli.group, camg.plugins\ncamg.plugins.load_registry(strict=True)\n"
        f"print({HEAVY - {'numpy'}!r} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "set()", done.stderr


def test_the_core_names_plugins_in_one_place_only():
    """Components are named in ``config/resolve.py`` alone (help texts and comments may name any)."""
    from camg.plugins import KINDS, load_registry

    registry = load_registry(quiet=True)
    kinds = [kind for kind in KINDS if kind not in ("reporter", "baseline")]
    names = {name for kind in kinds for name in registry.names(kind)} - {"torch", "process", "none", "task", "whole"}
    for path in modules(CORE):
        if path.relative_to(CORE).as_posix() in ("config/resolve.py", "cli/completion.py"):
            continue  # the defaults; and the argument "shell", which is no memory
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and node.value in names:
                raise AssertionError(f"{path.relative_to(CORE)}:{node.lineno} hard-codes the name {node.value!r}")
