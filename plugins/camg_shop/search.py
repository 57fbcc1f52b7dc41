"""Exact BM25 over the catalogue: a small inverted index in numpy arrays, kept on disk.

Robertson's BM25 with k1 = 0.9 and b = 0.4 (WebShop's own settings) and the idf that cannot go negative::

    score(d, q) = sum over words w of q: idf(w) * tf / (tf + k1 * (1 - b + b * |d| / avg|d|))
    idf(w) = ln(1 + (N - df + 0.5) / (df + 0.5))

A word that the query repeats counts each time. Equal scores keep the catalogue's order. A product's document is its
title, description, first bullet and option texts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from camg.errors import DataError
from camg_shop.lexicon import words
from camg_shop.plan import Product

K1 = 0.9
B = 0.4
HITS = 50


def document(product: Product) -> str:
    """What is searched of a product."""
    options = [value for values in product.options.values() for value in values]
    return " ".join([product.title, product.description, *product.features[:1], *options])


class Index:
    """Postings of all words: ``starts[w]:starts[w + 1]`` are the documents (int32) and weights (float64) of word w."""

    def __init__(
        self,
        vocabulary: dict[str, int],
        starts: np.ndarray[Any, Any],
        documents: np.ndarray[Any, Any],
        weights: np.ndarray[Any, Any],
        count: int,
    ) -> None:
        self._vocabulary = vocabulary
        self._starts = starts
        self._documents = documents
        self._weights = weights
        self.count = count

    @classmethod
    def build(cls, texts: Sequence[str]) -> Index:
        """Index ``texts``. Raises :class:`DataError` for none: an empty index would answer nothing, silently."""
        if not texts:
            raise DataError("Expected at least one product to index, got none.")
        lengths = np.zeros(len(texts))
        postings: dict[str, list[tuple[int, int]]] = {}
        for number, text in enumerate(texts):
            counted = Counter(words(text))
            lengths[number] = counted.total()
            for word, times in counted.items():
                postings.setdefault(word, []).append((number, times))
        norm = K1 * (1 - B + B * lengths / max(float(lengths.mean()), 1e-9))
        starts = np.zeros(len(postings) + 1, dtype=np.int64)
        documents, weights = [], []
        for place, rows in enumerate(postings.values()):
            found = np.array(rows, dtype=np.int64)
            idf = np.log1p((len(texts) - len(rows) + 0.5) / (len(rows) + 0.5))
            documents.append(found[:, 0].astype(np.int32))
            weights.append(idf * found[:, 1] / (found[:, 1] + norm[found[:, 0]]))
            starts[place + 1] = starts[place] + len(rows)
        vocabulary = {word: place for place, word in enumerate(postings)}
        if not postings:
            return cls(vocabulary, starts, np.zeros(0, np.int32), np.zeros(0), len(texts))
        return cls(vocabulary, starts, np.concatenate(documents), np.concatenate(weights), len(texts))

    def save(self, folder: Path) -> None:
        """Write into an existing folder."""
        np.savez(
            folder / "index.npz",
            starts=self._starts,
            documents=self._documents,
            weights=self._weights,
            count=self.count,
        )
        (folder / "vocabulary.json").write_text(json.dumps(list(self._vocabulary)), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path, expected: int) -> Index:
        """Read it back. Raises :class:`DataError` when it does not hold ``expected`` documents or cannot be read."""
        try:
            with np.load(folder / "index.npz") as arrays:
                starts, documents, weights = arrays["starts"], arrays["documents"], arrays["weights"]
                count = int(arrays["count"])
            vocabulary = json.loads((folder / "vocabulary.json").read_text(encoding="utf-8"))
        except Exception as error:  # numpy and zipfile raise of many kinds for a broken file
            raise DataError(
                f"Expected a readable search index in {folder}: {error}.", hint=f"Delete {folder}."
            ) from error
        if count != expected or len(starts) != len(vocabulary) + 1:
            raise DataError(
                f"Expected an index of {expected} products in {folder}, got {count}.", hint=f"Delete {folder}."
            )
        return cls({word: place for place, word in enumerate(vocabulary)}, starts, documents, weights, count)

    def search(self, query: str, hits: int = HITS) -> list[int]:
        """Numbers of the best ``hits`` documents that hold a word of the query, best first."""
        scores = np.zeros(self.count)
        for word, times in Counter(words(query)).items():
            place = self._vocabulary.get(word)
            if place is not None:
                rows = slice(self._starts[place], self._starts[place + 1])
                scores[self._documents[rows]] += times * self._weights[rows]
        found = np.flatnonzero(scores)
        order = np.lexsort((found, -scores[found]))[:hits]
        return [int(number) for number in found[order]]
