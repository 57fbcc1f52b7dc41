"""Options of learned compaction."""

from __future__ import annotations

from attrs import frozen
from attrs.validators import ge, in_

from camg.specs import option


@frozen
class CompactionConfig:
    """``--memory compaction``."""

    credit: str = option(
        "common",
        "common: a summary is one response of the run's estimator; original: the estimator `compaction` credits it",
        validator=in_(("common", "original")),
    )
    keep_task: bool = option(True, "the task stands in every context (the original copies it once, into the first)")
    k: int = option(2, "last whole steps that are kept beside the summary; fewer if they do not fit", validator=ge(0))
    compactions: int = option(3, "compactions under pressure; then a full context ends the episode", validator=ge(0))
    summary_tokens: int = option(2048, "limit of a summary", validator=ge(1))
    trigger_tokens: int = option(
        0, "compact as soon as fewer tokens are left below the prompt limit; 0: when the core says so", validator=ge(0)
    )
    slot: bool = option(True, "a summary takes an action slot")
