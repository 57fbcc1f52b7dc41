"""The oracle: takes the bug back by shell, keeps its place in ``.agent_memory``, and submits.

Its one privilege is to know the repair. It brings it into the workspace in pieces that fit a response; after each
replacement of the context it starts from nothing and reads from its file how far it came.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from functools import lru_cache
from pathlib import Path

from camg.errors import DataError
from camg.protocols import Dialect, Habit, Script
from camg.types import Task
from camg_coding.config import SENTINEL
from camg_coding.demonstrator import PERFECT, pocket_script
from camg_coding.prepare import public_tree, touched
from camg_coding.records import BUG, Instance
from camg_coding.store import TaskSet, read_set
from camg_coding.texts import LAST_LINE, REMINDER

FOLDER = ".agent_memory"
CONTINUATION = f"{FOLDER}/CONTINUATION.md"
PIECE = 1_500  # characters of the repair that one command brings
_FILE = ".repair"  # what comes piece by piece; removed when it is applied

_FACT = re.compile(r"^(pieces_done|note): (\d+)$", re.MULTILINE)
_APPLY = """\
python - <<'EOF'
import base64, json, os, zlib
parts = ["%s.%%d" %% number for number in range(%d)]
packed = "".join(open(part).read() for part in parts)
for path, start, length, text in json.loads(zlib.decompress(base64.b64decode(packed))):
    if text is None:
        os.remove(path)
        continue
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    data = open(path, "rb").read() if os.path.exists(path) else b""
    data = data[:start] + text.encode("latin-1") + data[start + length:]
    open(path, "wb").write(data)
for part in parts:
    os.remove(part)
EOF"""


def oracle(task: Task, seed: int, dialect: Dialect, habit: Habit | None = None) -> Script:
    """A script that solves ``task``; ``habit`` serves pocket tasks, others go by files.

    Raises :class:`DataError` for a task of another environment.
    """
    if task.payload.get("style") == "pocket":
        return pocket_script(task, seed, dialect, PERFECT, habit)
    if "instance" not in task.payload or "set" not in task.payload:
        raise DataError(f"Expected a task of coding, got {task.id!r}.")
    tasks = _set(str(task.payload["set"]))
    return _Oracle(commands(tasks, tasks.instances[str(task.payload["instance"])]), dialect)


@lru_cache(maxsize=4)
def _set(folder: str) -> TaskSet:
    return read_set(Path(folder))


def commands(tasks: TaskSet, instance: Instance) -> tuple[str, ...]:
    """The shell commands that repair an instance; the last one submits. Raises :class:`DataError`."""
    packed = base64.b64encode(zlib.compress(json.dumps(edits(tasks, instance)).encode(), 9)).decode()
    pieces = [packed[start : start + PIECE] for start in range(0, len(packed), PIECE)]
    bring = [f"printf %s '{piece}' > {_FILE}.{number}" for number, piece in enumerate(pieces)]
    return (*bring, _APPLY % (_FILE, len(pieces)), f"echo {SENTINEL}")


def edits(tasks: TaskSet, instance: Instance) -> list[tuple[str, int, int, str | None]]:
    """(path, first byte, bytes, what replaces them as latin-1) for each file; None: it is removed."""
    clean = tasks.tree(tasks.profile(instance))
    start = public_tree(tasks, instance, git=False)
    changed = touched(tasks, instance, instance.patch)
    found: list[tuple[str, int, int, str | None]] = []
    for path, patched in changed.items():
        goal = _read(clean / path) if instance.polarity == BUG else patched
        if goal is None:
            found.append((path, 0, 0, None))
            continue
        now = _read(start / path) or b""
        head = _common(now, goal)
        tail = _common(now[head:][::-1], goal[head:][::-1])
        found.append((path, head, len(now) - head - tail, goal[head : len(goal) - tail].decode("latin-1")))
    return found


def _common(one: bytes, other: bytes) -> int:
    """Length of the common beginning."""
    size = min(len(one), len(other))
    return next((place for place in range(size) if one[place] != other[place]), size)


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


class _Oracle:
    def __init__(self, commands: tuple[str, ...], dialect: Dialect) -> None:
        self._commands = commands
        self._dialect = dialect
        self._seen = self._said = ""
        self._done = self._notes = 0
        self._unread = self._pending = False

    def __call__(self, context: str) -> str:
        fresh = not self._seen or not context.startswith(self._seen)
        news = context if fresh else context[len(self._seen) :].removeprefix(self._said)
        if fresh:
            self._done = self._notes = 0
            self._unread = CONTINUATION in news.partition(LAST_LINE)[2]
        for name, number in _FACT.findall(news):
            if name == "note":
                self._notes = int(number)
            else:
                self._done = int(number)
        self._pending = REMINDER in news
        self._seen = context
        self._said = self._dialect.render("shell_command", {"command": self._act()})
        return self._said

    def _act(self) -> str:
        if self._pending:
            return self._note()
        if self._unread:
            self._unread = False
            return f"cat {CONTINUATION}"
        self._done += 1
        return self._commands[min(self._done, len(self._commands)) - 1]

    def _note(self) -> str:
        lines = (
            "objective: bring the repair into the workspace, apply it, submit",
            f"pieces_done: {self._done}",
            f"note: {self._notes + 1}",  # a checkpoint must differ from the one before
            f"paths: {_FILE}.*",
            "next: the piece after those that are done",
        )
        text = "\n".join(lines)
        return f"mkdir -p {FOLDER} && cat > {CONTINUATION} <<'EOF'\n{text}\nEOF"
