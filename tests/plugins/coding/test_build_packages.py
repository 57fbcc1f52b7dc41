"""What lies beside a project: distributions without its own code, and clean copies that a box would show."""

from __future__ import annotations

import email
import importlib.metadata
import json
import os
import subprocess
import sys
from email.message import Message
from pathlib import Path

import pytest

from camg.errors import DataError, Interrupted
from camg.types import Workspace
from camg_coding.build import packages as beside
from camg_coding.build import profile as layout
from camg_coding.build.boxes import Pool
from camg_coding.build.copies import Copies, find_copies, refuse_open
from camg_coding.build.licences import licence
from camg_coding.build.packages import closure, copy_distributions, install, installed_in
from camg_coding.build.profile import describe, import_names, is_test, sources
from camg_coding.build.sources import Source
from camg_coding.config import PACKAGES
from camg_coding.records import Profile

WHEEL = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
BACKEND = f"""\
import pathlib, zipfile

METADATA = "Metadata-Version: 2.1\\nName: proj\\nVersion: 1.0\\nLicense-Expression: MIT\\n"

def build_wheel(folder, config_settings=None, metadata_directory=None):
    with zipfile.ZipFile(pathlib.Path(folder, "proj-1.0-py3-none-any.whl"), "w") as wheel:
        for path in pathlib.Path("src").rglob("*"):
            if path.is_file():
                wheel.write(path, path.relative_to("src"))
        wheel.writestr("proj/_version.py", "version = '1.0'\\n")
        wheel.writestr("proj-1.0.dist-info/METADATA", METADATA)
        wheel.writestr("proj-1.0.dist-info/WHEEL", {WHEEL!r})
        wheel.writestr("proj-1.0.dist-info/RECORD", "".join(f"{{name}},,\\n" for name in wheel.namelist()))
    return "proj-1.0-py3-none-any.whl"
"""
SOURCE = Source(kind="git", owner="me", repo="proj", commit="0" * 40, origin="me/proj")


