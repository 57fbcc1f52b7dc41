"""A file of rows becomes instances and named rejections; no row is lost, none ends the import."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from camg.errors import DataError
from camg_coding.importers.files import Record, records
from camg_coding.importers.report import Import, Malformed, Rejected
from camg_coding.importers.rows import AUTO, FORMATS, convert, identify, tell_format
from camg_coding.records import Instance


def read_rows(path: Path, *, format: str = AUTO) -> Import:
    """Read SWE-smith, SWE-bench or SWE-Gym rows from JSON Lines, JSON or parquet.

    Args:
        path: the file; what it holds tells its kind, not its name.
        format: one of :data:`FORMATS`; "auto" tells the format of each row by its fields.

    Returns:
        Instances without a profile, in the file's order, and every other row with its reason.

    Raises:
        DataError: the file cannot be read, holds no rows, or ``format`` is unknown.
    """
    if format not in FORMATS:
        raise DataError(f"Expected one of {', '.join(FORMATS)} as format, got {format!r}.")
    instances: list[Instance] = []
    rejected: list[Rejected] = []
    rows: dict[str, int] = {}
    formats: set[str] = set()
    for record in records(path):
        try:
            row = _row(record)
            told = tell_format(row) if format == AUTO else format
            instance = convert(row, told)
            if instance.instance_id in rows:
                raise Malformed("duplicate instance_id", f"as in row {rows[instance.instance_id]}")
        except Malformed as fault:
            known = identify(record.value) or record.key[:200]
            rejected.append(Rejected(path.name, record.number, known, fault.reason, fault.detail))
            continue
        formats.add(told)
        rows[instance.instance_id] = record.number
        instances.append(instance)
    if not instances and not rejected:
        raise DataError(f"Expected rows in {path}, found none.")
    told = formats.pop() if len(formats) == 1 else ("mixed" if formats else format)
    return Import.of(instances, rejected, told, rows)


def _row(record: Record) -> Mapping[str, Any]:
    """The row as an object; in ``{"id": row}`` the key stands for a missing instance_id."""
    if record.fault is not None:
        raise record.fault
    row = record.value
    if not isinstance(row, Mapping):
        raise Malformed("not an object", f"got {type(row).__name__}")
    if record.key and row.get("instance_id") not in (None, record.key):
        raise Malformed(
            "malformed instance_id", f"{record.key[:80]!r} is its key, {row['instance_id']!r:.80} its field"
        )
    return {**row, "instance_id": record.key} if record.key else row
