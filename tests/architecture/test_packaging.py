"""The package: what pyproject.toml, constraints.txt, Makefile and the built wheel promise one another."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def pins() -> list[Requirement]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


def requirements(*extras: str) -> list[Requirement]:
    lists = [PROJECT["dependencies"], *(PROJECT["optional-dependencies"][extra] for extra in extras)]
    return [Requirement(text) for lines in lists for text in lines]


def test_every_pin_is_exact_and_unique() -> None:
    names = [(pin.name.lower(), str(pin.marker)) for pin in pins()]
    assert len(names) == len(set(names))
    for pin in pins():
        assert re.fullmatch(r"==[^*,+]+", str(pin.specifier)), f"{pin} is not an exact pin without local version"


@pytest.mark.parametrize("requirement", requirements("dev", "smollm2"), ids=str)
def test_every_requirement_is_pinned_within_its_range(requirement: Requirement) -> None:
    pin = next((pin for pin in pins() if pin.name.lower() == requirement.name.lower()), None)
    assert pin is not None, f"{requirement.name} has no pin in constraints.txt"
    version = str(pin.specifier).removeprefix("==")
    assert Version(version) in requirement.specifier


def test_the_closure_of_what_is_installed_is_pinned() -> None:
    """No package comes in unpinned by way of another one."""
    pinned = {re.sub(r"[-_.]+", "-", pin.name).lower() for pin in pins()}
    todo = [(requirement.name, "") for requirement in requirements("dev")]
    seen: set[str] = set()
    missing: set[str] = set()
    while todo:
        name = re.sub(r"[-_.]+", "-", todo.pop()[0]).lower()
        if name in seen or name.startswith(("nvidia-", "triton", "cuda-")):  # of torch's CUDA build: pinned by torch
            continue
        seen.add(name)
        if name not in pinned:
            missing.add(name)
        try:
            needs = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        parsed = (Requirement(text) for text in needs)
        todo += [(need.name, "") for need in parsed if need.marker is None or need.marker.evaluate({"extra": ""})]
    assert not missing


def test_the_readme_commands_are_make_targets() -> None:
    readme, makefile = (ROOT / "README.md").read_text(), (ROOT / "Makefile").read_text()
    for target in ("run", "test"):
        assert re.search(rf"^make {target}$", readme, re.MULTILINE)
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
    shown = subprocess.run(["make", "-n", "run", "test"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "camg run --env shop --memory shell --estimator response-gae" in shown
    assert "-c constraints.txt" in shown or (ROOT / ".venv/.installed-dev").exists()


def test_checks_call_the_readme_command() -> None:
    script = (ROOT / ".ci/run").read_text()
    assert "make test" in script
    subprocess.run(["bash", "-n", str(ROOT / ".ci/run")], check=True)
    assert (ROOT / ".ci/run").stat().st_mode & 0o111


def test_licence_is_the_whole_apache_text() -> None:
    text = (ROOT / "LICENSE").read_text()
    assert PROJECT["license"] == "Apache-2.0"
    assert "Version 2.0, January 2004" in text
    assert "9. Accepting Warranty or Additional Liability" in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_every_fragment_has_a_known_kind() -> None:
    kinds = {
        kind["directory"] for kind in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]["type"]
    }
    for path in (ROOT / "changelog.d").glob("*.md"):
        if path.name == "README.md":
            continue
        assert path.name.split(".")[-2] in kinds, path.name
        assert path.read_text().strip()


def test_changelog_builds(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "9.9.9", "--date", "2000-01-02"]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr
    assert "## 9.9.9 (2000-01-02)" in shown.stdout
    assert "\n- " in shown.stdout or "No changes" in shown.stdout


def test_wheel_holds_both_roots_and_all_data(tmp_path: Path) -> None:
    """Every tracked file below src and plugins is in the wheel, and nothing else (metadata apart)."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    wheel = next(tmp_path.glob("*.whl"))
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    tracked = subprocess.run(["git", "ls-files", "src", "plugins"], cwd=ROOT, capture_output=True, text=True)
    if tracked.returncode:
        pytest.skip("not a git checkout")
    expected = {name.partition("/")[2] for name in tracked.stdout.split() if (ROOT / name).exists()}
    assert expected <= packed
    assert {"camg/py.typed", "camg_shop/__init__.py"} <= packed
    assert wheel.stat().st_size < 8 << 20
    text = "\n".join(name for name in sorted(packed) if not name.startswith("camg_coding/packages/"))
    assert "test_" not in text, "only the embedded projects bring tests"
    assert "__pycache__" not in text
