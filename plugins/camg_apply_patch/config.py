"""Options of the apply-patch memory."""

from __future__ import annotations

from attrs import field, frozen, validators


@frozen
class ApplyPatchConfig:
    """Options of ``--memory apply-patch``."""

    enforce: bool = field(
        default=True,
        validator=validators.instance_of(bool),
        metadata={"help": "undo what a shell command did to tracked text files and to .agent_memory"},
    )
