"""The live display: phase, success by environment climbing, speed, lag, time left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from camg.types import Episode, UpdateReport
from camg_reporters.text import by_environment, clock, moving, percent, phase_words, result_words, sparkline


class LiveProgress:
    """A few lines at the foot of the terminal, redrawn in place; what else is printed scrolls above them."""

    needs_episodes = False  # reading them back costs CPU that rollout and learner can use

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._live: Live | None = None
        self._progress: Any = None
        self._curves: dict[str, list[float]] = {}

    def start(self, run: Mapping[str, Any]) -> None:
        """Open the display."""
        self._console.print(f"run in {run.get('directory', '?')}", style="dim", highlight=False)
        self._live = Live(console=self._console, refresh_per_second=4, get_renderable=self.render)
        self._live.start()

    def episode(self, episode: Episode) -> None:
        """Nothing: the progress has their number."""

    def progress(self, progress: Any) -> None:
        """Keep where the run stands; the display redraws itself."""
        if progress.phase != "start" or self._progress is None:  # "start" also stands between two phases
            self._progress = progress

    def update(self, report: UpdateReport) -> None:
        """One more point for each environment's curve."""
        for env, value in by_environment(report.metrics, "complete").items():
            self._curves.setdefault(env, []).append(value)

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Close the display and say how the cell ended."""
        if self._live is not None:
            self._live.stop()
            self._live = None
        good = summary.get("status") == "finished"
        self._console.print(result_words(summary), style="green" if good else "yellow", highlight=False)

    # ------------------------------------------------------------ what is drawn
    def render(self) -> RenderableType:
        """The display as it is now."""
        if self._progress is None:
            return Text("start", style="bold")
        return Group(self._phase(), self._environments(), self._figures())

    def _phase(self) -> RenderableType:
        progress = self._progress
        row = Table.grid(padding=(0, 2))
        bar = ProgressBar(total=progress.total or 1, completed=progress.done, width=30)
        row.add_row(Text(phase_words(progress), style="bold"), bar, Text(self._time(progress), style="dim"))
        return row

    def _time(self, progress: Any) -> str:
        left = f", {clock(progress.seconds_left)} left" if progress.seconds_left is not None else ""
        return clock(progress.seconds) + left

    def _environments(self) -> RenderableType:
        """For each environment: tasks wholly solved over the last updates, and how that climbed."""
        grid = Table.grid(padding=(0, 2))
        width = max(10, min(60, self._console.width - 40))
        for env, values in self._curves.items():
            mean = moving(values)
            style = "green" if mean >= 0.9 else "yellow" if mean >= 0.5 else "red"
            grid.add_row(
                Text(env, style="bold"),
                Text(f"solved {percent(mean)}", style=style),
                Text(sparkline(values, width), style=style),
            )
        if not self._curves:
            grid.add_row(Text("no update yet", style="dim"))
        return grid

    def _figures(self) -> RenderableType:
        progress = self._progress
        parts = [f"{progress.episodes} episodes trained on", f"{progress.episodes_per_second:.1f} episodes/s"]
        if progress.phase == "train":
            parts.append(f"lag {progress.lag:.1f}")
        if progress.faults:
            parts.append(f"{progress.faults} faults")
        return Text("  ".join(parts), style="dim")
