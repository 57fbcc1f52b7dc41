"""Options of AgeMem."""

from __future__ import annotations

from attrs import frozen
from attrs.validators import and_, ge, in_, le

from camg.specs import option


@frozen
class AgeMemConfig:
    """``--memory agemem``."""

    dialect: str = option(
        "own",
        "own: every call in AgeMem's envelope <think>, <tool_call>[…]; policy: calls as the policy writes them",
        validator=in_(("own", "policy")),
    )
    aliases: bool = option(False, 'accept `confirmed` for `confirmation` and span "full" for "all", as its cases do')
    top_k: int = option(
        3, "entries that Retrieve_memory shows where a call does not say", validator=and_(ge(1), le(20))
    )
    threshold: float = option(
        0.6, "Filter_context removes messages of at least this cosine to the criteria", validator=and_(ge(0.0), le(1.0))
    )
    encoder: str = option(
        "hashing",
        "hashing: hashed words and character n-grams, offline; sentence-transformers: a model",
        validator=in_(("hashing", "sentence-transformers")),
    )
    model: str = option("", "of encoder=sentence-transformers: a folder, or a name")
    inject: bool = option(False, "show the nearest entries with every reply, unasked (first stage of its recipe)")
    reset: bool = option(False, "a full context is cleared and the store stays, instead of the end (second stage)")
    distractors: int = option(0, "unrelated sentences that open each fresh context (second stage)", validator=ge(0))
    summary_tokens: int = option(1024, "limit of a summary by Summary_context", validator=ge(1))
    text_bytes: int = option(8192, "limit of one content, query, criteria or metadata object", validator=ge(1))
    entries: int = option(1000, "limit of the store", validator=ge(1))


@frozen
class StagesConfig:
    """``--recipe agemem-stages``."""

    distractors: int = option(3, "unrelated sentences in each fresh context of the second stage", validator=ge(0))


@frozen
class CompositeConfig:
    """``--reward agemem``."""

    weight: float = option(1.0, "of each of the three terms; its paper's appendix has 1/3", validator=ge(0.0))
