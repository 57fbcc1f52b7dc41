"""Where the lines of a chunk stand in a file: four passes, each more forgiving than the one before. Pure.

Each pass maps every distinct line to one character, so that a file is one string and a search is ``str.find``:
linear in the file whatever it repeats, and a line that the file does not hold ends the pass at once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from camg_apply_patch.parser import PatchError

_LOOKALIKES = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | dict.fromkeys("\u2018\u2019\u201a\u201b", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f", '"')
    | dict.fromkeys("\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " ")
)


def _plain(line: str) -> str:
    return line.strip().translate(_LOOKALIKES)


_PASSES: tuple[Callable[[str], str], ...] = (str, str.rstrip, str.strip, _plain)


class Lines:
    """The lines of a file, ready to be searched."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._views: list[tuple[dict[str, str], str]] = []

    def find(self, wanted: Sequence[str], start: int, *, at_end: bool = False) -> int | None:
        """The first index from ``start`` at which ``wanted`` stands, by the first pass that finds any.

        ``at_end``: only as the last lines. Nothing wanted is found at ``start``. Raises :class:`PatchError` for a
        file of more different lines than there are characters.
        """
        last = len(self._lines) - len(wanted)
        if at_end:
            start = max(start, last)
        if last < start:
            return None
        for number, normal in enumerate(_PASSES):
            codes, text = self._view(number)
            try:
                pattern = "".join([codes[normal(line)] for line in wanted])
            except KeyError:
                continue
            found = text.find(pattern, start)
            if found >= 0:
                return found
        return None

    def _view(self, number: int) -> tuple[dict[str, str], str]:
        """The code of each distinct line under a pass, and the whole file in these codes."""
        while len(self._views) <= number:
            normal = _PASSES[len(self._views)]
            codes: dict[str, str] = {}
            keys = [normal(line) for line in self._lines]
            for key in keys:
                if key not in codes:
                    if len(codes) > sys.maxunicode:
                        raise PatchError("the file has too many different lines")
                    codes[key] = chr(len(codes))
            self._views.append((codes, "".join([codes[key] for key in keys])))
        return self._views[number]
