"""The environment ``vault``: remember a code across contexts.

Day 1 tells a code of two words; opening the vault with it ends the day. The end of a day is a *declared boundary*:
the policy is asked to keep what it needs in a file, then its context is replaced. Later days tell no code. One
correct opening pays ``1 / days``, a wrong one ends the episode, an invalid action costs 0.01.
"""

from collections.abc import Mapping, Sequence

import attrs

from camg.errors import DataError
from camg.protocols import Box, Boxes
from camg.types import (
    Action,
    CheckpointVerdict,
    EndReason,
    Observation,
    Outcome,
    Parameter,
    StepResult,
    Task,
    Tool,
    Workspace,
)
from camg_example_env.config import BUDGET, VaultConfig

# fmt: off
COLOURS = ("red", "blue", "green", "black", "white", "gold", "grey", "pink",
           "brown", "teal", "lime", "plum", "rose", "sand", "mint", "rust")
ANIMALS = ("fox", "owl", "cat", "bee", "elk", "ant", "cod", "hen",
           "dog", "pig", "yak", "eel", "ape", "ram", "jay", "bat")
# fmt: on
INVALID = -0.01


def codes(split: str) -> list[str]:
    """The split's codes: each colour and each animal occurs in both splits, no pair in both."""
    if split not in ("train", "eval"):
        raise DataError(f"Expected split 'train' or 'eval' for vault, got {split!r}.")
    held_out = split == "eval"
    pairs = ((i + j, f"{c} {a}") for i, c in enumerate(COLOURS) for j, a in enumerate(ANIMALS))
    return [code for diagonal, code in pairs if (diagonal % len(COLOURS) == 0) == held_out]


class Vault:
    """The family of tasks. One object per process; it holds nothing that changes."""

    tools: Sequence[Tool] = (Tool("open", "Open the vault.", (Parameter("code", "the code, two words"),)),)

    def __init__(self, config: VaultConfig) -> None:
        self.config = config

    def task_ids(self, split: str) -> Sequence[str]:
        """``vault.<split>.<colour>-<animal>``."""
        return [f"vault.{split}.{code.replace(' ', '-')}" for code in codes(split)]

    def task(self, task_id: str) -> Task:
        """The task behind an id. Raises :class:`DataError` for an unknown one."""
        _, _, rest = task_id.partition("vault.")
        split, _, slug = rest.partition(".")
        code = slug.replace("-", " ")
        if code not in codes(split):
            raise DataError(f"Expected the id of a vault task, such as vault.train.red-owl, got {task_id!r}.")
        return Task(
            id=task_id, env="vault", split=split, budget=BUDGET, payload={"code": code, "days": self.config.days}
        )

    def workspace(self, task: Task) -> Workspace:
        """An empty folder: files are the policy's business."""
        return Workspace()

    def open(self, task: Task, box: Box, boxes: Boxes) -> "VaultSession":
        """Start one episode."""
        return VaultSession(task.payload)


class VaultSession:
    """One episode."""

    def __init__(self, payload: Mapping[str, object]) -> None:
        self._code, self._days = str(payload["code"]), int(str(payload["days"]))
        self._day, self._opened, self._closing = 1, 0, False

    def brief(self) -> str:
        """What opens every context of this day."""
        if self._day == 1:
            return f"Day 1. Today's code is {self._code}. It stays the same."
        return f"Day {self._day}. The code is the same as before."

    def step(self, action: Action) -> StepResult:
        """``open[CODE]``. While a checkpoint is awaited the vault is closed."""
        if self._closing:
            return StepResult(Observation("The vault is closed for today."), reward=INVALID, invalid=True)
        if action.arguments["code"].strip().lower() != self._code:
            return StepResult(Observation("Wrong code. The vault is locked for good."), terminated=True)
        self._opened += 1
        last = self._opened == self._days
        self._closing = not last
        return StepResult(Observation("It opens."), reward=1 / self._days, terminated=last, boundary=not last)

    def after_action(self, action: Action, result: StepResult, checkpoint: CheckpointVerdict | None) -> StepResult:
        """Every action passes here, whoever executed it: price the responses that held no action."""
        return attrs.evolve(result, reward=INVALID) if action.fault else result

    def reminder(self, path: str, limit: int) -> str:
        """Asks for the checkpoint; day and code must go in, since an unchanged file is refused."""
        return f"The day ends. Save the code and the day to {path}."

    def cross(self) -> str:
        """The checkpoint was accepted: the next day."""
        self._day, self._closing = self._day + 1, False
        return self.brief()

    def finish(self, reason: EndReason) -> tuple[float, Outcome]:
        """No final reward; success is the share of days on which the vault opened."""
        return 0.0, Outcome(success=self._opened / self._days, complete=self._opened == self._days)

    def close(self) -> None:
        """Nothing is held."""
