"""Observations that do not fit: their head and tail, and how much was left out."""

from __future__ import annotations

from collections.abc import Sequence

from camg.protocols import ChatCodec


def truncate_tokens(text: str, limit: int, codec: ChatCodec) -> str:
    """``text``, or its beginning and end around a line that counts the tokens left out.

    The result encodes to at most ``limit`` tokens, whatever the tokenizer makes of the seams; where even the counting
    line does not fit, it is the beginning alone, and at ``limit`` 0 empty. Raises ``ValueError`` for a negative limit.
    """
    if limit < 0:
        raise ValueError(f"Expected a limit of at least 0 tokens, got {limit}.")
    ids = codec.encode(text)
    if len(ids) <= limit:
        return text
    keep = limit - len(codec.encode(_marker(len(ids))))
    while keep > 0:
        shortened = _shortened(ids, keep, codec)
        excess = len(codec.encode(shortened)) - limit
        if excess <= 0:
            return shortened
        keep -= excess
    return _beginning(ids, limit, codec)


def _marker(count: int) -> str:
    return f"\n[… {count:,} tokens left out …]\n"


def _shortened(ids: Sequence[int], keep: int, codec: ChatCodec) -> str:
    """``keep`` tokens of ``ids``, the larger half from the beginning, with the marker between."""
    head, tail = ids[: keep - keep // 2], ids[len(ids) - keep // 2 :]
    before = codec.decode(head).rstrip("�")  # half a character, if the cut went through one
    after = codec.decode(tail).lstrip("�") if tail else ""
    return before + _marker(len(ids) - keep) + after


def _beginning(ids: Sequence[int], limit: int, codec: ChatCodec) -> str:
    keep = limit
    while keep > 0:
        text = codec.decode(ids[:keep]).rstrip("�")
        excess = len(codec.encode(text)) - limit
        if excess <= 0:
            return text
        keep -= excess
    return ""
