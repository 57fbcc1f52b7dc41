"""Options of Mem0."""

from __future__ import annotations

from attrs import frozen
from attrs.validators import and_, ge, gt, le

from camg.specs import option

PROMPT_TOKENS = 16_384
"""The least prompt limit: mem0ai's extraction prompt, and as much again for what it is about."""


@frozen
class Mem0Config:
    """``--memory mem0``."""

    top_k: int = option(5, "memories that a fresh context shows", validator=ge(1))
    threshold: float = option(
        0.1, "memories less like the query than this are left out", validator=and_(ge(0.0), le(1.0))
    )
    every_n: int = option(0, "also extract and search after so many responses; 0: at boundaries alone", validator=ge(0))
    extraction_tokens: int = option(2048, "limit of one answer to the extraction prompt", validator=ge(1))
    new_share: float = option(
        0.4,
        "share of the prompt limit that new messages may take; the longest are halved",
        validator=and_(gt(0.0), le(1.0)),
    )
    memory_bytes: int = option(1024, "limit of one memory that is shown; what follows is cut", validator=ge(1))
    query_bytes: int = option(4096, "limit of the query: the end of task and latest observation", validator=ge(1))
    seconds: float = option(600.0, "time limit of one request of the package", validator=gt(0.0))
