"""``shell_command`` and the text of its observation, and truncation by tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from camg.types import Action, CommandResult
from camg.workspace.limits import truncate_tokens
from camg.workspace.shell import COMMAND_BYTES, SHELL_COMMAND, command_fault, describe, encode_command, run_shell


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        (CommandResult(b"hello\n", 0), "hello"),
        (CommandResult(b"", 0), "[no output]"),
        (CommandResult(b"\n\n", 0), "[no output]"),
        (CommandResult(b"", 1), "[exit status 1]"),
        (CommandResult(b"bad\n", 2), "bad\n[exit status 2]"),
        (CommandResult(b"part", None, timed_out=True, seconds=30.7), "part\n[timed out after 30 s]"),
        (CommandResult(b"xx", 0, dropped_bytes=1234), "xx\n[… 1234 bytes dropped]"),
        (CommandResult(b"", 137, notices=("memory limit reached",)), "[memory limit reached]\n[exit status 137]"),
        (CommandResult(b"a\0b\xff\xc3\xa9", 0), "ab\ufffdé"),
        (CommandResult(b"  indented\n\n  more  \n", 0), "  indented\n\n  more  "),
    ],
)
def test_the_observation_says_what_the_output_does_not(result: CommandResult, shown: str) -> None:
    assert describe(result) == shown


@given(st.binary(max_size=300), st.one_of(st.none(), st.integers(0, 255)), st.integers(0, 10))
def test_every_result_has_a_text_that_can_be_stored(output: bytes, status: int | None, dropped: int) -> None:
    shown = describe(CommandResult(output, status, timed_out=status is None, dropped_bytes=dropped))
    assert shown
    assert "\0" not in shown
    shown.encode("utf-8")


class RecordingBox:
    """A box that answers with what it was asked."""

    def run(self, command: str, **options: Any) -> CommandResult:
        self.asked = (command, options)
        return CommandResult(command.encode(), 3, notices=("a fact",))


def test_an_action_becomes_a_command_and_its_result_an_observation() -> None:
    box: Any = RecordingBox()
    result = run_shell(box, Action("shell_command", {"command": "ls -A"}))
    assert box.asked == ("ls -A", {})
    assert result.observation.shown == "ls -A\n[a fact]\n[exit status 3]"
    assert result.observation.exit_status == 3
    assert result.observation.notices == ("a fact",)
    assert not result.invalid
    run_shell(box, Action("shell_command", {"command": "x"}), wall_seconds=2.0)
    assert box.asked == ("x", {"wall_seconds": 2.0})


def test_the_tool_takes_one_command_and_may_write_files() -> None:
    assert [parameter.name for parameter in SHELL_COMMAND.parameters] == ["command"]
    assert SHELL_COMMAND.filesystem


def test_commands_that_no_shell_can_be_given_are_named() -> None:
    assert command_fault("echo hi") is None
    assert command_fault("x" * COMMAND_BYTES) is None
    assert "NUL" in (command_fault("a\0b") or "")
    assert str(COMMAND_BYTES) in (command_fault("x" * (COMMAND_BYTES + 1)) or "")
    assert command_fault("é" * COMMAND_BYTES) is not None  # bytes count, not characters
    assert encode_command("\udcff") == b"\xff"
    assert encode_command("\ud800") == b"?"


class ByteCodec:
    """One token a byte."""

    def encode(self, text: str) -> tuple[int, ...]:
        return tuple(text.encode("utf-8"))

    def decode(self, ids: Sequence[int]) -> str:
        return bytes(ids).decode("utf-8", "replace")


class PairCodec(ByteCodec):
    """Merges equal neighbours: what two texts encode to is not what their sum does."""

    def encode(self, text: str) -> tuple[int, ...]:
        ids: list[int] = []
        for byte in text.encode("utf-8"):
            if ids and ids[-1] == byte:
                ids[-1] = byte + 256
            else:
                ids.append(byte)
        return tuple(ids)

    def decode(self, ids: Sequence[int]) -> str:
        raw = b"".join(bytes([number % 256]) * (1 + number // 256) for number in ids)
        return raw.decode("utf-8", "replace")


@given(st.text(max_size=400), st.integers(0, 300), st.sampled_from([ByteCodec(), PairCodec()]))
def test_truncated_text_always_fits(text: str, limit: int, codec: Any) -> None:
    text = text.encode("utf-8", "replace").decode()
    short = truncate_tokens(text, limit, codec)
    ids = codec.encode(text)
    assert len(codec.encode(short)) <= limit
    if len(ids) <= limit:
        assert short == text


def test_head_tail_and_count_are_kept() -> None:
    text = "".join(f"line {number}\n" for number in range(1000))
    codec: Any = ByteCodec()
    short = truncate_tokens(text, 200, codec)
    before, _, rest = short.partition("\n[… ")
    count, _, after = rest.partition(" tokens left out …]\n")
    assert text.startswith(before)
    assert text.endswith(after)
    assert len(before) + len(after) + int(count.replace(",", "")) == len(text)
    assert 180 <= len(codec.encode(short)) <= 200
    assert abs(len(before) - len(after)) <= 1


def test_no_half_character_stands_at_the_cuts() -> None:
    codec: Any = ByteCodec()
    for limit in range(120):
        assert "\ufffd" not in truncate_tokens("日本語" * 100, limit, codec)


def test_a_negative_limit_is_refused() -> None:
    codec: Any = ByteCodec()
    with pytest.raises(ValueError, match="at least 0"):
        truncate_tokens("x", -1, codec)
