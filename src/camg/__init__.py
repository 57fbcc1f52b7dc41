"""CAMG: train language-model agents to use ordinary files as memory.

A plugin author needs ``hookimpl`` from here, the records of :mod:`camg.types`, the protocols of
:mod:`camg.protocols` and the specs of :mod:`camg.specs`; nothing here imports torch.
"""

from __future__ import annotations

import pluggy

__version__ = "0.1.0"

PROJECT = "camg"
hookimpl = pluggy.HookimplMarker(PROJECT)
"""Mark a function of a plugin as the implementation of one of :mod:`camg.hookspecs`."""

__all__ = ["PROJECT", "__version__", "hookimpl"]
