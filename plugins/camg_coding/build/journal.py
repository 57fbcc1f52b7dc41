"""The journal of one repository: a line for each bug that was tried. ``kill -9`` loses those in progress at most."""

from __future__ import annotations

import json
import threading
from pathlib import Path

from attrs import frozen

from camg.errors import DataError
from camg_coding.records import Instance, dump, parse

ADMITTED = "admitted"


@frozen
class Outcome:
    """What became of one bug: ``reason`` is :data:`ADMITTED`, then with its instance, or why it was rejected."""

    digest: str
    strategy: str
    reason: str
    detail: str = ""
    instance: Instance | None = None


class Journal:
    """Outcomes by digest, appended as they come. Raises :class:`DataError` for a file that cannot be used."""

    def __init__(self, path: Path) -> None:
        self.known: dict[str, Outcome] = {}
        self._lock = threading.Lock()
        try:
            text = path.read_bytes() if path.exists() else b""
            whole = text[: text.rfind(b"\n") + 1]  # the last line may be torn
            for number, line in enumerate(whole.decode("utf-8").splitlines(), 1):
                outcome = _outcome(line, f"{path}, line {number}")
                self.known[outcome.digest] = outcome
            if whole != text:
                path.write_bytes(whole)
            self._file = path.open("a", encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"Expected the journal of a build in {path}: {error}.") from error

    def add(self, outcome: Outcome) -> None:
        """Keep an outcome, in one write."""
        record = {"digest": outcome.digest, "strategy": outcome.strategy, "reason": outcome.reason}
        record |= {"detail": outcome.detail} if outcome.detail else {}
        record |= {"instance": json.loads(dump(outcome.instance))} if outcome.instance else {}
        with self._lock:
            self._file.write(json.dumps(record, ensure_ascii=False) + "\n")
            self._file.flush()
            self.known[outcome.digest] = outcome

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _outcome(line: str, where: str) -> Outcome:
    try:
        record = json.loads(line)
        instance = record.get("instance")
        return Outcome(
            record["digest"],
            record["strategy"],
            record["reason"],
            record.get("detail", ""),
            parse(Instance, json.dumps(instance), where) if instance else None,
        )
    except (ValueError, KeyError, AttributeError) as error:
        raise DataError(f"Expected an outcome in {where}: {error}.", hint="Build into another folder.") from error
