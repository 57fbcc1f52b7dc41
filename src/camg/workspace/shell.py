"""``shell_command``: the one filesystem action, and how its result reads."""

from __future__ import annotations

from camg.protocols import Box
from camg.types import Action, CommandResult, Observation, Parameter, StepResult, Tool

SHELL_COMMAND = Tool(
    name="shell_command",
    summary="Run a command with bash from the workspace root; a compound command or heredoc is one action.",
    parameters=(Parameter("command", "the command, as one string"),),
    filesystem=True,
)

COMMAND_BYTES = (128 << 10) - 1  # Linux: one argument, with its closing NUL, has at most 32 pages


def encode_command(command: str) -> bytes:
    """The bytes of a command; surrogate escapes become what they stand for (PEP 383), other lone ones ``?``."""
    try:
        return command.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return command.encode("utf-8", "replace")


def command_fault(command: str) -> str | None:
    """Why no shell could be given ``command`` as an argument, or None. For authors of sandboxes."""
    if "\0" in command:
        return "the command holds a NUL byte"
    size = len(encode_command(command))
    if size > COMMAND_BYTES:
        return f"the command is too long: {size} bytes, the limit is {COMMAND_BYTES}"
    return None


def run_shell(box: Box, action: Action, *, wall_seconds: float | None = None) -> StepResult:
    """Execute a ``shell_command`` action in ``box``. ``wall_seconds``: instead of the box's own limit.

    The observation is the output (UTF-8, undecodable bytes replaced, NULs left out), then one short line for each
    fact that it does not show: dropped bytes, a broken limit, a time-out, a status other than 0; ``[no output]`` if
    there is nothing at all to say. A command that fails is data, never invalid. Raises
    :class:`InfrastructureFault` if the box is gone.
    """
    wall = {} if wall_seconds is None else {"wall_seconds": wall_seconds}
    result = box.run(action.arguments.get("command", ""), **wall)
    return StepResult(
        Observation(
            shown=describe(result),
            exit_status=result.exit_status,
            timed_out=result.timed_out,
            notices=result.notices,
        )
    )


def describe(result: CommandResult) -> str:
    """The text that the policy reads (see :func:`run_shell`)."""
    text = result.output.decode("utf-8", "replace").replace("\0", "").rstrip("\n")
    lines = [text] if text else []
    if result.dropped_bytes:
        lines.append(f"[… {result.dropped_bytes} bytes dropped]")
    lines += [f"[{notice}]" for notice in result.notices]
    if result.timed_out:
        lines.append(f"[timed out after {_whole(result.seconds)} s]")
    elif result.exit_status:
        lines.append(f"[exit status {result.exit_status}]")
    return "\n".join(lines) or "[no output]"


def _whole(seconds: float) -> str:
    """Cut to what does not depend on how promptly the kill came: the same text in every run."""
    return str(int(seconds)) if seconds >= 1 else f"{seconds:.1f}"
