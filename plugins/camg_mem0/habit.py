"""How a script keeps notes by a store that it has no tools for: it is asked for them."""

from __future__ import annotations

from camg_mem0.package import INSTRUCTIONS


class ExtractionHabit:
    """A :class:`camg.protocols.Habit` without actions. The answer that is asked for is the package's JSON."""

    eager = False

    def keep(self, note: str) -> None:
        """The package asks."""

    def recall(self) -> None:
        """The next context shows what it found."""

    def asked(self, prompt: str) -> bool:
        """Is this the extraction prompt? It repeats CAMG's instructions."""
        return INSTRUCTIONS[:60] in prompt
