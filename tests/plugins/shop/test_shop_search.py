"""BM25 against its formula written out, the index on disk, and its refusals."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from camg.errors import DataError
from camg_shop.lexicon import words
from camg_shop.search import HITS, Index

TEXT = st.lists(st.sampled_from(["red", "mug", "blue", "cup", "7", "soft"]), max_size=7).map(" ".join)


def by_formula(texts: list[str], query: str) -> dict[int, float]:
    """Document -> score, word by word."""
    documents = [words(text) for text in texts]
    average = max(sum(map(len, documents)) / len(documents), 1e-9)
    scores: dict[int, float] = {}
    for word in words(query):
        df = sum(word in document for document in documents)
        idf = math.log(1 + (len(documents) - df + 0.5) / (df + 0.5))
        for number, document in enumerate(documents):
            if tf := document.count(word):
                norm = 0.9 * (1 - 0.4 + 0.4 * len(document) / average)
                scores[number] = scores.get(number, 0.0) + idf * tf / (tf + norm)
    return scores


@given(st.lists(TEXT, min_size=1, max_size=12), TEXT)
@settings(max_examples=200, deadline=None)
def test_ranking_is_the_formula(texts, query):
    scores = by_formula(texts, query)
    found = Index.build(texts).search(query)
    assert sorted(found) == sorted(scores)
    ranked = [scores[number] for number in found]
    assert all(a >= b - 1e-12 for a, b in itertools.pairwise(ranked))
    for a, b in itertools.pairwise(found):  # equal scores keep the catalogue's order
        assert a < b or scores[a] > scores[b] - 1e-12


def test_equal_scores_keep_catalogue_order_and_hits_are_bounded():
    index = Index.build(["red mug"] * 80)
    assert index.search("mug") == list(range(HITS))
    assert index.search("nothing known") == []
    assert index.search("") == []


def test_disk_round_trip_and_document_count(tmp_path):
    texts = ["red mug", "blue cup", "red cup"]
    index = Index.build(texts)
    index.save(tmp_path)
    assert Index.load(tmp_path, 3).search("red cup") == index.search("red cup") == [2, 0, 1]
    with pytest.raises(DataError, match="index of 4 products"):
        Index.load(tmp_path, 4)
    (tmp_path / "index.npz").write_bytes(b"broken")
    with pytest.raises(DataError, match="readable search index"):
        Index.load(tmp_path, 3)


def test_an_empty_catalogue_is_refused():
    with pytest.raises(DataError, match="at least one product"):
        Index.build([])
