"""Which held-out episodes an evaluation runs."""

from __future__ import annotations

from collections.abc import Mapping

from camg.config import RunConfig, eval_split
from camg.plugins import Registry
from camg.rollout.rig import task_ids
from camg.rollout.schedule import draw
from camg.types import Dispatch


def evaluation_plan(
    config: RunConfig, registry: Registry, *, tasks: int | None = None, split: str | None = None
) -> list[Dispatch]:
    """The first ``tasks`` tasks of each environment's held-out split, one episode each.

    ``tasks``: default ``evaluation.tasks``; fewer where the split has fewer; 0: none. ``split``: default the
    configured one. A task's seed depends on the run's seed and the task alone, so that two evaluations are paired.
    """
    count = config.evaluation.tasks if tasks is None else tasks
    splits = {env: split or eval_split(config, registry, env) for env in config.envs}
    chosen = [(env, task) for env, ids in task_ids(config, registry, splits).items() for task in ids[:count]]
    return [
        Dispatch(index, index, env, task, draw(config.run.seed, "evaluation", env, task) >> 1)
        for index, (env, task) in enumerate(chosen)
    ]


def expected(plan: list[Dispatch]) -> Mapping[str, int]:
    """How many episodes each environment has in a plan."""
    counts: dict[str, int] = {}
    for dispatch in plan:
        counts[dispatch.env] = counts.get(dispatch.env, 0) + 1
    return counts
