"""Importers of SWE-smith, SWE-bench and SWE-Gym rows."""

from __future__ import annotations

from camg_coding.importers.options import read_held_out, repository_option
from camg_coding.importers.read import read_rows
from camg_coding.importers.report import Import, Rejected, table
from camg_coding.importers.rows import FORMATS
from camg_coding.importers.run import import_rows

__all__ = [
    "FORMATS",
    "Import",
    "Rejected",
    "import_rows",
    "read_held_out",
    "read_rows",
    "repository_option",
    "table",
]
