"""Plain periodic lines: for logs, pipes and terminals that can do nothing else."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any

from camg.types import Episode, UpdateReport
from camg_reporters.config import ProgressConfig
from camg_reporters.text import by_environment, clock, percent, phase_words, result_words


class PlainProgress:
    """A line when the phase changes, every ``seconds``, and every ``updates`` updates."""

    needs_episodes = False  # reading them back costs CPU that rollout and learner can use

    def __init__(self, config: ProgressConfig) -> None:
        self._config = config
        self._last = time.monotonic()
        self._phase = ""
        self._update = 0
        self._metrics: Mapping[str, float] = {}

    def start(self, run: Mapping[str, Any]) -> None:
        """Say where the run is kept."""
        self._say(f"run in {run.get('directory', '?')}")

    def episode(self, episode: Episode) -> None:
        """Nothing: there are too many, and it is not asked for them."""

    def progress(self, progress: Any) -> None:
        """Say where the run stands, if it is time to."""
        if progress.phase == "start" and self._phase:
            return  # between two phases
        now, phase = time.monotonic(), f"{progress.phase} {progress.detail}"
        every = self._config.updates
        due = now - self._last >= self._config.seconds or phase != self._phase
        if due or (every and progress.update >= self._update + every):
            self._last, self._phase, self._update = now, phase, progress.update
            self._say(self._line(progress))

    def _line(self, progress: Any) -> str:
        parts = [clock(progress.seconds), phase_words(progress)]
        if progress.phase == "train":
            parts += [f"{env} solved {percent(value).strip()}" for env, value in progress.complete.items()]
            parts.append(f"lag {progress.lag:.1f}")
        if progress.phase != "start":
            parts.append(f"{progress.episodes_per_second:.1f} episodes/s")
        if progress.faults:
            parts.append(f"{progress.faults} faults")
        if progress.phase == "train" and progress.seconds_left is not None:
            parts.append(f"{clock(progress.seconds_left)} left")
        return ", ".join(parts)

    def update(self, report: UpdateReport) -> None:
        """Keep the figures of the last update for the closing line."""
        self._metrics = report.metrics

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Say how it ended."""
        self._say(result_words(summary))
        solved = by_environment(self._metrics, "complete")
        if solved:
            last = ", ".join(f"{env} {percent(value).strip()}" for env, value in solved.items())
            self._say(f"last update, wholly solved: {last}")

    def _say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)
