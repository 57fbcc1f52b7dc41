"""Methods against one another, as in the paper's Table 2: a row for each method, the first is what it is held against.

A method is what the cells of a sweep have in common but for the seed: their results are averaged over the seeds.
Differences are paired by seed and task (paper Eq. 16), with intervals from 10,000 resamples of the task ids, stratified
by environment. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import field, frozen

from camg.errors import UsageError
from camg.evaluate.statistics import Interval, bootstrap_mean, paired_bootstrap
from camg.report.labels import SEED, tell_apart
from camg.report.load import MEASURES, CellResult

AVERAGE = "average"
RESAMPLES = 10_000

Tasks = Mapping[str, float]


@frozen
class Figure:
    """A method's result in one environment, or on average. None: N/A.

    ``value``: with its 95 % bootstrap interval over tasks. ``difference``: to the first method. ``by_seed``: what the
    value is the mean of.
    """

    value: Interval | None
    difference: Interval | None = None
    by_seed: Mapping[str, float] = field(factory=dict)


@frozen
class Method:
    """One row. ``figures``: measure -> environment (and :data:`AVERAGE`) -> figure. ``lacks``: why some are N/A."""

    label: str
    cells: tuple[CellResult, ...]
    seeds: tuple[str, ...]
    figures: Mapping[str, Mapping[str, Figure]] = field(factory=dict)
    lacks: tuple[str, ...] = ()


@frozen
class Comparison:
    """Every method, in the order of the grid; ``envs``: the columns, without the average."""

    envs: tuple[str, ...]
    methods: tuple[Method, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The environments and, where there are several, their average."""
        return (*self.envs, AVERAGE) if len(self.envs) > 1 else self.envs


def compare(cells: Sequence[CellResult], *, resamples: int = RESAMPLES) -> Comparison | None:
    """Compare the methods of a sweep by their last held-out evaluations.

    None for a single cell, and where no cell has a result. A method of which one seed lacks its result in an
    environment is N/A there, since means over different seeds compare nothing. The average is the unweighted mean over
    all environments (paper C.1).
    """
    if len(cells) < 2 or not any(cell.tasks for cell in cells):
        return None
    groups = _methods(cells)
    envs = tuple(dict.fromkeys(env for cell in cells for env in cell.envs))
    whole = [{m: {env: _task_values(group, env, m) for env in envs} for m in MEASURES} for group in groups]
    made = []
    for (label, group), values in zip(_labelled(groups), whole, strict=True):
        figures = {m: _figures(values[m], whole[0][m], envs, values is whole[0], resamples) for m in MEASURES}
        seeds = tuple(dict.fromkeys(_seed(cell) for cell in group))
        made.append(Method(label, tuple(group), seeds, figures, tuple(_lacking(group))))
    return Comparison(envs, tuple(made))


# ---------------------------------------------------------------- which cells are one method
def _methods(cells: Sequence[CellResult]) -> list[list[CellResult]]:
    """Cells that differ in their seed alone; in their environments too, where these do not overlap.

    (``--sweep env=shop,coding`` trains one policy for each column of a row, ``env=shop,shop+coding`` two methods.)
    """
    for apart in ((SEED, "env"), (SEED,)):
        groups = _group(cells, apart)
        if not any(_overlap(group) for group in groups):
            return groups
    return _group(cells, (SEED,), by_run=True)  # the same settings in several runs


def _group(cells: Sequence[CellResult], apart: tuple[str, ...], *, by_run: bool = False) -> list[list[CellResult]]:
    names = dict.fromkeys(name for cell in cells for name in cell.values if name not in apart)
    # a setting that only some cells have (an option of their environment) is told by what it is an option of
    varying = [n for n in names if len({json.dumps(c.values[n]) for c in cells if n in c.values}) > 1]
    groups: dict[str, list[CellResult]] = {}
    for cell in cells:
        key = json.dumps([[cell.values.get(name) for name in varying], str(cell.run) if by_run else ""])
        groups.setdefault(key, []).append(cell)
    return list(groups.values())


def _overlap(group: Sequence[CellResult]) -> bool:
    """Does one seed have two results in one environment?"""
    places = [(_seed(cell), env) for cell in group for env in cell.envs]
    return len(set(places)) < len(places)


def _labelled(groups: Sequence[list[CellResult]]) -> Iterable[tuple[str, list[CellResult]]]:
    by_env = {tuple(env for cell in group for env in cell.envs) for group in groups}
    without = (SEED,) if len(by_env) > 1 else (SEED, "env")
    labels = tell_apart([group[0].values for group in groups], without=without)
    for label, group in zip(labels, groups, strict=True):
        same = labels.count(label) > 1
        yield (f"{label} ({group[0].run.name})" if same else label), group


