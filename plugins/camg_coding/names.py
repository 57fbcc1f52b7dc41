"""Repository names: one spelling for all the ways in which task sets and people write them."""

from __future__ import annotations

import re

from camg.errors import DataError

# SWE-smith keeps a mirror for each revision, named swesmith/owner__name.commit8
_MIRROR = re.compile(r"(?:(?P<organisation>[^/\s]+)/)?(?P<owner>[^/\s]+?)__(?P<name>[^/\s]+)\.(?P<commit>[0-9a-f]{8})")
_ADDRESS = re.compile(
    r"(?:(?:https?|ssh|git)://)?(?:[^@/\s]+@)?(?:www\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)+[:/](?=[^/\s]+/)", re.I
)
_OWNER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_NAME = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]+")

FORMER = {  # names under which GitHub still finds a repository that has moved
    "kennethreitz/requests": "psf/requests",
    "requests/requests": "psf/requests",
    "pycqa/pylint": "pylint-dev/pylint",
    "mitsuhiko/flask": "pallets/flask",
    "xray/xray": "pydata/xarray",
    "xarray/xarray": "pydata/xarray",
}


def split_mirror(text: str) -> tuple[str, str]:
    """``swesmith/owner__name.commit8`` -> ``("owner/name", "commit8")``; other names with an empty commit.

    Owner and name keep their case. Raises :class:`DataError` for what names no repository.
    """
    bare = _ADDRESS.sub("", text.strip(), count=1).strip("/").removesuffix(".git")
    mirror = _MIRROR.fullmatch(bare)
    if mirror:
        owner, name, commit = mirror["owner"], mirror["name"], mirror["commit"]
    else:
        owner, slash, name = bare.partition("/")
        if not slash:
            owner, _, name = bare.partition("__")
        commit = ""
    if not (_OWNER.fullmatch(owner) and _NAME.fullmatch(name)):
        raise DataError(f"Expected a repository as owner/name, got {text[:120]!r}.")
    return f"{owner}/{name}", commit


def same_name(text: str) -> str:
    """The name by which repositories are compared: ``owner/name`` in lower case, whatever the spelling.

    Addresses, ``.git``, SWE-smith's mirrors, ``owner__name`` and the former owners of SWE-bench's repositories are
    understood. Raises :class:`DataError` for what names no repository.
    """
    name = split_mirror(text)[0].lower()
    return FORMER.get(name, name)


def key_of(repo: str) -> str:
    """:func:`same_name` for the ``repo`` of an instance, which need not be a repository that anybody else knows."""
    try:
        return same_name(repo)
    except DataError:
        return repo.lower()
