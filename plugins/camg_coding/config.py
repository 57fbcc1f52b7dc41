"""Options of the Coding environment, and its fixed sizes. Imported by the hook: nothing heavy here."""

from __future__ import annotations

from attrs import frozen
from attrs.validators import ge, gt, lt

from camg.specs import option

BUDGET = 40  # action slots of a full episode (paper, Table 5)
POCKET_BUDGET = 12
EVAL_TASKS = 128  # of the fixed evaluation split, where the set is large enough (paper A.1.2)
SENTINEL = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"  # first line of the submitting command's output (paper A.1.2)
CHECKPOINT_PENALTY = -0.1  # a boundary response whose checkpoint write does not persist (paper, Table 6)
DIFF_BYTES = 4 << 20  # a submission that changes more is not graded
PACKAGES = "/opt/packages"  # where a box finds what the project needs


@frozen
class CodingConfig:
    """``--set coding.NAME=VALUE``."""

    tasks: str = option("", "folder of a task set made by `camg tasks build coding`; empty: the embedded set")
    seed: int = option(0, "seed of the repository-disjoint splits and of the pocket tasks", validator=ge(0))
    eval_share: float = option(0.25, "share of the repositories that are kept for evaluation", validator=[gt(0), lt(1)])
    images: bool = option(False, "also tasks that need their container image, for sandboxes that start one")
    git: bool = option(True, "give the policy a fresh one-commit git repository")
    grading_seconds: float = option(0.0, "time limit of a grading run; 0: the repository's own", validator=ge(0))
