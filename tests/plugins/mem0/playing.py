"""Whole Shop episodes through Mem0, by a script that also answers the extraction prompt."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from camg.protocols import Script
from camg.testing import play
from camg.types import Episode
from camg_mem0.config import Mem0Config
from camg_mem0.habit import ExtractionHabit
from camg_mem0.memory import Mem0
from camg_shop.demonstrator import PERFECT, pocket_script
from camg_shop.environment import Shop

WIDE = {"prompt_tokens": 1 << 17, "response_tokens": 1 << 16}
"""A byte is a token here, and the extraction prompt has 34,000."""


def answering(answer: Callable[[str], str]) -> Callable[[Any, int], Script]:
    """Perfect play whose answers to the extraction prompt pass through ``answer``."""

    def script_of(task: Any, seed: int) -> Script:
        from camg.episode.actions import BRACKET

        habit = ExtractionHabit()
        inner = pocket_script(task, seed, BRACKET, PERFECT, habit)
        return lambda context: answer(inner(context)) if habit.asked(context) else inner(context)

    return script_of


def as_json(note: str) -> str:
    return json.dumps({"memory": [{"id": "0", "text": note, "attributed_to": "assistant"}]})


def episode(answer: Callable[[str], str] = as_json, index: int = 0, **options: Any) -> Episode:
    shop = Shop()
    return play(shop, Mem0(Mem0Config(**options)), answering(answer), shop.task_ids("pocket")[index], **WIDE)
