"""Options of the simple managers."""

from __future__ import annotations

from attrs import frozen
from attrs.validators import ge, gt, lt

from camg.specs import option


@frozen
class AutoSummaryConfig:
    """``--memory auto-summary``."""

    tokens: int = option(1024, "limit of a summary in tokens", validator=ge(1))
    bytes: int = option(8192, "limit of a summary in bytes; what follows is cut off", validator=ge(1))


@frozen
class OverwriteConfig:
    """``--memory overwrite``."""

    tokens: int = option(1024, "limit of the memory", validator=ge(1))
    slot: bool = option(True, "an overwrite takes an action slot")


@frozen
class SlidingWindowConfig:
    """``--memory sliding-window``."""

    free: float = option(0.5, "share of the room for steps that is free after a cut", validator=[gt(0), lt(1)])
