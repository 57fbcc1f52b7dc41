"""Runs as the report reads them: every cell with its label, its curve and what its evaluations found."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import field, frozen

from camg.config.rundir import read_manifest
from camg.report.labels import tell_apart
from camg.supervise.evaluation import TASKS_FILE
from camg.supervise.metrics import read_reports
from camg.supervise.summary import by_environment
from camg.types import UpdateReport

MEASURES = {"success": "success", "complete": "wholly solved"}
"""What is measured on every episode -> what people call it."""


@frozen(kw_only=True)
class CellResult:
    """One cell. ``held_out``: rows of ``update``, ``success`` and ``complete`` by environment, in order of update.

    ``tasks``: environment -> task -> measure (of :data:`MEASURES`) -> value, from the last held-out evaluation of a
    finished cell; an environment of which an episode could not be run is not in it.
    """

    run: Path
    digest: str
    label: str
    values: Mapping[str, Any]
    status: str
    reports: Sequence[UpdateReport]
    held_out: Sequence[Mapping[str, Any]] = ()
    summary: Mapping[str, Any] = field(factory=dict)
    tasks: Mapping[str, Mapping[str, Mapping[str, float]]] = field(factory=dict)

    @property
    def envs(self) -> list[str]:
        """The environments of the cell."""
        return list(self.values["env"])

    @property
    def warm_started(self) -> bool:
        """Did the policy begin from demonstrations?"""
        return bool(self.summary.get("policy_warm_start"))

    def curve(self, measure: str, env: str) -> tuple[list[int], list[float]]:
        """Updates, and the share of an update's episodes (a row of :data:`MEASURES`)."""
        points = [(r.update, by_environment(r, measure).get(env)) for r in self.reports]
        kept = [(update, value) for update, value in points if value is not None]
        return [update for update, _ in kept], [value for _, value in kept]

    def evaluated(self, measure: str, env: str) -> tuple[list[int], list[float]]:
        """Updates, and held-out values."""
        points = [(row["update"], row.get(measure, {}).get(env)) for row in self.held_out]
        kept = [(update, value) for update, value in points if value is not None]
        return [update for update, _ in kept], [value for _, value in kept]


def load_runs(paths: Sequence[Path]) -> list[CellResult]:
    """Every cell of the runs, each with a label that tells it from the others.

    A cell that has not begun, or is still running, is there with what it has. Raises :class:`RunDirectoryError` or
    :class:`CorruptState` for a run without a readable manifest.
    """
    found: list[tuple[Path, str, Mapping[str, Any]]] = []
    for path in paths:
        for digest, cell in read_manifest(path)["cells"].items():
            found.append((path, digest, cell.get("values", {})))
    labels = _labels(found)
    return [_load(path, digest, label, values) for (path, digest, values), label in zip(found, labels, strict=True)]


def _load(path: Path, digest: str, label: str, values: Mapping[str, Any]) -> CellResult:
    cell = path / "cells" / digest
    summary = _read(cell / "summary.json")
    evaluations = [row for row in summary.get("evaluations", []) if isinstance(row, Mapping) and "update" in row]
    return CellResult(
        run=path,
        digest=digest,
        label=label,
        values=values,
        status=str(summary.get("status", "not finished")),
        reports=read_reports(cell / "metrics.jsonl"),
        held_out=sorted(evaluations, key=lambda row: int(row["update"])),
        summary=summary,
        tasks=_tasks(cell, values, summary) if summary.get("status") == "finished" else {},
    )


def _tasks(cell: Path, values: Mapping[str, Any], summary: Mapping[str, Any]) -> dict[str, dict[str, dict[str, float]]]:
    """See :class:`CellResult`. A policy that is not trained has one evaluation, which is its first and its last."""
    path = cell / "evaluation" / ("final" if values.get("run.updates") else "initial") / TASKS_FILE
    whole = (summary.get("final") or {}).get("success") or {}
    found: dict[str, dict[str, dict[str, float]]] = {}
    try:
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if whole.get(row["env"]) is not None:
                values_of = {measure: float(row[measure]) for measure in MEASURES}
                found.setdefault(row["env"], {})[row["task"]] = values_of
    except (OSError, ValueError, KeyError, TypeError):
        return {}  # not there, or damaged: the comparison says N/A
    return found


def _read(path: Path) -> dict[str, Any]:
    """A JSON object; empty when it is not there yet or damaged, since a report shows what there is."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _labels(cells: Sequence[tuple[Path, str, Mapping[str, Any]]]) -> list[str]:
    """What differs between the cells, in words; where nothing does, the run's name."""
    if len(cells) == 1:
        return [cells[0][0].name]
    labels = tell_apart([values for _, _, values in cells])
    if len(set(labels)) == len(labels):
        return labels
    return [f"{label} ({path.name}/{digest})" for (path, digest, _), label in zip(cells, labels, strict=True)]
