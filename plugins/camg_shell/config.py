"""Options of the shell's memory."""

from __future__ import annotations

import re
from typing import Any

from attrs import frozen
from attrs.validators import in_

from camg.specs import option


def _tool_name(instance: Any, attribute: Any, value: str) -> None:
    if value and not re.fullmatch(r"[A-Za-z_]\w{0,63}", value):
        raise ValueError(f"Expected the name of a tool (letters, digits, _), got {value!r}.")


@frozen
class ShellConfig:
    """``--memory shell``."""

    continuation_only: str = option(
        "never",
        "is CONTINUATION.md the only memory file: never, always, or in evaluations of a policy trained with all",
        validator=in_(("never", "always", "evaluation")),
    )
    alias: str = option("", "another name of shell_command, e.g. tool_kappa", validator=_tool_name)
