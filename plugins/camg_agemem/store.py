"""The long-term store of one episode: entries with embeddings, found by cosine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from attrs import define
from numpy.typing import NDArray


class Refused(ValueError):
    """What the policy asked for cannot be done; the sentence is for the policy."""


@define
class Entry:
    """``embedding``: float32 ``[dimensions]``, of length 1 or 0. ``metadata`` holds ``timestamp``, a step number."""

    id: str
    content: str
    embedding: NDArray[np.float32]
    metadata: dict[str, Any]


class Store:
    """Ids are ``m1``, ``m2``, …; an id is never given twice."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._entries: dict[str, Entry] = {}
        self._given = 0

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, content: str, embedding: NDArray[np.float32], metadata: Mapping[str, Any], step: int) -> str:
        """Returns the new id. Raises :class:`Refused` when the store is full."""
        if len(self._entries) >= self._limit:
            raise Refused(f"the store is full ({self._limit} entries); delete some first")
        self._given += 1
        entry = Entry(f"m{self._given}", content, embedding, {**metadata, "timestamp": step})
        self._entries[entry.id] = entry
        return entry.id

    def update(
        self, name: str, content: str, embedding: NDArray[np.float32], metadata: Mapping[str, Any], step: int
    ) -> None:
        """Other content; ``metadata`` is added to what was there. Raises :class:`Refused` for an unknown id."""
        entry = self.get(name)
        entry.content, entry.embedding = content, embedding
        entry.metadata = {**entry.metadata, **metadata, "timestamp": step}

    def delete(self, name: str) -> None:
        """Raises :class:`Refused` for an unknown id."""
        del self._entries[self.get(name).id]

    def get(self, name: str) -> Entry:
        """Raises :class:`Refused` for an unknown id."""
        entry = self._entries.get(name)
        if entry is None:
            known = ", ".join(list(self._entries)[-10:]) or "none"
            name = name[:40].encode(errors="replace").decode()
            raise Refused(f"there is no entry {name!r} (the last ids: {known})")
        return entry

    def nearest(self, query: NDArray[np.float32], top_k: int, metadata: Mapping[str, Any]) -> list[tuple[Entry, float]]:
        """The ``top_k`` entries of highest cosine with these ``metadata``, and perhaps others; ties: newest first."""
        fitting = [entry for entry in self._entries.values() if _equal(entry.metadata, metadata)]
        scored = [(entry, float(entry.embedding @ query)) for entry in reversed(fitting)]
        return sorted(scored, key=lambda pair: -round(pair[1], 6))[:top_k]


def _equal(metadata: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """As JSON: true is not 1 there."""
    return all(key in metadata and _json(metadata[key]) == _json(value) for key, value in wanted.items())


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
