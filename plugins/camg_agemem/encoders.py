"""Texts -> unit vectors. The paper does not say which encoder it used: an offline one is the default here."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from camg.errors import UsageError
from camg.workspace.encoders import Encoder, HashingEncoder, Vectors
from camg_agemem.config import AgeMemConfig


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


__all__ = ["Encoder", "HashingEncoder", "SentenceEncoder", "Vectors", "encoder"]
