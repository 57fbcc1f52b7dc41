"""The log: one JSON object a line, in the order of what happened."""

from __future__ import annotations

import json

from camg.protocols import Box
from camg.workspace.checkpoint import FOLDER

NAME = "log.jsonl"
PATH = f"{FOLDER}/{NAME}"


class Log:
    """Append-only. The truth is held here; the file in the box is a copy, written anew after each response.

    An entry has the keys of PRO-LONG: timestamp, client, sessionId, type, content. The timestamp is the number of the
    response rather than a time, so that an episode played again has the same log.
    """

    def __init__(self, box: Box, limit: int) -> None:
        self._box = box
        self._limit = limit
        self._data = bytearray()
        self.full = False

    def __len__(self) -> int:
        return len(self._data)

    def append(self, timestamp: int, session: int, kind: str, content: str) -> bool:
        """Add an entry; False if it, or one before, did not fit the limit: nothing is logged after a gap."""
        entry = {"timestamp": timestamp, "client": "camg", "sessionId": session, "type": kind, "content": content}
        # a lone surrogate becomes its JSON escape; all other text stays searchable as it is
        line = json.dumps(entry, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
        self.full = self.full or len(self._data) + len(line) > self._limit
        if not self.full:
            self._data += line
        return not self.full

    def restore(self) -> bool:
        """Write the file whatever the policy put in its place. False: it could not be written."""
        for obstacle in ("", PATH, FOLDER):
            try:
                if obstacle == FOLDER and not set(self._box.manifest()) <= {".", NAME}:
                    return False  # a full disk, say: the policy's files are not the obstacle
                if obstacle:
                    self._box.remove(obstacle)
                self._box.write(PATH, bytes(self._data))
            except OSError:
                continue
            return True
        return False
