"""Where the time of an update goes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from attrs import define, field


@define
class Clock:
    """Wall seconds by part of the update."""

    parts: dict[str, float] = field(factory=dict)
    started: float = field(factory=time.perf_counter)

    @contextmanager
    def __call__(self, part: str) -> Iterator[None]:
        """Add the time spent inside to ``part``."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.parts[part] = self.parts.get(part, 0.0) + time.perf_counter() - start

    def seconds(self) -> dict[str, float]:
        """``learn/<part>`` for each part, and ``learn`` for the whole update."""
        whole = {"learn": time.perf_counter() - self.started}
        return whole | {f"learn/{part}": value for part, value in self.parts.items()}
