"""The context of one episode and its operations: append, replace, remove. Pure: no I/O, no clock.

A *segment* is one run of append-only context, the unit of training. An operation that breaks the prefix closes the
segment and opens the next; ids carried over into it are context there, never sampled tokens: nothing is trained twice.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define, field

from camg.types import Segment


@define
class _Open:
    ids: list[int]
    turns: list[int] = field(factory=list)
    end: int = 0  # one past the last sampled id: what follows was never seen by a response


class Context:
    """What the policy sees now (``ids``) and every segment that it saw before."""

    def __init__(self) -> None:
        self._segments: list[_Open] = []
        self._current = _Open([])

    @property
    def ids(self) -> list[int]:
        """The active context; do not change it."""
        return self._current.ids

    def __len__(self) -> int:
        return len(self._current.ids)

    @property
    def segment(self) -> int:
        """Index of the active segment."""
        return self._index(self._current)

    def _index(self, segment: _Open) -> int:
        """Segments are numbered when they get their first turn, so that none is empty."""
        for index, known in enumerate(self._segments):
            if known is segment:
                return index
        return len(self._segments)

    def replace(self, ids: Sequence[int]) -> None:
        """Open a new context; the old segment is closed."""
        self._current = _Open(list(ids))

    def append(self, ids: Sequence[int]) -> None:
        """Add observation ids behind the last response."""
        self._current.ids.extend(ids)

    def remove(self, start: int, stop: int) -> None:
        """Take ``ids[start:stop]`` out. Breaks the prefix unless nothing sampled or seen lies behind ``start``."""
        kept = [*self._current.ids[:start], *self._current.ids[stop:]]
        if start >= self._current.end:
            self._current.ids[:] = kept
        else:
            self.replace(kept)

    def sync(self, ids: Sequence[int]) -> bool:
        """Make the context equal to a full rendering: append where it extends the prefix, else open a segment.

        Returns whether the prefix held. For templates that change earlier turns, and memories that filter them.
        """
        held = list(ids[: len(self)]) == self._current.ids and len(ids) > len(self)
        if held:
            self.append(ids[len(self) :])
        else:
            self.replace(ids)
        return held

    def respond(self, turn: int, ids: Sequence[int]) -> tuple[int, int]:
        """Append what turn ``turn`` sampled; returns (segment, prompt length)."""
        return self._respond(self._current, turn, ids)

    def aside(self, prompt: Sequence[int], turn: int, ids: Sequence[int]) -> tuple[int, int]:
        """A response to another prompt (a summary): a segment of its own, the active context stays."""
        return self._respond(_Open(list(prompt)), turn, ids)

    def _respond(self, segment: _Open, turn: int, ids: Sequence[int]) -> tuple[int, int]:
        if not segment.turns:
            self._segments.append(segment)
        prompt = len(segment.ids)
        segment.ids.extend(ids)
        segment.turns.append(turn)
        segment.end = len(segment.ids)
        return self._index(segment), prompt

    def segments(self) -> tuple[Segment, ...]:
        """Every segment up to its last sampled token."""
        return tuple(Segment(tuple(s.ids[: s.end]), tuple(s.turns)) for s in self._segments)
