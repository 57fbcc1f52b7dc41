"""Settings: layered, typed, with the origin of every value; the grid of a sweep; the directory of a run.

Precedence: command line > ``CAMG_*`` environment > file > baseline > policy profile > estimator > default.
"""

from __future__ import annotations

from camg.config.record import COMPONENT_KINDS, SECTIONS, RunConfig, eval_split, load_cell, train_split
from camg.config.resolve import DEFAULTS, resolve_config
from camg.config.rundir import RunDirectory, open_run
from camg.config.stages import StagePlan, stage_plan
from camg.config.sweep import expand, parse_axis
from camg.config.validate import check_run, reasons_against

__all__ = [
    "COMPONENT_KINDS",
    "DEFAULTS",
    "SECTIONS",
    "RunConfig",
    "RunDirectory",
    "StagePlan",
    "check_run",
    "eval_split",
    "expand",
    "load_cell",
    "open_run",
    "parse_axis",
    "reasons_against",
    "resolve_config",
    "stage_plan",
    "train_split",
]
