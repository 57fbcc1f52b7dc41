"""Runs as the report reads them: every cell with its label, its curve and what its evaluations found."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import field, frozen

from camg.config.rundir import read_manifest
from camg.config.toml import format_value
from camg.supervise.metrics import read_reports
from camg.supervise.summary import by_environment
from camg.types import UpdateReport

MEASURES = {"success": "success", "complete": "wholly solved"}
"""What is measured on every episode -> what people call it."""


@frozen(kw_only=True)
class CellResult:
    """One cell. ``held_out``: rows of ``update``, ``success`` and ``complete`` by environment, in order of update."""

    run: Path
    digest: str
    label: str
    values: Mapping[str, Any]
    status: str
    reports: Sequence[UpdateReport]
    held_out: Sequence[Mapping[str, Any]] = ()
    summary: Mapping[str, Any] = field(factory=dict)

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
    )


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
    names = list(dict.fromkeys(name for _, _, values in cells for name in values))
    first = cells[0][2]
    varying = [n for n in names if any(values.get(n) != first.get(n) for _, _, values in cells)]
    if "baseline" in varying:  # a baseline stands for the settings that it brings
        varying = [n for n in varying if n in ("baseline", "run.seed", "env")] or varying
    words = [[_word(name, values.get(name)) for name in varying[:4]] for _, _, values in cells]
    labels = [", ".join(filter(None, word)) or "default" for word in words]
    if len(set(labels)) == len(labels):
        return labels
    return [f"{label} ({path.name}/{digest})" for (path, digest, _), label in zip(cells, labels, strict=True)]


def _word(name: str, value: Any) -> str:
    """A setting in a legend: components by name, switches only where they are on."""
    if isinstance(value, bool):
        return name.rpartition(".")[2].replace("_", " ") if value else ""
    text = "+".join(value) if isinstance(value, list) else format_value(value).strip('"')
    components = ("env", "memory", "estimator", "policy", "sandbox", "baseline")
    return text if name in components else f"{name.rpartition('.')[2]} {text}"
