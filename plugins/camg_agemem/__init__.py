"""AgeMem (arXiv 2601.01885): six tools over a store of embedded entries and over the policy's own context."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Mapping
from typing import Any

from camg import hookimpl
from camg.specs import MemorySpec, RecipeSpec, RewardSpec
from camg_agemem.config import AgeMemConfig, CompositeConfig, StagesConfig


@hookimpl
def camg_memories() -> Iterable[MemorySpec]:
    """Offer ``--memory agemem``."""
    yield MemorySpec(
        name="agemem",
        summary="Six tools: a store of embedded entries, and the context summed up or filtered at will (AgeMem).",
        factory="camg_agemem.memory:AgeMem",
        config=AgeMemConfig,
        habit="camg_agemem.habit:StoreHabit",
        pocket=True,
        pocket_profile={"pocket.artefact": "agemem", "agemem.dialect": "policy"},
    )


@hookimpl
def camg_rewards() -> Iterable[RewardSpec]:
    """Offer ``--reward agemem-composite``."""
    yield RewardSpec(
        name="agemem-composite",
        summary="AgeMem's: task, use of the context, use of the store, and penalties, at the last response.",
        factory="camg_agemem.reward:Composite",
        config=CompositeConfig,
    )


@hookimpl
def camg_recipes() -> Iterable[RecipeSpec]:
    """Offer ``--recipe agemem-stages``."""
    yield RecipeSpec(
        name="agemem-stages",
        summary="AgeMem's three stages: exposure with retrieval unasked, distraction, then the memory as it is.",
        factory="camg_agemem.recipe:Stages",
        config=StagesConfig,
    )


@hookimpl
def camg_validate_run(config: Mapping[str, Any]) -> Iterable[str]:
    """Sentence embeddings need their library and a model."""
    if config["memory"] != "agemem" or config["agemem.encoder"] != "sentence-transformers":
        return
    if not config["agemem.model"]:
        yield "agemem.encoder=sentence-transformers needs agemem.model: a folder of a model, or its name"
    if importlib.util.find_spec("sentence_transformers") is None:
        yield (
            "agemem.encoder=sentence-transformers needs the package sentence-transformers, which is not installed: "
            "`pip install sentence-transformers`, or agemem.encoder=hashing"
        )
