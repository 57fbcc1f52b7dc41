"""AgeMem's encoder and store: unit vectors, the same in every process, nearest first."""

from __future__ import annotations

import subprocess
import sys
import types

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from camg.errors import UsageError
from camg_agemem.config import AgeMemConfig
from camg_agemem.encoders import HashingEncoder, SentenceEncoder, encoder
from camg_agemem.store import Refused, Store

HASHING = HashingEncoder()


@given(st.text())
def test_rows_have_length_one_or_nothing(text):
    (row,) = HASHING.encode([text])
    assert row.dtype == np.float32
    norm = float(np.linalg.norm(row))
    assert norm == pytest.approx(1, abs=1e-5) or norm == 0


def test_likeness_is_by_words_and_parts_of_words():
    red, same, similar, other = HASHING.encode(["red velvet cake", "Cake, red velvet!", "red cakes", "tax return 2020"])
    assert red @ same == pytest.approx(1, abs=1e-5)
    assert 0.3 < red @ similar < 0.95
    assert abs(red @ other) < 0.2
    assert not HASHING.encode(["*?"]).any()


def test_the_same_in_every_process():
    program = (
        "from camg_agemem.encoders import HashingEncoder as H; print(H().encode(['naïve ✗ cake']).tobytes().hex())"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1
    assert runs.pop().decode().strip() == HASHING.encode(["naïve ✗ cake"]).tobytes().hex()


def test_a_sentence_model_is_asked_for_unit_vectors(monkeypatch):
    class Model:
        def __init__(self, name, device):
            if name != "here":
                raise OSError("no such folder")

        def encode(self, texts, *, normalize_embeddings, show_progress_bar):
            assert normalize_embeddings
            return [[1.0, 0.0]] * len(texts)

    monkeypatch.setitem(sys.modules, "sentence_transformers", types.SimpleNamespace(SentenceTransformer=Model))
    found = encoder(AgeMemConfig(encoder="sentence-transformers", model="here"))
    assert found.encode(["a", "b"]).shape == (2, 2)
    with pytest.raises(UsageError, match=r"agemem\.model='there'.*no such folder"):
        SentenceEncoder("there")


def _add(store, text, step=0, **metadata):
    return store.add(text, HASHING.encode([text])[0], metadata, step)


def test_entries_are_found_updated_and_deleted():
    store = Store(limit=3)
    cake, tax = _add(store, "red velvet cake", 4, kind="shop"), _add(store, "tax return", 5)
    query = HASHING.encode(["velvet"])[0]
    (first, score), (second, low) = store.nearest(query, 5, {})
    assert (first.id, second.id) == (cake, tax)
    assert score > 0.3 > low
    assert first.metadata == {"kind": "shop", "timestamp": 4}
    store.update(tax, "velvet", query, {"kind": "cloth"}, 9)
    assert store.nearest(query, 1, {})[0][0].metadata == {"kind": "cloth", "timestamp": 9}
    assert [entry.id for entry, _ in store.nearest(query, 5, {"kind": "shop"})] == [cake]
    store.delete(tax)
    assert _add(store, "third") == "m3", "an id is never given twice"
    for call in (lambda: store.delete(tax), lambda: store.get("m9")):
        with pytest.raises(Refused, match=r"there is no entry"):
            call()
    _add(store, "fourth")
    with pytest.raises(Refused, match="full"):
        _add(store, "fifth")


def test_a_filter_is_json_equality_and_ties_show_the_newest_first():
    store = Store(limit=9)
    one, true = _add(store, "a", n=1), _add(store, "b", n=True)
    nothing = HASHING.encode(["*"])[0]
    assert [entry.id for entry, _ in store.nearest(nothing, 9, {})] == [true, one]
    assert [entry.id for entry, _ in store.nearest(nothing, 9, {"n": True})] == [true]
    assert store.nearest(nothing, 9, {"absent": None}) == []
