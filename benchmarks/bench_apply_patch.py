"""How long one patch takes: 200 hunks in a file of 10,000 lines, and inputs that make a naive search quadratic.

Run: ``python benchmarks/bench_apply_patch.py``. Prints the best of five, in milliseconds.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

from camg_apply_patch.contents import update
from camg_apply_patch.parser import PatchError, UpdateFile, parse

LINES, HUNKS = 10_000, 200


def patch(chunks: list[str]) -> str:
    """One update of ``f``."""
    return "\n".join(["*** Begin Patch", "*** Update File: f", *chunks, "*** End Patch"])


def measure(name: str, text: str, body: str) -> None:
    """Parse and apply, five times."""
    best = min(timed(lambda: run(text, body)) for _ in range(5))
    print(f"{name:32} {1000 * best:8.1f} ms")


def run(text: str, body: str) -> None:
    """A chunk without a place is part of what is measured."""
    (hunk,) = parse(body)
    if isinstance(hunk, UpdateFile):
        with contextlib.suppress(PatchError):
            update(text, hunk.chunks, "f")


def timed(act: Callable[[], None]) -> float:
    """Seconds."""
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


def main() -> None:
    """Every input once."""
    plain = "".join(f"    line {n} of the file\n" for n in range(LINES))
    step = LINES // HUNKS
    exact = [f"@@\n     line {n} of the file\n-    line {n + 1} of the file\n+changed" for n in range(0, LINES, step)]
    loose = [f"@@\n \tline {n} of the file\n-\tline {n + 1} of the file\n+changed" for n in range(0, LINES, step)]
    measure("exact", plain, patch(exact))
    measure("only the last pass matches", plain.replace("of", "\u2013"), patch([c.replace("of", "-") for c in loose]))
    same = "x\n" * LINES
    measure("repeated lines", same, patch(["@@\n x\n-x\n+y"] * HUNKS))
    long = "\n".join(["@@", *["-x"] * (LINES // 2), "-y"])
    measure("repeated lines, no such last one", same + "y\n" + same, patch([long.replace("-y", "-y\n-y")]))
    measure("no match at all", plain, patch(["@@\n-nowhere\n+y"] * HUNKS))


if __name__ == "__main__":
    main()
