"""Where projects come from: git at a revision, plain folders, source distributions; and what is refused."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from camg.errors import DataError
from camg_coding.build.sources import Source, check_links, from_repository, from_sdist, named_by_metadata, unpack, unzip

BACKEND = '''\
"""A build backend without requirements."""
import pathlib, tarfile, zipfile

INFO = "tiny-1.0.dist-info"
METADATA = "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n"

def prepare_metadata_for_build_wheel(folder, config_settings=None):
    home = pathlib.Path(folder, INFO)
    home.mkdir()
    (home / "METADATA").write_text(METADATA)
    (home / "WHEEL").write_text("Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    return INFO

def build_wheel(folder, config_settings=None, metadata_directory=None):
    name = "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(folder, name), "w") as wheel:
        wheel.write("tiny.py")
        wheel.writestr(INFO + "/METADATA", METADATA)
        wheel.writestr(INFO + "/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(INFO + "/RECORD", "")
    return name
'''
PROJECT = {
    "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
    "backend.py": BACKEND,
    "tiny.py": "def one():\n    return 1\n",
    "test_tiny.py": "import tiny\n\n\ndef test_one():\n    assert tiny.one() == 1\n",
    "PKG-INFO": "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\nHome-page: https://github.com/Someone/Tiny.git\n",
}


def archive(files: dict[str, str], *, links: dict[str, str] | None = None) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
        for name, target in (links or {}).items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            tar.addfile(member)
    return buffer.getvalue()


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "code.py").write_text("x = 1\n")
    (folder / "tests").mkdir()
    (folder / "tests" / "test_code.py").write_text("def test():\n    pass\n")
    (folder / ".gitattributes").write_text("tests export-ignore\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    git(folder, "tag", "v2.5.0")
    git(folder, "remote", "add", "origin", "git@github.com:owner/name.git")
    (folder / "code.py").write_text("x = 2\n")
    git(folder, "commit", "-q", "-am", "second")
    return folder


def test_a_revision_comes_whole_and_without_history(repository, tmp_path):
    source = from_repository(repository, "v2.5.0", tmp_path / "tree")
    assert (tmp_path / "tree" / "code.py").read_text() == "x = 1\n"
    assert (tmp_path / "tree" / "tests" / "test_code.py").is_file()  # although releases are made without it
    assert not (tmp_path / "tree" / ".git").exists()
    assert source.commit == git(repository, "rev-parse", "v2.5.0")
    assert (source.owner, source.repo, source.version) == ("owner", "name", "2.5.0")
    assert source.key == f"owner__name.{source.commit[:8]}"
    assert source.origin == "https://github.com/owner/name"


def test_uncommitted_changes_stay_out_and_the_repository_is_left_alone(repository, tmp_path):
    (repository / "code.py").write_text("x = 3\n")
    from_repository(repository, "", tmp_path / "tree")
    assert (tmp_path / "tree" / "code.py").read_text() == "x = 2\n"
    assert git(repository, "status", "--porcelain") == "M code.py"


def test_a_folder_of_a_larger_repository_is_a_project(repository, tmp_path):
    from_repository(repository / "tests", "", tmp_path / "tree")
    assert [path.name for path in (tmp_path / "tree").iterdir()] == ["test_code.py"]


def test_an_unknown_revision_is_named(repository, tmp_path):
    with pytest.raises(DataError, match="revision nowhere of"):
        from_repository(repository, "nowhere", tmp_path / "tree")


def test_a_remote_that_is_a_path_of_this_machine_is_not_recorded(repository, tmp_path):
    git(repository, "remote", "set-url", "origin", str(tmp_path / "elsewhere.git"))
    source = from_repository(repository, "", tmp_path / "tree")
    assert (source.owner, source.origin) == ("local", "local/project")


def test_a_plain_folder_is_copied_without_caches_and_named_by_its_content(tmp_path):
    folder = tmp_path / "plain"
    (folder / "__pycache__").mkdir(parents=True)
    (folder / "__pycache__" / "a.pyc").write_text("")
    (folder / "a.py").write_text("x = 1\n")
    first = from_repository(folder, "", tmp_path / "one")
    assert [path.name for path in (tmp_path / "one").iterdir()] == ["a.py"]
    assert from_repository(folder, "", tmp_path / "two").commit == first.commit
    (folder / "a.py").write_text("x = 2\n")
    assert from_repository(folder, "", tmp_path / "three").commit != first.commit
    with pytest.raises(DataError, match="no revision main"):
        from_repository(folder, "main", tmp_path / "four")


def test_a_link_that_leads_out_is_refused(tmp_path):
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "inside").symlink_to("a.py")
    check_links(folder, "it")
    (folder / "out").symlink_to("/etc/passwd")
    with pytest.raises(DataError, match="the link out leads out"):
        from_repository(folder, "", tmp_path / "tree")


@pytest.mark.parametrize(
    ("files", "links"),
    [
        ({"p-1/../../evil.py": "x"}, {}),
        ({"p-1/a.py": "x"}, {"p-1/link": "/etc/passwd"}),
        ({"p-1/a.py": "x"}, {"p-1/link": "../../../etc/passwd"}),
    ],
)
def test_an_archive_that_reaches_out_is_refused(tmp_path, files, links):
    with pytest.raises(DataError):
        unpack(archive(files, links=links), tmp_path / "tree", "p-1.tar.gz", strip=1)
    assert not (tmp_path / "evil.py").exists()


def test_a_broken_archive_is_named(tmp_path):
    with pytest.raises(DataError, match=r"sound archive, got p-1\.tar\.gz"):
        unpack(b"\x1f\x8b\x08 nothing", tmp_path / "tree", "p-1.tar.gz", strip=1)


def test_a_zip_is_unpacked_and_checked(tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as zipped:
        zipped.writestr("p-1/pkg/a.py", "x = 1\n")
    unzip(buffer.getvalue(), tmp_path / "tree", "p-1.zip")
    assert (tmp_path / "tree" / "pkg" / "a.py").read_text() == "x = 1\n"
    with zipfile.ZipFile(buffer, "a") as zipped:
        zipped.writestr("p-1/../../evil.py", "x")
    with pytest.raises(DataError, match="leads out"):
        unzip(buffer.getvalue(), tmp_path / "again", "p-1.zip")


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """pip finds one source distribution, in a folder, and nothing else."""
    data = archive({f"tiny-1.0/{name}": text for name, text in PROJECT.items()})
    (tmp_path / "index").mkdir()
    (tmp_path / "index" / "tiny-1.0.tar.gz").write_bytes(data)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return data


def test_a_source_distribution_comes_with_its_digest(index, tmp_path):
    digest = hashlib.sha256(index).hexdigest()
    source = from_sdist("tiny==1.0", tmp_path / "tree", sha256=digest)
    assert (source.kind, source.sha256, source.origin) == ("sdist", digest, "tiny==1.0")
    assert source.key == "Someone__Tiny.1.0"
    assert (tmp_path / "tree" / "tiny.py").read_text() == PROJECT["tiny.py"]


def test_another_file_than_the_pinned_one_is_refused(index, tmp_path):
    with pytest.raises(DataError, match="not the pinned file"):
        from_sdist("tiny==1.0", tmp_path / "tree", sha256="0" * 64)
    assert not (tmp_path / "tree").exists()


def test_a_version_must_be_named(tmp_path):
    with pytest.raises(DataError, match="Expected NAME==VERSION, got 'tiny'"):
        from_sdist("tiny", tmp_path / "tree")
    with pytest.raises(DataError, match="Expected NAME==VERSION"):
        from_sdist("tiny==1.0 --index-url=http://evil", tmp_path / "tree")


def test_a_distribution_without_addresses_is_the_index_s(tmp_path):
    (tmp_path / "PKG-INFO").write_text(
        "Name: a\nProject-URL: Funding, https://github.com/sponsors/me\n\nhttps://github.com/x/y"
    )
    plain = Source(kind="sdist", owner="pypi", repo="a", commit="1", origin="a==1")
    assert named_by_metadata(plain, tmp_path) == plain