def write(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    toml = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    return write(
        tmp_path / "tree",
        {
            "pyproject.toml": toml,
            "backend.py": BACKEND,
            "src/proj/__init__.py": "from proj._version import version\n",
            "src/proj/core.py": "def f():\n    return 1\n",
            "tests/test_core.py": "from proj.core import f\n\n\ndef test_f():\n    assert f() == 1\n",
        },
    )


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pip finds pytest and what it needs in a folder: wheels made of what is installed here."""
    import zipfile

    wheels = tmp_path / "wheels"
    wheels.mkdir()
    for name in closure(["pytest"]):
        distribution = importlib.metadata.distribution(name)
        stem = f"{name.replace('-', '_')}-{distribution.version}"
        with zipfile.ZipFile(wheels / f"{stem}-py3-none-any.whl", "w") as wheel:
            for path in distribution.files or ():
                if ".." not in path.parts and "__pycache__" not in path.parts and path.name != "RECORD":
                    wheel.write(str(distribution.locate_file(path)), str(path))
            home = next(str(path.parent) for path in distribution.files or () if path.name == "METADATA")
            wheel.writestr(f"{home}/RECORD", "".join(f"{item},,\n" for item in wheel.namelist()))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)


def test_everything_is_installed_but_the_project_s_own_code(project, tmp_path, offline):
    packages = tmp_path / "packages"
    packages.mkdir()
    installed = install(project, packages, SOURCE)
    assert not (packages / "proj").exists()
    assert (packages / "pytest").is_dir()
    assert not (packages / "bin").exists()
    assert not list(packages.rglob("__pycache__"))
    assert not list(packages.rglob("direct_url.json"))
    assert (project / "src/proj/_version.py").read_text() == "version = '1.0'\n"  # the build made it
    assert installed.name == "proj"
    assert any(pinned.startswith("pytest==") for pinned in installed.requirements)
    assert not any(pinned.startswith("proj==") for pinned in installed.requirements)
    code = "import importlib.metadata, proj; print(importlib.metadata.version('proj'), proj.version, proj.__file__)"
    variables = {"PYTHONPATH": f"{project / 'src'}:{packages}", "PATH": os.environ["PATH"]}
    said = subprocess.run([sys.executable, "-S", "-c", code], env=variables, capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["1.0", "1.0", str(project / "src/proj/__init__.py")]
    profile = describe(project, SOURCE, installed)
    assert (profile.roots, profile.packages, profile.tests) == (("src",), ("proj",), ("tests",))
    assert profile.licence == "MIT"
    assert sources(project, profile) == ("src/proj/__init__.py", "src/proj/_version.py", "src/proj/core.py")


def test_compiled_extensions_are_refused_with_the_reason(project, tmp_path, offline):
    (project / "src/proj/fast.so").write_bytes(b"\x7fELF")
    with pytest.raises(DataError, match=r"compiled extensions \(proj/fast\.so\)"):
        install(project, tmp_path / "packages", SOURCE)


def test_what_pytest_is_made_of_is_refused(project, tmp_path, offline):
    backend = project / "backend.py"
    backend.write_text(backend.read_text().replace("Name: proj", "Name: pluggy").replace("proj-1.0", "pluggy-1.0"))
    with pytest.raises(DataError, match="pytest itself needs pluggy"):
        install(project, tmp_path / "packages", SOURCE)


def test_a_requirement_that_cannot_be_had_is_named(project, tmp_path, offline):
    with pytest.raises(DataError, match=r"installing what me/proj needs: .*no-such-thing"):
        install(project, tmp_path / "packages", SOURCE, test_requirements=["no-such-thing"])


def test_copied_distributions_work_alone(tmp_path):
    pinned = copy_distributions(["pytest"], tmp_path / "packages")
    assert pinned == installed_in(tmp_path / "packages")
    code = "import pytest; print(pytest.__version__)"
    variables = {"PYTHONPATH": str(tmp_path / "packages")}
    said = subprocess.run([sys.executable, "-S", "-c", code], env=variables, capture_output=True, text=True, check=True)
    assert f"pytest=={said.stdout.strip()}" in pinned
    with pytest.raises(DataError, match="Expected no-such-thing to be installed"):
        copy_distributions(["no-such-thing"], tmp_path / "other")


def metadata(text: str) -> Message:
    return email.message_from_string(text)


def test_test_requirements_come_from_extras_without_linters(tmp_path):
    told = metadata(
        "Provides-Extra: docs\nProvides-Extra: Test\nRequires-Dist: base\n"
        "Requires-Dist: hypothesis>=6; extra == 'Test'\nRequires-Dist: mypy; extra == 'Test'\n"
        "Requires-Dist: old; python_version < '3' and extra == 'Test'\nRequires-Dist: sphinx; extra == 'docs'\n"
    )
    assert beside.test_extras(tmp_path, told) == ["hypothesis>=6"]


def test_test_requirements_come_from_dependency_groups(tmp_path):
    more = 'more = ["b", "ruff", {include-group = "tests"}]\n'
    groups = '[dependency-groups]\ntests = ["a>=1", {include-group = "more"}]\n' + more
    (tmp_path / "pyproject.toml").write_text(groups)
    assert beside.test_extras(tmp_path, Message()) == ["a>=1", "b"]


@pytest.mark.parametrize(
    ("files", "tests"),
    [
        ({"pytest.ini": "[pytest]\ntestpaths = checks\n", "checks/test_a.py": "", "tests/test_b.py": ""}, ("checks",)),
        ({"pyproject.toml": "[tool.pytest.ini_options]\ntestpaths = ['a', 'b']", "a/test_a.py": ""}, ("a",)),
        ({"test/test_a.py": ""}, ("test",)),
        ({"pkg/__init__.py": "", "pkg/tests/test_a.py": ""}, ("pkg/tests",)),
        ({"test_a.py": "", "sub/b_test.py": "", "conftest.py": ""}, ("sub/b_test.py", "test_a.py")),
        ({"tests/data.json": "{}", "test_a.py": ""}, ("test_a.py",)),
    ],
)
def test_tests_are_where_pytest_would_look_or_in_the_usual_places(tmp_path, files, tests):
    write(tmp_path, files)
    assert layout.test_paths(tmp_path, {"pkg": "."}) == tests


def test_import_names_and_their_roots(tmp_path):
    write(tmp_path, {"lib/a/__init__.py": "", "b.py": "", "lib/a/c.py": ""})
    assert import_names(tmp_path, ["a/__init__.py", "a/c.py", "b.py", "gone.py"]) == {"a": "lib", "b": "."}
    write(tmp_path / "plain", {"setup.py": "", "mod.py": "", "tests/__init__.py": "", "pkg/__init__.py": ""})
    assert import_names(tmp_path / "plain", ()) == {"mod": ".", "pkg": "."}
    write(tmp_path / "srcs", {"src/pkg/__init__.py": "", "other.py": ""})
    assert import_names(tmp_path / "srcs", ()) == {"pkg": "src"}


def test_test_files_are_told_from_sources():
    for path in ("tests/helper.py", "test_a.py", "pkg/a_test.py", "pkg/conftest.py"):
        assert is_test(path, ("tests",))
    for path in ("pkg/testing_tools.py", "pkg/contest.py", "tests_of/a.py"):
        assert not is_test(path, ("tests",))


def test_a_source_that_the_tree_holds_twice_is_left_alone(tmp_path):
    long = "x = 1\n" * 60
    write(tmp_path, {"pkg/a.py": long, "pkg/b.py": "y = 2\n" * 60, "examples/copy_of_a.py": long})
    profile = Profile(key="k", owner="o", repo="r", commit="c", source="git", packages=("pkg",))
    assert sources(tmp_path, profile) == ("pkg/b.py",)


@pytest.mark.parametrize(
    ("headers", "text", "expected"),
    [
        ("License-Expression: MIT OR Apache-2.0\n", "", "MIT OR Apache-2.0"),
        ("License: BSD\n", "", "BSD"),
        ("License: BSD\n", "Permission is hereby granted, free\nof charge, to", "MIT"),
        ("Classifier: License :: OSI Approved :: ISC License\n", "", "ISC License"),
        ("Name: a\n", "nothing", ""),
    ],
)
def test_the_licence_is_the_stated_one(tmp_path, headers, text, expected):
    if text:
        (tmp_path / "LICENSE.txt").write_text(text)
    assert licence(metadata(headers), tmp_path) == expected


def test_clean_copies_in_a_box_are_found_and_hidden(tmp_path, packages, sandbox):
    """A module of the box's own Python stands for a project that the system holds a copy of."""
    text = Path(json.decoder.__file__).read_bytes()
    (tmp_path / "copied.py").write_bytes(text)
    (tmp_path / "new.py").write_text("x = 1\n" * 100)
    profile = Profile(key="k", owner="o", repo="r", commit="c", source="git", packages=("copied", "new"))
    start = Workspace(inputs={PACKAGES: packages})
    found = find_copies(tmp_path, start, profile, ["copied.py", "new.py"], Pool(sandbox, 1))
    assert found.open == ()
    assert any(path.endswith("json/decoder.py") for path in found.hidden)
    with Pool(sandbox, 1).opened(Workspace(hidden=found.hidden)) as box:
        assert b"JSONDecoder" not in box.run(f"cat {' '.join(found.hidden)}").output


def test_a_copy_that_cannot_be_hidden_is_a_refusal(tmp_path, packages, sandbox):
    profile = Profile(key="k", owner="o", repo="r", commit="c", source="git", packages=("pluggy",))
    found = find_copies(tmp_path, Workspace(inputs={PACKAGES: packages}), profile, [], Pool(sandbox, 1))
    assert found.open == ()  # below /opt/packages pytest needs it: only sources count there
    (tmp_path / "pluggy").mkdir()
    (tmp_path / "pluggy/a.py").write_bytes((packages / "pluggy/_hooks.py").read_bytes())
    found = find_copies(tmp_path, Workspace(inputs={PACKAGES: packages}), profile, ["pluggy/a.py"], Pool(sandbox, 1))
    assert found.open == ("/opt/packages/pluggy",)
    with pytest.raises(DataError, match="show a clean copy of it in /opt/packages/pluggy"):
        refuse_open(found, "it")
    refuse_open(Copies(("/usr/x",), ()), "it")


def test_plugins_that_tests_need_are_named_and_meddling_ones_are_not(tmp_path):
    entries = "[pytest11]\npytest_mock = pytest_mock\nxdist = xdist.plugin\n\n[console_scripts]\nx = y:z\n"
    info = {"METADATA": "Metadata-Version: 2.1\nName: some\nVersion: 1\n", "entry_points.txt": entries}
    write(tmp_path, {f"some-1.dist-info/{name}": text for name, text in info.items()})
    assert beside.pytest_plugins(tmp_path) == ("pytest_mock",)
    write(tmp_path / "tree", {"pkg/__init__.py": "", "tests/test_a.py": ""})
    profile = describe(tmp_path / "tree", SOURCE, beside.Installed(plugins=("pytest_mock",)))
    assert profile.arguments == ("-p", "pytest_mock")


def test_a_stopped_pool_gives_no_boxes(sandbox):
    pool = Pool(sandbox, 1)
    with pool.opened(Workspace()) as box:
        assert box.run("true").exit_status == 0
    pool.stop()
    with pytest.raises(Interrupted, match="was stopped"), pool.opened(Workspace()):
        pass
