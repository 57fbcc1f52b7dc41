"""Where a project comes from: a git repository at a revision, a plain folder, or a source distribution."""

from __future__ import annotations

import hashlib
import io
import os
import re
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from attrs import evolve, frozen

from camg.errors import DataError
from camg_coding.build.tools import pip, run

_SKIPPED = (".git", ".hg", ".svn", ".venv", "venv", ".tox", ".nox", "node_modules", "__pycache__", ".*_cache")
_LEFTOVERS = ("*.pyc", "*.pyo", "*.egg-info", ".agent_memory")
_TREE_BYTES = 512 << 20


@frozen(kw_only=True)
class Source:
    """A fetched project: what :class:`camg_coding.records.Profile` records of its origin."""

    kind: str  # "git", "sdist" or "embedded"
    owner: str
    repo: str
    commit: str  # of git; a digest of the content of a plain folder; the version of a source distribution
    origin: str
    version: str = ""  # for builds that ask their version control
    sha256: str = ""

    @property
    def key(self) -> str:
        """``owner__repo.commit8``; a version is kept whole."""
        commit = self.commit if self.kind == "sdist" else self.commit[:8]
        return f"{_name(self.owner)}__{_name(self.repo)}.{_name(commit)}"


def from_repository(folder: Path, revision: str, tree: Path) -> Source:
    """Put ``revision`` of the repository that holds ``folder`` into ``tree``; a folder without git is copied.

    Raises :class:`DataError`.
    """
    folder = folder.expanduser().resolve()
    if not folder.is_dir():
        raise DataError(f"Expected a project's folder, got {folder}.")
    git = ["git", "-c", "safe.directory=*", "-C", str(folder)]
    try:
        prefix = run([*git, "rev-parse", "--show-prefix"], "git").decode().strip()
        tracked = bool(run([*git, "ls-files", "--cached", "--", "."], "git").strip())
    except DataError:
        tracked = False
    if not tracked:
        if revision:
            raise DataError(f"{folder} is not in a git repository, so it has no revision {revision}.")
        return _copied(folder, tree)
    where = f"revision {revision or 'HEAD'} of {folder}"
    top = run([*git, "rev-parse", "--show-toplevel"], where).decode().rstrip("\n")
    commit = run([*git, "rev-parse", "--verify", f"{revision or 'HEAD'}^{{commit}}"], where).decode().strip()
    with tempfile.TemporaryDirectory(dir=tree.parent) as scratch:
        bare = Path(scratch) / "bare"  # a clone of our own, whose attributes overrule the project's export-ignore
        run(["git", "-c", "safe.directory=*", "clone", "-q", "--bare", "--shared", top, str(bare)], where)
        (bare / "info").mkdir(exist_ok=True)
        (bare / "info" / "attributes").write_text("* -export-ignore -export-subst\n")
        archive = ["git", "-C", str(bare), "archive", "--format=tar", f"{commit}:{prefix}" if prefix else commit]
        unpack(run(archive, where), tree, where, strip=0)
        version = _described(bare, commit)
    owner, repo, origin = _remote(git, folder)
    return Source(kind="git", owner=owner, repo=repo, commit=commit, origin=origin, version=version)


def dirty(folder: Path) -> bool:
    """Whether a work tree has changes that no commit holds."""
    try:
        status = ["git", "-c", "safe.directory=*", "-C", str(folder), "status", "--porcelain", "--", "."]
        return bool(run(status, "git status").strip())
    except DataError:
        return False


