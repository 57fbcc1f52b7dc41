"""The rows of a file, one by one: parquet by its first bytes, JSON Lines by its name or look, else JSON.

A broken row is reported and the others are read; a file that breaks off gives what came before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import frozen

from camg.errors import DataError
from camg_coding.importers.report import Malformed

_GAP = re.compile(r"[ \t\r\n]*")
_BATCH = 256  # parquet rows that are in memory at a time


@frozen
class Record:
    """One row as it was found: ``value``, or the ``fault`` in its place. ``key``: its name in ``{"id": row}``."""

    number: int
    value: Any = None
    key: str = ""
    fault: Malformed | None = None


def records(path: Path) -> Iterator[Record]:
    """The rows of a file. Raises :class:`DataError` for a file that cannot be read or holds no rows at all."""
    try:
        with path.open("rb") as source:
            head = source.read(4096)
    except OSError as error:
        raise DataError(f"Expected a file of rows in {path}: {error.strerror or error}.") from error
    if head.startswith(b"PAR1"):
        yield from _parquet(path)
        return
    if path.suffix in (".jsonl", ".ndjson"):
        yield from _lines(path)
        return
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not start.startswith((b"[", b"{")):
        raise DataError(
            f"Expected JSON Lines, JSON or parquet in {path}, got {start[:20]!r}.",
            hint="Rows are JSON objects, one a line; a list of them; or an object that maps ids to them.",
        )
    yield from (_lines if start.startswith(b"{") and _has_lines(path) else _document)(path)


def _has_lines(path: Path) -> bool:
    """Is the first line an object by itself, and followed by another? Then the file is JSON Lines under any name."""
    with path.open("rb") as source:
        first = source.readline()
        following = next((line for line in source if line.strip()), b"")
    try:
        return isinstance(json.loads(first), dict) and following.lstrip().startswith(b"{")
    except (ValueError, RecursionError):
        return False


def _lines(path: Path) -> Iterator[Record]:
    with path.open("rb") as source:
        for number, line in enumerate(source, 1):
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            if not line.strip():
                continue
            try:
                yield Record(number, json.loads(line.decode("utf-8")))
            except UnicodeDecodeError as error:
                yield Record(number, fault=Malformed("not UTF-8", f"byte {error.start + 1} of the line"))
            except (ValueError, RecursionError) as error:
                yield Record(number, fault=Malformed("not JSON", str(error)))


def _document(path: Path) -> Iterator[Record]:
    """The elements of one JSON list, or the members of one object."""
    text = path.read_bytes().removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    place = _skip(text, 0)
    end = "]" if text[place] == "[" else "}"
    decoder = json.JSONDecoder()
    place, number = _skip(text, place + 1), 0
    if text[place : place + 1] != end:
        while True:
            number += 1
            try:
                key = ""
                if end == "}":
                    key, place = decoder.raw_decode(text, place)
                    place = _expect(text, _skip(text, place), ":")
                value, place = decoder.raw_decode(text, place)
                place = _skip(text, place)
            except (ValueError, RecursionError) as error:
                yield Record(number, fault=Malformed("not JSON", f"from here to the end of the file: {error}"))
                return
            if number == 1 and end == "}" and not isinstance(value, dict):
                yield from _single(text)
                return
            yield Record(number, value, key if isinstance(key, str) else "")
            if text[place : place + 1] == end:
                break
            try:
                place = _expect(text, place, ",")
            except ValueError as error:
                fault = Malformed("not JSON", f"from here to the end of the file: {error}")
                yield Record(number + 1, fault=fault)
                return
    if text[place + 1 :].strip():
        yield Record(number + 1, fault=Malformed("not JSON", "text follows the end of the rows"))


def _single(text: str) -> Iterator[Record]:
    """A file that is one row, not a mapping of rows."""
    try:
        yield Record(1, json.loads(text))
    except (ValueError, RecursionError) as error:
        yield Record(1, fault=Malformed("not JSON", str(error)))


def _skip(text: str, place: int) -> int:
    found = _GAP.match(text, place)
    return found.end() if found else place


def _expect(text: str, place: int, mark: str) -> int:
    if text[place : place + 1] != mark:
        raise ValueError(f"expected {mark!r} at character {place + 1}, got {text[place : place + 20]!r}")
    return _skip(text, place + 1)


def _parquet(path: Path) -> Iterator[Record]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise DataError(
            f"Expected pyarrow, to read the parquet file {path}; it is not installed.",
            hint="Install it with: pip install 'camg[parquet]'",
        ) from error
    number = 0
    try:
        with pyarrow.parquet.ParquetFile(path) as source:
            for batch in source.iter_batches(batch_size=_BATCH):
                for value in batch.to_pylist():
                    number += 1
                    yield Record(number, value)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        if not number:
            raise DataError(f"Expected a parquet file in {path}: {error}.") from error
        fault = Malformed("not parquet", f"from here to the end of the file: {error}")
        yield Record(number + 1, fault=fault)
