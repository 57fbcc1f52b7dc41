"""What a person sees during a run: the live display and the plain lines, fed with events that we know."""

from __future__ import annotations

import io

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from camg.plugins import load_registry
from camg.supervise.reporting import Progress
from camg.types import UpdateReport
from camg_reporters.config import ProgressConfig
from camg_reporters.live import LiveProgress
from camg_reporters.plain import PlainProgress
from camg_reporters.text import BARS, clock, sparkline

TRAIN = Progress(
    phase="train",
    done=3,
    total=130,
    update=3,
    updates=130,
    episodes=96,
    episodes_per_second=31.5,
    success={"shop": 0.5},
    complete={"shop": 0.25},
    lag=1.4,
    seconds=65.0,
    seconds_left=120.0,
)
SUMMARY = {
    "status": "finished",
    "updates": 130,
    "seconds": 119.0,
    "initial": {"complete": {"shop": 0.08}},
    "final": {"complete": {"shop": 0.99}},
}


def report(update: int, complete: float) -> UpdateReport:
    return UpdateReport(update, update, (), {"complete/shop": complete, "success/shop": complete})


def test_plain_lines_come_with_phase_time_and_updates(capsys, monkeypatch):
    now = [100.0]
    monkeypatch.setattr("camg_reporters.plain.time.monotonic", lambda: now[0])
    reporter = PlainProgress(ProgressConfig(seconds=10.0, updates=5))
    reporter.start({"directory": "runs/x"})
    said: list[int] = []

    def tell(seconds: float, **changes: object) -> None:
        now[0] += seconds
        reporter.progress(attrs.evolve(TRAIN, **changes))
        said.append(len(capsys.readouterr().err.splitlines()))

    capsys.readouterr()
    tell(0)  # a new phase
    tell(1)
    tell(1, phase="start")  # between two phases
    tell(1, update=7)
    tell(1, update=8)  # five updates after the last line
    tell(9)
    tell(1)  # ten seconds after it
    tell(1, phase="evaluate", detail="final")
    assert said == [1, 0, 0, 0, 1, 0, 1, 1]


def test_plain_lines_hold_the_figures(capsys):
    reporter = PlainProgress(ProgressConfig())
    reporter.start({"directory": "runs/x"})
    reporter.progress(attrs.evolve(TRAIN, faults=2))
    reporter.update(report(130, 0.98))
    reporter.finish(SUMMARY)
    out, err = capsys.readouterr()
    assert out == ""  # results are for stdout, progress is not
    assert err.splitlines() == [
        "run in runs/x",
        "1:05, train 3/130, shop solved 25.0 %, lag 1.4, 31.5 episodes/s, 2 faults, 2:00 left",
        "finished after 130 updates in 1:59; wholly solved, held out: shop 8.0 % -> 99.0 %",
        "last update, wholly solved: shop 98.0 %",
    ]


def test_the_live_display_climbs():
    console = Console(file=io.StringIO(), force_terminal=True, width=100, color_system=None)
    reporter = LiveProgress(console)
    reporter.start({"directory": "runs/x"})
    reporter.progress(attrs.evolve(TRAIN, phase="warm-up", done=0, total=0))
    for update in range(1, 11):
        reporter.update(report(update, update / 10))
    reporter.progress(TRAIN)
    reporter.progress(attrs.evolve(TRAIN, phase="start"))  # between two phases: what was shown stays
    with console.capture() as capture:
        console.print(reporter.render())
    drawn = capture.get()
    for words in (
        "train 3/130",
        "1:05, 2:00 left",
        "shop",
        "solved  80.0 %",
        "▁▂▃▄▅▅▆▇██",
        "31.5 episodes/s",
        "lag 1.4",
    ):
        assert words in drawn
    reporter.finish(SUMMARY)
    assert "8.0 % -> 99.0 %" in console.file.getvalue()


def test_a_terminal_decides_the_form(monkeypatch):
    registry = load_registry(quiet=True)
    assert registry.spec("reporter", "progress").default
    assert isinstance(registry.build("reporter", "progress"), PlainProgress)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert isinstance(registry.build("reporter", "progress"), LiveProgress)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(registry.build("reporter", "progress"), PlainProgress)


@given(st.lists(st.floats(0, 1), max_size=300), st.integers(0, 80))
def test_a_sparkline_fits_and_keeps_its_range(values, width):
    line = sparkline(values, width)
    assert len(line) == min(len(values), width)
    if line:
        low, high = BARS.index(min(line, key=BARS.index)), BARS.index(max(line, key=BARS.index))
        assert low >= int(min(values) * 8) - 1
        assert high <= min(7, int(max(values) * 8))


@pytest.mark.parametrize(("seconds", "words"), [(None, "-"), (0, "0:00"), (75.4, "1:15"), (3_725, "1:02:05")])
def test_the_clock(seconds, words):
    assert clock(seconds) == words
