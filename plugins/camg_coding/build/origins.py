"""Origins that a user names: a folder, or a source distribution."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from camg_coding.build.repository import Origin
from camg_coding.build.sources import from_repository, from_sdist


def sdist(requirement: str, sha256: str = "", test_requirements: Sequence[str] = ()) -> Origin:
    """``NAME==VERSION``. ``sha256``: of its file, '' to take what comes."""
    return Origin(
        label=requirement,
        identity=f"sdist:{requirement.replace(' ', '')}",
        fetch=partial(from_sdist, requirement, sha256=sha256),
        test_requirements=tuple(test_requirements),
    )


def repository(folder: Path, revision: str = "", test_requirements: Sequence[str] = ()) -> Origin:
    """A git repository at ``revision`` ('': its HEAD), or a plain folder as it is."""
    return Origin(
        label=folder.resolve().name,
        identity=f"repo:{folder.resolve()}@{revision}",
        fetch=partial(from_repository, folder, revision),
        test_requirements=tuple(test_requirements),
    )
