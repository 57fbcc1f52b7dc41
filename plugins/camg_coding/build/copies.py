"""Clean copies of a project in the box's own system: whoever repairs it must not find the answer there.

A copy is a file with the content of one of the project's sources, or one installed under its import name (another
version gives a bug away, too): in dist-packages, vendored in pip, in a wheel or another archive.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from attrs import frozen

from camg.errors import DataError, InfrastructureFault
from camg.protocols import Box
from camg.types import Workspace
from camg_coding.build.boxes import Pool
from camg_coding.records import Profile

LEAST = 200  # bytes: smaller files say little, and are the same in many projects
_HIDDEN_BELOW = ("/usr/", "/opt/python/")
_SECONDS = 300.0

_SCAN = r"""
import hashlib, json, os, sys, tarfile, zipfile
asked = json.load(open("asked.json"))
digests, sizes, names = set(asked["digests"]), set(asked["sizes"]), set(asked["names"])
SKIP = {"/proc", "/sys", "/dev", "/workspace", "/tmp", "/run"}
HOMES = {"dist-packages", "site-packages", "_vendor", "vendor", "_vendored", "vendored"}
ARCHIVES = (".whl", ".zip", ".egg", ".pyz", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar")
found = []

def members(path):
    if path.endswith((".whl", ".zip", ".egg", ".pyz")):
        with zipfile.ZipFile(path) as archive:
            for item in archive.infolist():
                yield item.filename, item.file_size, lambda item=item: archive.read(item)
    else:
        with tarfile.open(path) as archive:
            for item in archive:
                if item.isfile():
                    yield item.name, item.size, lambda item=item: archive.extractfile(item).read()

def named(parts):
    for home, name in zip(("site-packages", *parts), parts):
        if (home in HOMES) and (name in names or name.split(".")[0] in names and name.endswith((".py", ".pyc"))):
            return True
    return False

for folder, folders, files in os.walk("/"):
    if folder in SKIP:
        folders.clear()
        continue
    if os.path.basename(folder) in HOMES:
        for name in list(folders):
            if name in names:
                found.append(["folder", folder + "/" + name])
                folders.remove(name)
    for name in files:
        path = folder + "/" + name
        try:
            stat = os.lstat(path)
            if not stat.st_mode & 0o100000 == 0o100000 or os.path.islink(path):
                continue
            stem = name.split(".")[0]
            if os.path.basename(folder) in HOMES and stem in names and name.endswith((".py", ".pyc", ".so", ".pth")):
                found.append(["file", path])
            elif stat.st_size in sizes and hashlib.sha256(open(path, "rb").read()).hexdigest() in digests:
                found.append(["file", path])
            elif os.path.basename(folder) == "__pycache__" and stem in names:
                if os.path.basename(os.path.dirname(folder)) in HOMES:
                    found.append(["file", path])
            elif name.endswith(ARCHIVES) and stat.st_size < 256 << 20:
                for member, size, read in members(path):
                    if named(member.split("/")) or size in sizes and hashlib.sha256(read()).hexdigest() in digests:
                        found.append(["archive", path])
                        break
        except Exception:
            continue
print(json.dumps(found))
"""


@frozen
class Copies:
    """``hidden``: what to cover in every box; ``open``: copies that cannot be covered."""

    hidden: tuple[str, ...]
    open: tuple[str, ...]


def find_copies(tree: Path, workspace: Workspace, profile: Profile, sources: Iterable[str], pool: Pool) -> Copies:
    """Look through a real box. Raises :class:`InfrastructureFault` if the search itself fails."""
    contents = [data for path in sources if len(data := (tree / path).read_bytes()) > LEAST]
    asked = {
        "digests": sorted(hashlib.sha256(data).hexdigest() for data in contents),
        "sizes": sorted({len(data) for data in contents}),
        "names": sorted(profile.packages),
    }
    with pool.opened(Workspace(inputs=workspace.inputs), wall_seconds=_SECONDS) as box:
        found = _searched(box, asked)
    paths = tuple(sorted({_cover(kind, path, profile.packages) for kind, path in found}))
    return Copies(
        hidden=tuple(path for path in paths if path.startswith(_HIDDEN_BELOW)),
        open=tuple(path for path in paths if not path.startswith(_HIDDEN_BELOW)),
    )


def _searched(box: Box, asked: Mapping[str, object]) -> Sequence[tuple[str, str]]:
    box.write("asked.json", json.dumps(asked).encode())
    box.write("scan.py", _SCAN.encode())
    result = box.run("python -I -S scan.py", wall_seconds=_SECONDS)
    try:
        return [(kind, path) for kind, path in json.loads(result.output)]
    except ValueError as error:
        words = result.output.decode("utf-8", "replace")[-300:]
        raise InfrastructureFault(f"the search for copies of the project failed: {words}") from error


def _cover(kind: str, path: str, names: Sequence[str]) -> str:
    """The path to cover: the whole folder of the package where the copy lies in one of its name, else the file."""
    if kind != "file":
        return path
    parts = PurePosixPath(path).parts
    for index, part in enumerate(parts[:-1]):
        if part in names:
            return str(PurePosixPath(*parts[: index + 1]))
    return path


def refuse_open(copies: Copies, what: str) -> None:
    """Raises :class:`DataError` if a copy stays in sight."""
    if copies.open:
        raise DataError(f"{what}: every box would show a clean copy of it in {copies.open[0]}, which cannot be hidden")
