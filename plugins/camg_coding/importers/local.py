"""One repository at one commit, made ready for imported rows as `camg tasks build coding --repo` makes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from attrs import evolve, frozen

from camg_coding.build.boxes import Pool
from camg_coding.build.packages import Installed, install
from camg_coding.build.repository import Options, Origin, make_ready
from camg_coding.build.sources import Source, from_repository
from camg_coding.records import Profile

Say = Callable[[str], None]
Install = Callable[[Path, Path, Source, Sequence[str], Say], Installed]
"""(tree, packages, source, test requirements, say): fills ``packages``. Raises :class:`DataError`."""


def with_pip(tree: Path, packages: Path, source: Source, requirements: Sequence[str], say: Say) -> Installed:
    """What the project and its tests need, from the package index."""
    return install(tree, packages, source, test_requirements=requirements, say=say)


@frozen(kw_only=True)
class Recipe:
    """How the repositories of an import are built."""

    test_requirements: tuple[str, ...] = ()  # beside what a project names itself
    timeout: float = 90.0  # seconds of one run of a suite
    jobs: int = 1
    install: Install = with_pip


def build_repository(
    out: Path, folder: Path, revision: str, repo: str, recipe: Recipe, pool: Pool, say: Say
) -> Profile:
    """Put ``revision`` of ``folder`` ("": its present state) into the set ``out``, named as ``repo`` ("owner/name").

    Raises :class:`DataError` with the reason why it cannot be built, :class:`InfrastructureFault` without boxes.
    """
    owner, _, name = repo.partition("/")
    origin = Origin(
        label=f"{repo} {revision[:8]}".rstrip(),
        identity=f"rows {repo} {revision} {folder.resolve()} {recipe.test_requirements}",
        fetch=lambda tree: evolve(from_repository(folder, revision, tree), owner=owner, repo=name),
        test_requirements=recipe.test_requirements,
        install=recipe.install,
    )
    return make_ready(out, origin, Options(jobs=recipe.jobs, timeout=recipe.timeout), pool, say)