def from_sdist(requirement: str, tree: Path, *, sha256: str = "") -> Source:
    """Download ``NAME==VERSION`` with pip and unpack it into ``tree``. Raises :class:`DataError`.

    ``sha256``: what the file's digest must be; else the digest found is recorded.
    """
    found = re.fullmatch(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*==\s*([A-Za-z0-9][A-Za-z0-9._+!-]*)\s*", requirement)
    if not found:
        raise DataError(f"Expected NAME==VERSION, got {requirement!r}.", hint="For example --sdist sqlparse==0.6.1.")
    name, version = found.groups()
    with tempfile.TemporaryDirectory(dir=tree.parent) as scratch:
        # only this one from source: what its build needs may be installed from wheels
        arguments = ["download", "-q", "--no-deps", "--no-binary", name, "-d", scratch, f"{name}=={version}"]
        pip(arguments, f"the source distribution of {name}=={version}")
        files = [
            path for path in Path(scratch).iterdir() if path.name.endswith((".tar.gz", ".zip", ".tgz", ".tar.bz2"))
        ]
        if len(files) != 1:
            raise DataError(f"Expected one source distribution of {name}=={version}, got {len(files)}.")
        data = files[0].read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        if sha256 and digest != sha256.lower():
            raise DataError(f"Expected {files[0].name} with sha256 {sha256}, got {digest}: it is not the pinned file.")
        if files[0].name.endswith(".zip"):
            unzip(data, tree, files[0].name)
        else:
            unpack(data, tree, files[0].name, strip=1)
    source = Source(kind="sdist", owner="pypi", repo=name, commit=version, origin=f"{name}=={version}", version=version)
    return evolve(named_by_metadata(source, tree), sha256=digest)


def named_by_metadata(source: Source, tree: Path) -> Source:
    """With the owner and repository that the distribution's own addresses name, where one lies on a code host."""
    info = tree / "PKG-INFO"
    if not info.is_file():
        return source
    head = info.read_text(encoding="utf-8", errors="replace").partition("\n\n")[0]
    pattern = r"^(?:Project-URL|Home-page|Download-URL):.*?https?://(?:www\.)?(?:github|gitlab|codeberg)\.\w+/([\w.-]+)/([\w.-]+)"
    for owner, repo in re.findall(pattern, head, re.MULTILINE):
        if owner.lower() not in ("sponsors", "users", "orgs"):
            return evolve(source, owner=owner, repo=repo.removesuffix(".git"))
    return source


def unpack(data: bytes, tree: Path, what: str, *, strip: int) -> None:
    """Extract a tar archive without its first ``strip`` folders. Raises :class:`DataError` for a path or link that
    leads out, for devices, and for more than 512 MiB.
    """
    tree.mkdir(parents=True)
    try:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            members, total = [], 0
            for member in archive:
                parts = PurePosixPath(member.name).parts[strip:]
                if not parts or member.type in (tarfile.XGLTYPE, tarfile.XHDTYPE):
                    continue
                total += member.size
                if total > _TREE_BYTES:
                    raise DataError(f"{what} holds more than {_TREE_BYTES >> 20} MiB.")
                member.name = str(PurePosixPath(*parts))
                if member.islnk() and strip:
                    member.linkname = str(PurePosixPath(*PurePosixPath(member.linkname).parts[strip:]))
                members.append(member)
            archive.extractall(tree, members=members, filter="data")
    except (tarfile.TarError, OSError, EOFError) as error:
        raise DataError(f"Expected a sound archive, got {what}: {error}") from error
    check_links(tree, what)


def unzip(data: bytes, tree: Path, what: str) -> None:
    """Extract a zip archive without its first folder. Raises :class:`DataError`."""
    tree.mkdir(parents=True)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(member.file_size for member in archive.infolist()) > _TREE_BYTES:
                raise DataError(f"{what} holds more than {_TREE_BYTES >> 20} MiB.")
            for member in archive.infolist():
                parts = PurePosixPath(member.filename).parts
                if ".." in parts or member.filename.startswith("/"):
                    raise DataError(f"{what} holds the path {member.filename!r}, which leads out of it.")
                if member.is_dir() or len(parts) < 2:
                    continue
                target = tree.joinpath(*parts[1:])
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.read(member))
    except (zipfile.BadZipFile, OSError, EOFError) as error:
        raise DataError(f"Expected a sound archive, got {what}: {error}") from error


def check_links(tree: Path, what: str) -> None:
    """Raises :class:`DataError` for a link that leads out of the tree."""
    root = tree.resolve()
    for folder, folders, names in os.walk(tree):
        for name in (*folders, *names):
            path = Path(folder, name)
            if path.is_symlink() and not path.resolve().is_relative_to(root):
                raise DataError(f"{what}: the link {path.relative_to(tree)} leads out of the project.")


def content_digest(tree: Path) -> str:
    """40 hexadecimal digits over the paths and contents of a tree."""
    state = hashlib.sha256()
    for path in sorted(path for path in tree.rglob("*") if path.is_file()):
        data = path.read_bytes()
        state.update(f"{path.relative_to(tree)}\0{len(data)}\0".encode("utf-8", "surrogateescape") + data)
    return state.hexdigest()[:40]


def copy_tree(folder: Path, tree: Path) -> None:
    """Copy a plain folder without caches and version control. Raises :class:`DataError`."""
    try:
        shutil.copytree(folder, tree, symlinks=True, ignore=shutil.ignore_patterns(*_SKIPPED, *_LEFTOVERS))
    except (OSError, shutil.Error) as error:
        raise DataError(f"Could not copy {folder}: {error}") from error
    check_links(tree, str(folder))


def _copied(folder: Path, tree: Path) -> Source:
    copy_tree(folder, tree)
    name = _name(folder.name)
    return Source(kind="git", owner="local", repo=name, commit=content_digest(tree), origin=f"local/{name}")


def _remote(git: list[str], folder: Path) -> tuple[str, str, str]:
    """Owner, name and public address by the remote ``origin``; ``local`` and the folder's name where there is none."""
    try:
        address = run([*git, "config", "--get", "remote.origin.url"], "git").decode().strip()
    except DataError:
        address = ""
    found = re.fullmatch(
        r"(?:https?://|ssh://|git://)?(?:[^/@]*@)?([\w.-]+)(?::\d+)?[:/](.+/)?([^/]+)/([^/]+?)(\.git)?/?", address
    )
    if not found or "." not in found[1]:  # a path of this machine is no address
        return "local", _name(folder.name), f"local/{_name(folder.name)}"
    return found[3], found[4], f"https://{found[1]}/{found[2] or ''}{found[3]}/{found[4]}"


def _described(bare: Path, commit: str) -> str:
    """The version that the nearest tag names; empty without one."""
    try:
        text = run(["git", "-C", str(bare), "describe", "--tags", "--abbrev=0", commit], "git describe").decode()
    except DataError:
        return ""
    found = re.search(r"\d+(?:\.\d+)*(?:(?:a|b|rc)\d+)?", text)
    return found[0] if found else ""


def _name(text: str) -> str:
    """With nothing but what file names and instance ids bear; ``__`` separates owner and repository there."""
    return re.sub(r"_{2,}", "_", re.sub(r"[^A-Za-z0-9._-]", "_", text)).strip("._-") or "project"


def variables(source: Source) -> Mapping[str, str]:
    """For builds that ask version control for their version, which a tree without history cannot tell."""
    version = source.version or "0.0.0"
    return {"SETUPTOOLS_SCM_PRETEND_VERSION": version, "PBR_VERSION": version, "PDM_BUILD_SCM_VERSION": version}
