"""Mem0: the mem0ai package keeps the memory, with the policy as its model behind an endpoint that CAMG serves."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Mapping
from typing import Any

from camg import hookimpl
from camg.specs import MemorySpec
from camg_mem0.config import PROMPT_TOKENS, Mem0Config


@hookimpl
def camg_memories() -> Iterable[MemorySpec]:
    """Offer ``--memory mem0``."""
    yield MemorySpec(
        name="mem0",
        summary="At each boundary mem0ai extracts memories by a call of the policy, and shows the nearest (Mem0).",
        factory="camg_mem0.memory:Mem0",
        config=Mem0Config,
        habit="camg_mem0.habit:ExtractionHabit",
        pocket_reason="its extraction prompt has some 8,000 tokens, which the embedded policy cannot read",
    )


@hookimpl
def camg_validate_run(config: Mapping[str, Any]) -> Iterable[str]:
    """The package has to be there, and room for its prompt."""
    if config["memory"] != "mem0":
        return
    if importlib.util.find_spec("mem0") is None:
        yield "the memory 'mem0' needs the package mem0ai, which is not installed: `pip install 'camg[mem0]'`"
    if config["rollout.prompt_tokens"] < PROMPT_TOKENS:
        yield (
            f"the memory 'mem0' needs rollout.prompt_tokens of {PROMPT_TOKENS} or more, since its extraction "
            f"prompt has some 8,000 tokens; got {config['rollout.prompt_tokens']}"
        )
