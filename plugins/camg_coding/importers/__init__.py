"""Importers of SWE-smith, SWE-bench and SWE-Gym rows."""

from __future__ import annotations

from camg_coding.importers.read import read_rows
from camg_coding.importers.report import Import, Rejected, table
from camg_coding.importers.rows import FORMATS

__all__ = ["FORMATS", "Import", "Rejected", "read_rows", "table"]
