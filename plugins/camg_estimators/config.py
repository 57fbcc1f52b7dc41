"""Options of the estimators."""

from __future__ import annotations

from attrs import frozen
from attrs.validators import ge, le

from camg.specs import option

UNIT = [ge(0), le(1)]


@frozen
class GaeConfig:
    """Generalised advantage estimation (Table 5: both 1)."""

    gamma: float = option(1.0, "discount of a step, in [0, 1]", validator=UNIT)
    lam: float = option(1.0, "lambda: 0 trusts the critic, 1 the rewards, in [0, 1]", validator=UNIT)


@frozen
class DiscountConfig:
    """A discount per sampled token."""

    gamma: float = option(1.0, "discount of a sampled token, in [0, 1]", validator=UNIT)


@frozen
class GroupConfig:
    """Groups of episodes that share a task."""

    size: int = option(8, "episodes of one task in a group", validator=ge(2))
    normalise: bool = option(True, "divide by the group's standard deviation; false: Dr. GRPO")


@frozen
class GroupSize8:
    """Groups of episodes that share a task."""

    size: int = option(8, "episodes of one task in a group", validator=ge(2))


@frozen
class GroupSize4:
    """Groups of episodes that share a task."""

    size: int = option(4, "episodes of one task in a group", validator=ge(2))


@frozen
class ReturnConfig:
    """Monte-Carlo returns."""

    gamma: float = option(1.0, "discount of a response, in [0, 1]", validator=UNIT)
