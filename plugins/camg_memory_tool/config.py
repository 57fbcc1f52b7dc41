"""Options of the memory tool."""

from __future__ import annotations

from attrs import frozen
from attrs.validators import ge

from camg.specs import option


@frozen
class MemoryToolConfig:
    """``--memory memory-tool``."""

    file_bytes: int = option(65536, "limit of one file", validator=ge(1))
    files: int = option(200, "limit of files and folders", validator=ge(1))
