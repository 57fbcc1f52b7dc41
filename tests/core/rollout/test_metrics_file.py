"""metrics.jsonl: no gap and no duplicate, wherever a kill has cut it."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from camg.supervise.metrics import append_report, read_reports, rewind
from camg.types import UpdateReport


def report(update: int) -> UpdateReport:
    return UpdateReport(update, update, (update * 2, update * 2 + 1), {"loss/actor": 0.1 * update}, {"update": 1.5})


def test_reports_come_back_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    for update in (1, 2, 3):
        append_report(path, report(update))
    assert read_reports(path) == [report(1), report(2), report(3)]


@given(written=st.integers(0, 6), cut=st.integers(0, 400), checkpoint=st.integers(0, 6))
def test_a_rewind_ends_at_the_checkpoint(tmp_path_factory: object, written: int, cut: int, checkpoint: int) -> None:
    """Lines past the checkpoint go; its own, if the kill came before it was written, is added."""
    path: Path = tmp_path_factory.mktemp("m") / "metrics.jsonl"  # type: ignore[attr-defined]
    for update in range(1, written + 1):
        append_report(path, report(update))
    if path.exists() and checkpoint == written - 1:
        data = path.read_bytes()  # killed in the middle of the line that followed the checkpoint
        start = data.rstrip(b"\n").rfind(b"\n") + 1
        path.write_bytes(data[: start + min(cut, len(data) - start)])
    checkpoint = min(checkpoint, written + 1)  # a checkpoint is at most one update ahead of its lines
    kept = rewind(path, checkpoint, report(checkpoint) if checkpoint else None)
    assert kept == [report(update) for update in range(1, checkpoint + 1)]
    assert read_reports(path) == kept
    append_report(path, report(checkpoint + 1))
    assert [r.update for r in read_reports(path)] == list(range(1, checkpoint + 2))


def test_a_gap_ends_what_is_believed(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    for update in (1, 2, 4):
        append_report(path, report(update))
    assert [r.update for r in read_reports(path)] == [1, 2]
