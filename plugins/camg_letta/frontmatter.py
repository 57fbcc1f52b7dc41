"""The front matter of memory files: lines of ``key: value`` between two lines of three dashes, then the body.

Letta's rules, for what lies below ``system/`` and ``reference/``: a non-empty ``description`` is required;
``read_only`` is protected (a file that is ``read_only: true`` cannot be changed, and the key is neither added, changed
nor removed); ``limit`` is tolerated; any other key is an error. Indented lines continue a value.
"""

from __future__ import annotations

import re

from attrs import frozen

KEYS = ("description", "read_only", "limit")
_CHECKED = re.compile(r"(system|reference)/.*\.md", re.DOTALL)


class Wrong(ValueError):
    """The front matter breaks a rule; the sentence is for the policy."""


@frozen
class Parsed:
    """A memory file. ``header``: the lines between the dashes, as they stand."""

    header: tuple[str, ...]
    body: str

    def value(self, key: str) -> str | None:
        """The value of a key, with the lines that continue it; None: there is no such key."""
        found: list[str] | None = None
        for line in self.header:
            name, _, value = line.partition(":")
            if line[:1] in (" ", "\t"):
                if found is not None:
                    found.append(line.strip())
            elif found is not None:
                break
            elif name.strip() == key:
                found = [value.strip()]
        return None if found is None else " ".join(part for part in found if part)

    @property
    def read_only(self) -> bool:
        """May the policy not change the file?"""
        return self.value("read_only") == "true"

    def described(self, description: str) -> Parsed:
        """The same file with another description, on one line."""
        kept, inside = [], False
        for line in self.header:
            if line[:1] not in (" ", "\t"):
                inside = line.partition(":")[0].strip() == "description"
            if not inside:
                kept.append(line)
        return Parsed((f"description: {one_line(description)}", *kept), self.body)

    def text(self) -> str:
        """The whole file."""
        return "\n".join(("---", *self.header, "---", self.body))


def one_line(text: str) -> str:
    """A value that cannot end its line."""
    return " ".join(text.split())


def parse(text: str) -> Parsed:
    """Take a file apart. Raises :class:`Wrong` where it has no front matter."""
    lines = text.split("\n")
    bare = [line.removesuffix("\r") for line in lines]
    if bare[0] != "---":
        raise Wrong("missing front matter: the first line must be ---")
    if "---" not in bare[1:]:
        raise Wrong("the front matter is not closed by a line ---")
    end = bare.index("---", 1)
    return Parsed(tuple(bare[1:end]), "\n".join(lines[end + 1 :]))


def checked(path: str) -> bool:
    """Do the rules hold for this path, relative to the repository?"""
    return _CHECKED.fullmatch(path) is not None


def valid(text: str) -> Parsed:
    """A committed file on its own. Raises :class:`Wrong`."""
    parsed = parse(text)
    for line in parsed.header:
        key = line.partition(":")[0].strip()
        if line and line[:1] not in (" ", "\t") and key not in KEYS:
            raise Wrong(f"unknown key {key[:40]!r} in the front matter (allowed: {' '.join(KEYS)})")
    if not parsed.value("description"):
        raise Wrong("the front matter needs a non-empty description")
    return parsed


def check(text: str, head: str | None) -> None:
    """Hold a change against the rules; ``head``: the file as it is committed (None: not at all). Raises ``Wrong``."""
    before = _before(head)
    if before is not None and before.read_only:
        raise Wrong("the file is read_only and cannot be modified")
    if valid(text).value("read_only") != (None if before is None else before.value("read_only")):
        raise Wrong("read_only is protected: it cannot be added, changed or removed")


def _before(head: str | None) -> Parsed | None:
    """What is committed may itself be wrong: then it protects nothing."""
    try:
        return None if head is None else parse(head)
    except Wrong:
        return None
