"""One repository at one commit, built for imported rows by the same steps as `camg tasks build coding --repo`."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from attrs import evolve

from camg_coding.build.boxes import Pool
from camg_coding.build.copies import find_copies, refuse_open
from camg_coding.build.packages import install
from camg_coding.build.profile import describe, sources
from camg_coding.build.sources import from_repository
from camg_coding.prepare import workspace
from camg_coding.records import Profile
from camg_coding.store import TaskSet, write_profile


def build_repository(
    out: Path, folder: Path, revision: str, repo: str, *, pool: Pool, say: Callable[[str], None]
) -> Profile:
    """Put ``revision`` of ``folder`` ("": its present state) into the set ``out``, named as ``repo`` ("owner/name").

    The suite is not run: the rows bring their lists, and are proven one by one. Raises :class:`DataError` with the
    reason why the repository cannot be built.
    """
    repos = out / "repos"
    repos.mkdir(parents=True, exist_ok=True)
    owner, _, name = repo.partition("/")
    with tempfile.TemporaryDirectory(prefix=".making-", dir=repos) as scratch:
        making = Path(scratch) / "repository"
        tree, packages = making / "tree", making / "packages"
        making.mkdir()
        source = evolve(from_repository(folder, revision, tree), owner=owner, repo=name)
        packages.mkdir()
        installed = install(tree, packages, source, say=say)
        profile = describe(tree, source, installed)
        # a box over the folder as it lies now: the set does not know it yet
        box = evolve(workspace(TaskSet(out, {}, {}), profile, tree), inputs={"/opt/packages": packages})
        copies = find_copies(tree, box, profile, sources(tree, profile), pool)
        refuse_open(copies, repo)
        profile = evolve(profile, hidden=copies.hidden)
        target = repos / profile.key
        if not target.exists():
            making.rename(target)
    write_profile(out, profile)
    return profile