def _seed(cell: CellResult) -> str:
    return str(cell.values.get(SEED))


# ---------------------------------------------------------------- figures
def _task_values(group: Sequence[CellResult], env: str, measure: str) -> dict[str, Tasks]:
    """Seed -> task -> value; empty if a seed of the method lacks its result."""
    found: dict[str, Tasks] = {}
    for cell in group:
        if env in cell.envs:
            if env not in cell.tasks:
                return {}
            found[_seed(cell)] = {task: values[measure] for task, values in cell.tasks[env].items()}
    return found


def _figures(
    mine: Mapping[str, Mapping[str, Tasks]],
    first: Mapping[str, Mapping[str, Tasks]],
    envs: Sequence[str],
    is_first: bool,
    resamples: int,
) -> dict[str, Figure]:
    groups = {env: (env,) for env in envs} | ({AVERAGE: tuple(envs)} if len(envs) > 1 else {})
    found = {}
    for name, members in groups.items():
        if not all(mine[env] for env in members):
            found[name] = Figure(None)
            continue
        value = bootstrap_mean({env: list(_over_seeds(mine[env]).values()) for env in members}, resamples=resamples)
        difference = None if is_first else _difference(first, mine, members, resamples)
        shared = [seed for seed in mine[members[0]] if all(seed in mine[env] for env in members)]
        by_seed = {seed: _mean(_mean(mine[env][seed].values()) for env in members) for seed in shared}
        found[name] = Figure(value, difference, by_seed)
    return found


def _difference(
    first: Mapping[str, Mapping[str, Tasks]],
    mine: Mapping[str, Mapping[str, Tasks]],
    envs: Sequence[str],
    resamples: int,
) -> Interval | None:
    """Paired on the seeds that both have; None where there is none, or the tasks are not the same."""
    sides: tuple[dict[str, Tasks], dict[str, Tasks]] = ({}, {})
    for env in envs:
        seeds = [seed for seed in mine[env] if seed in first[env]]
        if not seeds:
            return None
        for side, values in zip(sides, (first, mine), strict=True):
            side[env] = _over_seeds({seed: values[env][seed] for seed in seeds})
    try:
        return paired_bootstrap(*sides, resamples=resamples)
    except UsageError:  # such as a sweep over evaluation.tasks
        return None


def _over_seeds(by_seed: Mapping[str, Tasks]) -> dict[str, float]:
    """Task -> mean over the seeds. Resampling tasks then keeps a task's seeds together, as they are not independent."""
    values: dict[str, list[float]] = {}
    for tasks in by_seed.values():
        for task, value in tasks.items():
            values.setdefault(task, []).append(value)
    return {task: _mean(found) for task, found in values.items()}


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found)


def _lacking(group: Sequence[CellResult]) -> Iterable[str]:
    for cell in group:
        without = [env for env in cell.envs if env not in cell.tasks]
        if without:
            unfinished = "failed" if cell.status == "failed" else f"is {cell.status}"
            why = "has no complete held-out evaluation" if cell.status == "finished" else unfinished
            yield f"seed {_seed(cell)} {why} (cell {cell.digest}: {', '.join(without)})"


# ---------------------------------------------------------------- for machines
def excludes_zero(interval: Interval | None) -> bool:
    """Is the difference significant (paper C.1: its 95 % interval excludes zero)?"""
    return interval is not None and (interval.low > 0 or interval.high < 0)


def to_json(comparison: Comparison) -> dict[str, Any]:
    """JSON-able; shares between 0 and 1, None for N/A."""
    return {
        "reference": comparison.methods[0].label,
        "environments": list(comparison.envs),
        "level": 0.95,
        "resamples": RESAMPLES,
        "methods": [
            {
                "label": method.label,
                "seeds": list(method.seeds),
                "cells": [cell.digest for cell in method.cells],
                "lacks": list(method.lacks),
                **{m: {name: _figure(f) for name, f in method.figures[m].items()} for m in MEASURES},
            }
            for method in comparison.methods
        ],
    }


def _figure(figure: Figure) -> dict[str, Any]:
    value, difference = figure.value, figure.difference
    return {
        "value": value.estimate if value else None,
        "interval": [value.low, value.high] if value else None,
        "by_seed": dict(figure.by_seed),
        "difference": difference.estimate if difference else None,
        "difference_interval": [difference.low, difference.high] if difference else None,
        "excludes_zero": excludes_zero(difference) if difference else None,
    }
