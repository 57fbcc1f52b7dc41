"""Options of MemFS. The window is the run's prompt limit; the original's figures are the defaults."""

from __future__ import annotations

from attrs import frozen
from attrs.validators import and_, ge, gt, le

from camg.specs import option

_SHARE = and_(ge(0.0), le(1.0))
_PART = and_(gt(0.0), le(1.0))


@frozen
class LettaConfig:
    """``--memory letta``."""

    reserve_tokens: int = option(16384, "compact when fewer tokens of the window are left than this", validator=ge(0))
    reserve_share: float = option(0.2, "or than this share of the window, whichever is less", validator=_SHARE)
    evict_from: float = option(0.4, "share of the messages that a compaction evicts first", validator=_PART)
    evict_step: float = option(0.1, "how much more is tried while too much is kept", validator=_PART)
    keep_below: float = option(0.7, "what is kept is to take less than this share of the window", validator=_PART)
    summary_words: int = option(300, "limit of the summary of what was evicted; what follows is cut", validator=ge(1))
    summary_tokens: int = option(1024, "limit of its sampling", validator=ge(1))
    session_summary: bool = option(False, "a summary crosses the environment's own boundaries too, not files alone")
    memory_share: float = option(0.3, "share of the window that files in the prompt may take", validator=_PART)
    file_bytes: int = option(65536, "limit of one file", validator=ge(1))
    files: int = option(200, "limit of files and folders", validator=ge(1))
    git_seconds: float = option(20.0, "time limit of one access to the repository", validator=gt(0.0))
