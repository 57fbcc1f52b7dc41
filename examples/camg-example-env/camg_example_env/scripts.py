"""Scripted policies: an oracle that solves every task through its memory file, and imperfect demonstrations.

A script reads the decoded context and returns a response, as a model would. The demonstrations warm-start the embedded
policy (``camg pocket build --env vault``); they are imperfect on purpose, so that training has something to improve.
"""

import random
import re

from camg.protocols import Dialect, Script
from camg.types import Task
from camg_example_env.vault import codes

PATH = ".agent_memory/CONTINUATION.md"
USEFUL_NOTE, READS, GUESSES_WELL = 0.4, 0.5, 0.9  # how often a demonstration does the right thing


def _script(task: Task, dialect: Dialect, *, note: float, read: float, right: float, seed: int) -> Script:
    code, draw = str(task.payload["code"]), random.Random(f"{task.id} {seed}")

    def respond(context: str) -> str:
        day = int(re.findall(r"Day (\d)\.", context)[-1])
        if "The day ends." in context:
            text = code if draw.random() < note else "done"
            command = f"mkdir -p .agent_memory; echo {day} {text} > {PATH}"
            return dialect.render("shell_command", {"command": command})
        known = code in context
        if not known and f"cat {PATH}" not in context and draw.random() < read:
            return dialect.render("shell_command", {"command": f"cat {PATH}"})
        guess = code if known and draw.random() < right else draw.choice(_others(code))
        return dialect.render("open", {"code": guess})

    return respond


def _others(code: str) -> list[str]:
    return [other for other in codes("train") if other != code]


def oracle(task: Task, seed: int, dialect: Dialect) -> Script:
    """Saves, reads and opens without a fault."""
    return _script(task, dialect, note=1.0, read=1.0, right=1.0, seed=seed)


def demonstrator(task: Task, seed: int, dialect: Dialect) -> Script:
    """Does the right thing often enough to be learnt from, and too rarely to succeed."""
    return _script(task, dialect, note=USEFUL_NOTE, read=READS, right=GUESSES_WELL, seed=seed)
