"""``summary.json`` of a cell, from what lies on disk."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from camg.config import RunConfig
from camg.plugins import Registry
from camg.rollout.cell import Cell
from camg.rollout.queue import Queue, State
from camg.rollout.store import write_beside
from camg.supervise.evaluation import results
from camg.supervise.metrics import read_reports
from camg.types import UpdateReport


def summarise(cell: Cell, config: RunConfig, registry: Registry, *, status: str, error: str = "") -> dict[str, Any]:
    """The summary of a cell; ``status`` is finished, failed or interrupted.

    ``final`` and ``initial``: held-out success and complete by environment (None: N/A), with intervals in
    ``environments``. ``curve``: one entry for each update.
    """
    reports = read_reports(cell.metrics)
    evaluations = {result["name"]: result for result in results(cell)}
    queue = Queue(cell.root, create=True)
    counts, damaged = queue.counts(), queue.damaged()
    queue.close()
    spec = registry.spec("policy", config.policy)
    initial = evaluations.get("initial")
    final = evaluations.get("final") or (initial if config.run.updates == 0 else None)
    return {
        "status": status,
        **({"error": error} if error else {}),
        "updates": len(reports),
        "episodes": counts[State.USED],
        "faults": counts[State.FAULTED],
        "damaged_files": damaged,
        "seconds": reports[-1].time.get("elapsed", 0.0) if reports else 0.0,
        "policy_warm_start": bool(spec.embedded),
        "initial": _held_out(initial),
        "final": _held_out(final),
        "evaluations": [evaluations[name] for name in evaluations],
        "curve": _curve(reports),
    }


def _held_out(result: Mapping[str, Any] | None) -> dict[str, Any]:
    if result is None:
        return {"success": {}, "complete": {}}
    return {key: result[key] for key in ("success", "complete", "update", "temperature", "environments")}


def _curve(reports: list[UpdateReport]) -> list[dict[str, Any]]:
    curve, episodes = [], 0
    for report in reports:
        episodes += len(report.episodes)
        curve.append(
            {
                "update": report.update,
                "success": by_environment(report, "success"),
                "complete": by_environment(report, "complete"),
                "episodes": episodes,
                "seconds": report.time.get("elapsed", 0.0),
            }
        )
    return curve


def by_environment(report: UpdateReport, name: str) -> dict[str, float]:
    """``{"success/shop": x} -> {"shop": x}``."""
    prefix = f"{name}/"
    return {key.removeprefix(prefix): value for key, value in report.metrics.items() if key.startswith(prefix)}


def write_summary(cell: Cell, summary: Mapping[str, Any]) -> None:
    """Write ``summary.json``, whole or not at all."""
    write_beside(cell.summary, json.dumps(summary, indent=1).encode())
