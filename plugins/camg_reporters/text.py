"""What both forms of the display say, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

BARS = "▁▂▃▄▅▆▇█"


def percent(value: float) -> str:
    """``0.987`` -> ``" 98.7 %"``, of constant width."""
    return f"{100 * value:5.1f} %"


def clock(seconds: float | None) -> str:
    """``75`` -> ``"1:15"``; None -> ``"-"``."""
    if seconds is None:
        return "-"
    whole = max(0, round(seconds))
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}"


def sparkline(values: Sequence[float], width: int) -> str:
    """Values in [0, 1] as bars, at most ``width`` of them: neighbours are averaged."""
    if not values or width < 1:
        return ""
    count = min(width, len(values))
    edges = [round(i * len(values) / count) for i in range(count + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
    return "".join(BARS[min(len(BARS) - 1, max(0, int(mean * len(BARS))))] for mean in means)


def moving(values: Sequence[float], width: int = 5) -> float:
    """The mean of the last values."""
    last = values[-width:]
    return sum(last) / len(last)


def phase_words(progress: Any) -> str:
    """``"evaluate initial 12/256"``, ``"train 17/130"``, as long as a phase has something to count."""
    words = {"start": "loading", "warm-up": "first episodes", "evaluate": "evaluate", "train": "train"}
    text = " ".join(filter(None, [words.get(progress.phase, progress.phase), progress.detail]))
    return f"{text} {progress.done}/{progress.total}" if progress.total and progress.phase != "start" else text


def by_environment(metrics: Mapping[str, float], measure: str) -> dict[str, float]:
    """``{"success/shop": x}`` -> ``{"shop": x}``."""
    prefix = f"{measure}/"
    return {key[len(prefix) :]: value for key, value in metrics.items() if key.startswith(prefix)}


def result_words(summary: Mapping[str, Any]) -> str:
    """How the cell ended, in one line."""
    status = summary.get("status", "ended")
    parts = []
    for env, after in ((summary.get("final") or {}).get("complete") or {}).items():
        before = ((summary.get("initial") or {}).get("complete") or {}).get(env) if summary.get("updates") else None
        if after is not None:
            parts.append(f"{env} {percent(before).strip()} -> " if before is not None else f"{env} ")
            parts[-1] += percent(after).strip()
    held_out = f"; wholly solved, held out: {', '.join(parts)}" if parts else ""
    return f"{status} after {summary.get('updates', 0)} updates in {clock(summary.get('seconds'))}{held_out}"
