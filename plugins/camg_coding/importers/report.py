"""What an import gives: instances, and every row that gave none, with its reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from attrs import field, frozen

from camg_coding.records import Instance


class Malformed(ValueError):
    """A row that cannot become an instance. ``reason`` is what rows are counted by, ``detail`` what was seen."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


def _printable(text: str) -> str:
    """Rows hold anything: control characters and halves of characters are shown by their escapes."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


@frozen
class Rejected:
    """A row that was left out."""

    file: str
    row: int  # from 1: the line of JSON Lines, else the position in the file
    instance_id: str = field(converter=_printable)  # "" where it is not known
    reason: str  # from a fixed list: counts go by it
    detail: str = field(default="", converter=_printable)

    def __str__(self) -> str:
        who = f" ({self.instance_id})" if self.instance_id else ""
        return f"{self.file}, row {self.row}{who}: {self.reason}" + (f": {self.detail}" if self.detail else "")


@frozen
class Import:
    """What a file of rows gave. Every row is in one of the two: ``len(instances) + len(rejected)`` rows were read."""

    instances: tuple[Instance, ...]
    rejected: tuple[Rejected, ...]
    format: str  # "swe-smith", "swe-bench", "swe-gym"; "mixed" where rows of several formats were told by their fields
    counts: Mapping[str, int] = field(factory=dict)  # "rows", "tasks", then the reasons, most frequent first
    rows: Mapping[str, int] = field(factory=dict)  # instance_id -> row, for whoever rejects it later

    @classmethod
    def of(
        cls, instances: Sequence[Instance], rejected: Sequence[Rejected], format: str, rows: Mapping[str, int]
    ) -> Import:
        """With its counts."""
        reasons = Counter(fault.reason for fault in rejected)
        counts = {"rows": len(instances) + len(rejected), "tasks": len(instances)}
        ordered = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
        return cls(tuple(instances), tuple(rejected), format, counts | dict(ordered), dict(rows))


def table(found: Import) -> str:
    """The counts as lines of text: rows read, tasks kept, and what was left out by reason."""
    width = max(len(name) for name in found.counts)
    return "\n".join(f"  {name:<{width}} {count:>9,}" for name, count in found.counts.items())
