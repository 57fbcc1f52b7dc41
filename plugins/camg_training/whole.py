"""One stage that is the whole run (paper B.2: every method is trained so, unless its own recipe says otherwise)."""

from __future__ import annotations

from attrs import frozen

from camg.specs import NoConfig
from camg.types import Stage


@frozen
class Whole:
    """See the module's docstring."""

    config: NoConfig

    def stages(self) -> tuple[Stage, ...]:
        """One stage without settings."""
        return (Stage("whole", 1.0),)
