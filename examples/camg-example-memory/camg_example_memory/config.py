"""Options of the journal."""

from attrs import frozen

from camg.specs import option


@frozen
class JournalConfig:
    """``--memory journal``."""

    entries: int = option(3, "latest entries that a fresh context shows")
    entry_tokens: int = option(256, "limit of one entry")
