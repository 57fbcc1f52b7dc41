"""A third-party memory for CAMG, ``journal``, and a baseline of the same name for sweeps.

Hooks only name what there is. The factory is a string, so that ``camg --help`` does not import the module behind it.
"""

from collections.abc import Iterable

from camg import hookimpl
from camg.specs import BaselineSpec, MemorySpec
from camg_example_memory.config import JournalConfig


@hookimpl
def camg_memories() -> Iterable[MemorySpec]:
    """Offer the journal."""
    yield MemorySpec(
        name="journal",
        summary="At each boundary the policy writes one entry; the latest entries open the next context.",
        factory="camg_example_memory.journal:Journal",
        config=JournalConfig,
        habit="camg_example_memory.journal:EntryHabit",
        pocket=True,
        # its short texts are those that this warm start has seen; a memory with others builds its own
        pocket_profile={"pocket.artefact": "summary"},
    )


@hookimpl
def camg_baselines() -> Iterable[BaselineSpec]:
    """Offer the journal with common training, so that one sweep compares it with the shipped methods."""
    yield BaselineSpec(
        name="journal",
        summary="An append-only journal under common training: an entry is one response among the others.",
        components={"memory": "journal", "estimator": "response-gae"},
        settings={"learner.no_memory_gradient": False},
        table="none: an example",
    )
