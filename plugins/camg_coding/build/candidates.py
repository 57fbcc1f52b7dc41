"""Which bugs are tried, in which order: spread over strategies, files and entities, the same for the same seed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from attrs import frozen

from camg.errors import DataError
from camg_coding.build.reference import tree_text
from camg_coding.mutate import STRATEGIES, Bug, Entity, Mutation, combine_file, combine_module, entities

COMBINED = ("combine_file", "combine_module")
ALL = (*STRATEGIES, *COMBINED)
ROUNDS = 3  # times that a strategy is tried on an entity, with other draws
_COUNTS = (2, 2, 3)  # mutations in a combination
_DRAWS = 12  # combinations that are drawn of one file, or of one folder


@frozen
class _Place:
    """An entity in its file's text, and the round in which a strategy tries it."""

    text: str
    entity: Entity
    round: int


def singles(tree: Path, sources: Sequence[str], strategies: Sequence[str], key: str, seed: int) -> Iterator[Mutation]:
    """Mutations of the files: strategies take turns, and each turns to the entity that was changed least so far.

    Files that this Python cannot parse, and those that are not UTF-8, are left out.
    """
    places = [place for path in sources for place in _places(path, tree)]
    changed, files = Counter[tuple[str, str]](), Counter[str]()
    for turn in range(ROUNDS):
        pools = {}
        for name in (name for name in strategies if name in STRATEGIES):
            kinds = STRATEGIES[name].kinds
            pools[name] = [_Place(text, entity, turn) for text, entity in places if entity.kind in kinds]
            random.Random(f"{seed}:{key}:{name}:{turn}").shuffle(pools[name])
        while any(pools.values()):
            for name, pool in pools.items():
                mutation = None
                while pool and mutation is None:
                    least = min(
                        range(len(pool)), key=[(changed[_of(p)], files[p.entity.path]) for p in pool].__getitem__
                    )
                    mutation = _mutated(name, pool.pop(least), f"{seed}:{key}")
                if mutation is not None:
                    changed[mutation.path, mutation.qualname] += 1
                    files[mutation.path] += 1
                    yield mutation


def combinations(admitted: Sequence[Mutation], strategies: Sequence[str], key: str, seed: int) -> Iterator[Bug]:
    """Bugs of several admitted mutations: of one file, then of several files of one folder, taking turns."""
    rng = random.Random(f"{seed}:{key}:combine")
    by_file: dict[str, list[Mutation]] = {}
    by_folder: dict[str, list[Mutation]] = {}
    for mutation in admitted:
        by_file.setdefault(mutation.path, []).append(mutation)
        by_folder.setdefault(str(PurePosixPath(mutation.path).parent), []).append(mutation)
    kinds = (("combine_file", by_file, combine_file), ("combine_module", by_folder, combine_module))
    seen: set[object] = set()
    for _ in range(_DRAWS):
        for groups, combine in ((groups, combine) for name, groups, combine in kinds if name in strategies):
            for _, group in sorted(groups.items()):
                bug = combine(group, rng.choice(_COUNTS), rng)
                if bug is not None and bug.parts not in seen:
                    seen.add(bug.parts)
                    yield bug


def chosen_strategies(names: Sequence[str]) -> tuple[str, ...]:
    """The strategies to use, in their usual order; all for none. Raises :class:`DataError` for an unknown one."""
    unknown = [name for name in names if name not in ALL]
    if unknown:
        raise DataError(f"Expected a strategy ({', '.join(ALL)}), got {unknown[0]!r}.")
    return tuple(name for name in ALL if not names or name in names)


def _places(path: str, tree: Path) -> list[tuple[str, Entity]]:
    text = tree_text(tree, path)
    if any("\ud800" <= character <= "\udfff" for character in text):
        return []
    try:
        return [(text, entity) for entity in entities(path, text)]
    except DataError:
        return []


def _of(place: _Place) -> tuple[str, str]:
    return place.entity.path, place.entity.qualname


def _mutated(name: str, place: _Place, seed: str) -> Mutation | None:
    entity = place.entity
    rng = random.Random(f"{seed}:{entity.path}:{entity.qualname}:{entity.first_line}:{name}:{place.round}")
    after = STRATEGIES[name].mutate(place.text, entity, rng)
    if after is None:
        return None
    return Mutation(name, entity.path, entity.qualname, place.text, after, entity.first_line, entity.last_line)
