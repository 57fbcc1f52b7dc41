"""One cell of a sweep with ``--jobs``: ``python -m camg.cli.cell CELL_DIR LABEL PARENT_PID [--quiet] [REPORTER …]``.

The cell's settings, and what plugins to load, are in its folder.
"""

from __future__ import annotations

import signal
import sys
import threading
from typing import Any

from camg.cli.execute import Request, run_one
from camg.config import load_cell
from camg.errors import Interrupted
from camg.rollout.cell import Cell
from camg.rollout.process import child_main, leave


def _interrupt(*_: Any) -> None:
    raise Interrupted("Asked to stop before it began, or after it ended.")


def run(cell: Cell, stop: threading.Event, words: list[str]) -> None:
    """The body of the process. Raises what :func:`camg.supervise.run_cell` raises."""
    import torch

    torch.set_num_threads(1)  # there are as many cells as there are cores for
    config, registry = load_cell(cell.root)
    signal.signal(signal.SIGTERM, _interrupt)  # until run_cell has its own: nothing waits for ``stop``
    if stop.is_set():
        _interrupt()
    reporters = [word for word in words if word != "--quiet"]
    request = Request(
        argv=(), out=None, name="", resume=True, as_json=False, quiet="--quiet" in words, reporters=reporters
    )
    run_one(cell.root, config, registry, request)


def main() -> None:
    """Entry point."""
    arguments, words = sys.argv[1:4], sys.argv[4:]
    leave(child_main(lambda cell, _, stop: run(cell, stop, words), arguments))


if __name__ == "__main__":
    main()
