"""``metrics.jsonl``: one line for each update, without gaps or duplicates, whatever was killed when."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import asdict

from camg.rollout.store import disk_full, write_beside
from camg.types import UpdateReport


def to_json(report: UpdateReport) -> dict[str, Any]:
    """The record as plain dicts, lists and numbers."""
    return {**asdict(report, recurse=False), "episodes": list(report.episodes)}


def from_json(record: Mapping[str, Any]) -> UpdateReport:
    """The inverse. Raises ``KeyError`` for what is no report."""
    return UpdateReport(
        update=record["update"],
        version=record["version"],
        episodes=tuple(record["episodes"]),
        metrics=dict(record["metrics"]),
        time=dict(record["time"]),
    )


def read_reports(path: Path) -> list[UpdateReport]:
    """The reports in a file, up to the first line that is damaged or out of order (a kill while it was written)."""
    reports: list[UpdateReport] = []
    if not path.exists():
        return reports
    for line in path.read_bytes().split(b"\n"):
        try:
            report = from_json(json.loads(line))
        except (ValueError, KeyError, TypeError):
            break
        if report.update != len(reports) + 1:
            break
        reports.append(report)
    return reports


def append_report(path: Path, report: UpdateReport) -> None:
    """Append one line in one write. Raises :class:`BackendUnavailable` when the disk is full."""
    line = json.dumps(to_json(report)).encode() + b"\n"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise disk_full(error, path) or error from None


def rewind(path: Path, update: int, last: UpdateReport | None) -> list[UpdateReport]:
    """Make the file end with ``update``, the checkpoint's; returns what it holds then.

    Lines past it go. ``last``: the checkpoint's own report, which is missing when the kill came between checkpoint and
    line.
    """
    reports = [report for report in read_reports(path) if report.update <= update]
    if last is not None and last.update == len(reports) + 1 == update:
        reports.append(last)
    text = "".join(json.dumps(to_json(report)) + "\n" for report in reports)
    if not path.exists() or path.read_text() != text:
        write_beside(path, text.encode())
    return reports
