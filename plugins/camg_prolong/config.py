"""Options of the searched log."""

from __future__ import annotations

from attrs import frozen
from attrs.validators import ge

from camg.specs import option


@frozen
class ProlongConfig:
    """``--memory prolong``."""

    log_bytes: int = option(1 << 20, "limit of the log; once it is reached nothing more is logged", validator=ge(4096))
