"""A bug: one mutation, or several of one file or folder put together."""

from __future__ import annotations

import hashlib
import random
import string
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from attrs import frozen

from camg_coding.mutate.source import Source, read
from camg_coding.mutate.strategies import Mutation

ALPHABET = string.digits + string.ascii_lowercase
DIGITS = 8

Part = tuple[str, str, str]  # strategy, path, qualname


@frozen
class Bug:
    """What an instance's patch introduces. ``files``: path -> (whole text before, whole text after)."""

    strategy: str  # "func_pm_…", "combine_file" or "combine_module"
    parts: tuple[Part, ...]
    files: Mapping[str, tuple[str, str]]

    @classmethod
    def of(cls, mutation: Mutation) -> Bug:
        """A bug of one mutation."""
        return cls(mutation.strategy, (part(mutation),), {mutation.path: (mutation.before, mutation.after)})


def part(mutation: Mutation) -> Part:
    """What a bug keeps of a mutation's origin."""
    return mutation.strategy, mutation.path, mutation.qualname


def digest(bug: Bug) -> str:
    """Eight characters 0-9a-z from the files' paths and texts alone: the last part of an instance's id."""
    state = hashlib.sha256()
    for path, texts in sorted(bug.files.items()):
        for text in (path, *texts):
            data = text.encode("utf-8", "surrogatepass")
            state.update(len(data).to_bytes(8, "big") + data)
    number = int.from_bytes(state.digest(), "big")
    characters = ""
    for _ in range(DIGITS):
        number, rest = divmod(number, len(ALPHABET))
        characters += ALPHABET[rest]
    return characters


def combine_file(mutations: Sequence[Mutation], count: int, rng: random.Random) -> Bug | None:
    """``count`` (at least 2) drawn mutations of one file, in entities apart from each other; None if there are too few.

    Raises ``ValueError`` for mutations of several files or versions of a file.
    """
    _check(count)
    if len({(m.path, m.before) for m in mutations}) > 1:
        raise ValueError(f"expected mutations of one file, got {sorted({m.path for m in mutations})}")
    chosen = _apart(rng.sample(mutations, len(mutations)), count)
    return _bug("combine_file", chosen) if len(chosen) == count else None


def combine_module(mutations: Sequence[Mutation], count: int, rng: random.Random) -> Bug | None:
    """``count`` (at least 2) drawn mutations of two or more files of one folder; None if there are too few.

    Raises ``ValueError`` for mutations of several folders or versions of a file.
    """
    _check(count)
    paths = {m.path for m in mutations}
    if len({PurePosixPath(path).parent for path in paths}) > 1 or len({(m.path, m.before) for m in mutations}) > len(
        paths
    ):
        raise ValueError(f"expected mutations of one folder and of one version of each file, got {sorted(paths)}")
    drawn = rng.sample(mutations, len(mutations))
    # the first of another file comes second, so that two files are changed
    other = next((i for i, m in enumerate(drawn) if m.path != drawn[0].path), None)
    if other is None:
        return None
    drawn.insert(1, drawn.pop(other))
    chosen = _apart(drawn, count)
    return _bug("combine_module", chosen) if len(chosen) == count else None


def _check(count: int) -> None:
    if count < 2:
        raise ValueError(f"expected a bug of at least 2 mutations, got {count}")


def _apart(drawn: Sequence[Mutation], count: int) -> list[Mutation]:
    """The first ``count`` of which no two have a line in common, in the order of path and line."""
    chosen: list[Mutation] = []
    for mutation in drawn:
        if len(chosen) < count and not any(_overlap(mutation, other) for other in chosen):
            chosen.append(mutation)
    return sorted(chosen, key=lambda m: (m.path, m.first_line))


def _overlap(one: Mutation, other: Mutation) -> bool:
    same = one.path == other.path
    return same and one.first_line <= other.last_line and other.first_line <= one.last_line


def _bug(strategy: str, chosen: Sequence[Mutation]) -> Bug:
    """Put the entities' new texts into one file each."""
    files: dict[str, tuple[str, str]] = {}
    for path in sorted({m.path for m in chosen}):
        mine = [m for m in chosen if m.path == path]
        text = read(mine[0].before)
        files[path] = (mine[0].before, _merged(text, mine))
    return Bug(strategy, tuple(part(m) for m in chosen), files)


def _merged(source: Source, mutations: Sequence[Mutation]) -> str:
    """The text with each mutation's entity in its place; the entities are apart and in the order of the text."""
    pieces, position = [], 0
    for mutation in mutations:
        start, end = source.span(mutation.first_line, mutation.last_line)
        new_end = len(mutation.after) - (len(source.text) - end)
        pieces += [source.text[position:start], mutation.after[start:new_end]]
        position = end
    return "".join([*pieces, source.text[position:]])
