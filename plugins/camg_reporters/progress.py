"""The default reporter: which form it takes depends on where stderr leads."""

from __future__ import annotations

import os
import sys

from camg.protocols import Reporter
from camg_reporters.config import ProgressConfig


def make(config: ProgressConfig) -> Reporter:
    """A live display on a terminal, plain lines elsewhere (a pipe, a file, ``TERM=dumb``)."""
    if sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        from camg_reporters.live import LiveProgress

        return LiveProgress()
    from camg_reporters.plain import PlainProgress

    return PlainProgress(config)
