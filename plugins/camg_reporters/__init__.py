"""Reporters: what a person sees while a run is going on."""

from __future__ import annotations

from collections.abc import Iterable

from camg import hookimpl
from camg.specs import ReporterSpec
from camg_reporters.config import ProgressConfig


@hookimpl
def camg_reporters() -> Iterable[ReporterSpec]:
    """Offer ``progress``, attached unless ``--quiet``."""
    yield ReporterSpec(
        name="progress",
        summary="A live display on a terminal; elsewhere a line now and then. On stderr.",
        factory="camg_reporters.progress:make",
        config=ProgressConfig,
        default=True,
    )
