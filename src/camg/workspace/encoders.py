"""Texts -> unit vectors, offline: for memories that find entries by likeness, and for ``camg serve``. For plugins."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]

_WORD = re.compile(r"\w+")
_LONG = 40  # a longer run of word characters is no word: its n-grams would drown the rest


class Encoder(Protocol):
    """One row a text; rows have length 1, or are 0 where there is nothing to compare. Safe to share by threads."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """float32 ``[len(texts), dimensions]``."""


class HashingEncoder:
    """Words and their character trigrams, hashed with a sign into ``dimensions`` places, square roots of counts.

    A word weighs as much as all of its trigrams together. CRC-32 is the same in every process and on every machine,
    unlike Python's own hash. What holds no word is the zero vector: as near to one text as to another.
    """

    def __init__(self, dimensions: int = 2048) -> None:
        self.dimensions = dimensions

    def encode(self, texts: Sequence[str]) -> Vectors:
        """float32 ``[len(texts), dimensions]``."""
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word, count in Counter(_WORD.findall(text.casefold())).items():
                self._add(row, word, count**0.5)
            norm = float(np.linalg.norm(row))
            if norm:
                row /= norm
        return rows

    def _add(self, row: NDArray[np.float32], word: str, weight: float) -> None:
        padded = f"<{word[:_LONG]}>"
        grams = [padded[start : start + 3] for start in range(len(padded) - 2)]
        share = weight / len(grams) ** 0.5
        for feature, value in ((word, weight), *((gram, share) for gram in grams)):
            code = zlib.crc32(feature.encode("utf-8", "surrogatepass"))
            row[code % self.dimensions] += value if code >> 31 else -value


__all__ = ["Encoder", "HashingEncoder", "Vectors"]
