"""The package mem0ai, set up so that it asks nobody but the endpoint: no telemetry, no notices, no downloads.

It reads its environment when it is first imported, which therefore happens here alone.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import threading
import warnings
from pathlib import Path
from typing import Any

from camg.errors import BackendUnavailable, UsageError

_LOCK = threading.Lock()
INSTRUCTIONS = """\
The conversation is an agent's work on a long task: `assistant` is the agent, `user` is the environment that answers it.
Extract what later steps will need and no longer see: requirements, what was chosen, bought, changed or found, with
identifiers, values, paths and numbers exactly as they stand; failures and their reasons; what remains to be done."""


def load() -> Any:
    """The package. Raises :class:`BackendUnavailable` without it, :class:`UsageError` if its telemetry is on."""
    with _LOCK:
        if importlib.util.find_spec("mem0") is None:
            raise BackendUnavailable("The package mem0ai is not installed.", hint="pip install 'camg[mem0]'")
        os.environ["MEM0_TELEMETRY"] = "False"
        os.environ.setdefault("MEM0_DIR", str(_home()))
        warnings.filterwarnings("ignore", "Payload indexes have no effect")  # in Qdrant's local mode
        import mem0
        from mem0.memory import telemetry
        from mem0.utils import spacy_models

        if telemetry.MEM0_TELEMETRY:
            raise UsageError(
                "mem0ai was imported with its telemetry on before CAMG could turn it off.",
                hint="Set MEM0_TELEMETRY=False in the environment.",
            )
        if not _has_model():  # where spaCy lacks its model the package would download one
            spacy_models._load_failed_full = spacy_models._load_failed_lemma = True
        log = logging.getLogger("mem0")  # it complains of every answer that is no JSON: here that is data
        log.propagate = False
        log.addHandler(logging.NullHandler())
        return mem0


def memory(address: str, model: str, embedder: str, dimensions: int, seconds: float) -> Any:
    """A ``mem0.Memory`` of its own: vectors and history in this process, both kinds of calls to ``address``."""
    import httpx
    from openai import OpenAI
    from qdrant_client import QdrantClient

    package = load()
    connection = {"openai_base_url": address, "api_key": "none"}
    made = package.Memory.from_config(
        {
            "vector_store": {
                "provider": "qdrant",
                "config": {
                    "client": QdrantClient(":memory:"),
                    "embedding_model_dims": dimensions,
                    "collection_name": "m",
                },
            },
            "llm": {"provider": "openai", "config": {"model": model, **connection}},
            "embedder": {
                "provider": "openai",
                "config": {"model": embedder, "embedding_dims": dimensions, **connection},
            },
            "history_db_path": ":memory:",
            "custom_instructions": INSTRUCTIONS,
        }
    )
    # its own clients would follow proxies and OPENROUTER_API_KEY, and try again what failed
    http = httpx.Client(trust_env=False, timeout=seconds)
    client = OpenAI(base_url=address, api_key="none", max_retries=0, http_client=http)
    made.llm.client = made.embedding_model.client = client
    for store in (made.vector_store, made.entity_store):
        store._bm25_encoder = False  # with fastembed installed it would download a model
    return made


def close(made: Any) -> None:
    """Free a memory and its connections."""
    made.llm.client.close()
    made.close()
    made.vector_store.client.close()


def _home() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "camg" / "mem0"


def _has_model() -> bool:
    return all(importlib.util.find_spec(name) is not None for name in ("spacy", "en_core_web_sm"))
