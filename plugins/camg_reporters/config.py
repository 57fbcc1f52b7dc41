"""Options of the reporters."""

from __future__ import annotations

from attrs import frozen
from attrs.validators import ge, gt

from camg.specs import option


@frozen
class ProgressConfig:
    """How often the plain form speaks."""

    seconds: float = option(10.0, "seconds between plain lines", validator=gt(0))
    updates: int = option(5, "updates after which a plain line is due in any case; 0: never", validator=ge(0))
