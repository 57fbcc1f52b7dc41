"""Numbers and times as people read them."""

from __future__ import annotations

from collections.abc import Mapping


def percent(fraction: float | None) -> str:
    """``0.1234`` -> ``"12.3 %"``; None -> ``"n/a"``."""
    return "n/a" if fraction is None else f"{100 * fraction:.1f} %"


def duration(seconds: float) -> str:
    """``75`` -> ``"1 min 15 s"``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def size(count: float) -> str:
    """Bytes: ``1536`` -> ``"1.5 KiB"``."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def composition(counts: Mapping[str, int]) -> str:
    """``{"wrong fix": 58, "never submitted": 35}`` -> ``"wrong fix 58 (62.4 %), never submitted 35 (37.6 %)"``."""
    total = sum(counts.values())
    return ", ".join(f"{name} {count} ({percent(count / total)})" for name, count in counts.items())


def mean_costs(costs: Mapping[str, float]) -> str:
    """``{"git_calls": 4.0, "model_tokens": 812.25}`` -> ``"git calls 4.0, model tokens 812.2 for each episode"``."""
    return ", ".join(f"{name.replace('_', ' ')} {value:.1f}" for name, value in costs.items()) + " for each episode"
