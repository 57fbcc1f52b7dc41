"""AgeMem's three stages (arXiv 2601.01885), on environments that its authors did not use.

How the paper maps them onto its four environments (D.4) is not published. Here, in the order of the original:

1. *Exposure*: the tasks as they are, and Retrieve_memory is done for the policy after each response, with what it just
   saw as the query, and at each fresh context.
2. *Distraction*: nothing is retrieved unasked; a full context is cleared while the store stays, and unrelated sentences
   open each fresh context.
3. *Query*: the memory as it is; the context persists until it overflows, as in evaluations.

The original plays the three within one conversation. Here they are parts of a run: an episode is in one of them.
"""

from __future__ import annotations

from camg.types import Stage
from camg_agemem.config import StagesConfig


class Stages:
    """See the module's docstring."""

    def __init__(self, config: StagesConfig) -> None:
        self.config = config

    def stages(self) -> tuple[Stage, ...]:
        """Three, a third of the updates each."""
        distraction = {"agemem.reset": True, "agemem.distractors": self.config.distractors}
        return (
            Stage("exposure", 1 / 3, {"agemem.inject": True}),
            Stage("distraction", 1 / 3, distraction),
            Stage("query", 1 / 3),
        )
