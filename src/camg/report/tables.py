"""The table of a report: one row for each cell and environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from camg.report.format import duration, percent
from camg.report.load import MEASURES, CellResult

RECENT = 5
"""Updates over which the end of a training curve is averaged."""


def rows(cells: Sequence[CellResult]) -> list[dict[str, Any]]:
    """For each cell and environment: training at the end, held out before and after, and what it took."""
    return [_row(cell, env) for cell in cells for env in cell.envs]


def _row(cell: CellResult, env: str) -> dict[str, Any]:
    row: dict[str, Any] = {"run": str(cell.run), "cell": cell.digest, "label": cell.label, "env": env}
    row |= {"status": cell.status, "updates": len(cell.reports), "policy_warm_start": cell.warm_started}
    row["episodes"] = sum(len(report.episodes) for report in cell.reports)
    row["seconds"] = cell.reports[-1].time.get("elapsed") if cell.reports else None
    for measure in MEASURES:
        last = cell.curve(measure, env)[1][-RECENT:]
        row[f"training.{measure}"] = sum(last) / len(last) if last else None
        for name in ("initial", "final"):
            found = cell.summary.get(name) or {}
            row[f"{name}.{measure}"] = (found.get(measure) or {}).get(env)
            row[f"{name}.{measure}.interval"] = interval(found, env, measure)
    return row


def interval(found: Mapping[str, Any], env: str, measure: str) -> list[float] | None:
    """``[low, high]`` of an evaluation's 95 % interval, where it has one."""
    detail = ((found.get("environments") or {}).get(env) or {}).get(measure)
    return [detail["low"], detail["high"]] if isinstance(detail, Mapping) else None


def table(cells: Sequence[CellResult]) -> list[list[str]]:
    """The rows as aligned text is printed: first the heading."""
    found = [["what", "env", "measure", "held out before", "held out after", "95 % interval", "training", "took"]]
    for row in rows(cells):
        for number, (measure, label) in enumerate(MEASURES.items()):
            before, after = row[f"initial.{measure}"], row[f"final.{measure}"]
            low_high = row[f"final.{measure}.interval"]
            found.append(
                [
                    row["label"] if number == 0 else "",
                    row["env"] if number == 0 else "",
                    label,
                    percent(before) if before is not None else "-",
                    percent(after) if after is not None else "-",
                    " to ".join(percent(bound) for bound in low_high) if low_high else "-",
                    percent(row[f"training.{measure}"]) if row[f"training.{measure}"] is not None else "-",
                    _took(row) if number == 0 else "",
                ]
            )
    return found


def _took(row: Mapping[str, Any]) -> str:
    text = f"{row['updates']} updates, {row['episodes']} episodes"
    text += f", {duration(row['seconds'])}" if row["seconds"] else ""
    return text if row["status"] == "finished" else f"{text} ({row['status']})"


def remarks(cells: Sequence[CellResult]) -> list[str]:
    """What a reader must know beside the figures."""
    found = [f"training: mean of the last {RECENT} updates, on training tasks. held out: at the training temperature."]
    if any(cell.warm_started for cell in cells):
        found.append(WARM_START)
    return found


WARM_START = (
    "The embedded policy was warm-started on imperfect demonstrations before the first update: "
    "what is shown selects and sharpens behaviour that they already hold at a low rate."
)
