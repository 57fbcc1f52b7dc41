"""Texts -> unit vectors. The paper does not say which encoder it used: an offline one is the default here."""

from __future__ import annotations

import importlib
import re
import threading
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from camg.errors import UsageError
from camg_agemem.config import AgeMemConfig

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
        self._dimensions = dimensions

    def encode(self, texts: Sequence[str]) -> Vectors:
        """float32 ``[len(texts), dimensions]``."""
        rows = np.zeros((len(texts), self._dimensions), dtype=np.float32)
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
            row[code % self._dimensions] += value if code >> 31 else -value


class SentenceEncoder:
    """A model of the package ``sentence-transformers``, loaded once a process, on the CPU.

    Raises :class:`UsageError` when it cannot be loaded.
    """

    def __init__(self, model: str) -> None:
        self._lock = threading.Lock()  # episodes are threads; the model is one
        try:
            self._model: Any = importlib.import_module("sentence_transformers").SentenceTransformer(model, device="cpu")
        except (ImportError, OSError, ValueError) as error:
            raise UsageError(
                f"Expected agemem.model={model!r} to be a model that sentence-transformers can load, got: {error}. "
                "Give a folder, or use agemem.encoder=hashing."
            ) from error

    def encode(self, texts: Sequence[str]) -> Vectors:
        """float32 ``[len(texts), dimensions]``."""
        with self._lock:
            rows = self._model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(rows, dtype=np.float32).reshape(len(texts), -1)


def encoder(config: AgeMemConfig) -> Encoder:
    """The one that the options name."""
    return SentenceEncoder(config.model) if config.encoder == "sentence-transformers" else HashingEncoder()
