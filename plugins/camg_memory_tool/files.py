"""The six commands over the files below ``.agent_memory``, which the policy knows as ``/memories``.

Everything goes through the box's own file operations, which never follow links: what the policy puts there with the
shell cannot lead a command out of the folder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from camg.protocols import Box
from camg.types import FileState, Manifest
from camg.workspace.checkpoint import FOLDER
from camg_memory_tool.config import MemoryToolConfig

ROOT = "/memories"
COMMANDS = ("view", "create", "str_replace", "insert", "delete", "rename")
_PATH_BYTES, _NAME_BYTES = 512, 200


class Refused(ValueError):
    """What the policy asked for cannot be done; the sentence is for the policy."""


class Files:
    """Executes commands. Each returns what the policy reads, and raises :class:`Refused` or ``OSError``."""

    def __init__(self, box: Box, config: MemoryToolConfig) -> None:
        self._box = box
        self._config = config
        self._commands: Mapping[str, Callable[..., str]] = {
            "view": self._view,
            "create": self._create,
            "str_replace": self._str_replace,
            "insert": self._insert,
            "delete": self._delete,
            "rename": self._rename,
        }

    def execute(self, command: str, arguments: Mapping[str, Any]) -> str:
        """One command with its arguments, which are of the kinds that the tool declares."""
        do = self._commands.get(command)
        if do is None:
            raise Refused(f"there is no command {plain(command)!r}; the commands are: {', '.join(COMMANDS)}")
        needed, optional = _ARGUMENTS[command]
        missing = [name for name in needed if name not in arguments]
        unknown = [name for name in arguments if name not in (*needed, *optional)]
        if missing or unknown:
            takes = ", ".join([*needed, *(f"{name}?" for name in optional)])
            raise Refused(f"{command} takes {takes}; got {', '.join(arguments) or 'nothing'}")
        return do(**arguments)

    # ------------------------------------------------------------ the commands
    def _view(self, path: str, view_range: list[Any] | None = None) -> str:
        name, manifest = inside(path), self._box.manifest()
        state = manifest.get(name)
        if name == "" or (state is not None and state.kind == "directory"):
            return _listing(name, manifest)
        lines = self._text(name, manifest).split("\n")
        first, last = _range(view_range, len(lines))
        return "\n".join(f"{number:6}\t{lines[number - 1]}" for number in range(first, last + 1))

    def _create(self, path: str, file_text: str) -> str:
        name, manifest = _below(path), self._box.manifest()
        state = manifest.get(name)
        if state is not None and state.kind != "file":
            raise Refused(f"{ROOT}/{name} is {_KINDS[state.kind]}, not a file")
        if state is None and len(manifest) >= self._config.files:
            raise Refused(f"there are {len(manifest)} files and folders, the limit is {self._config.files}")
        self._write(name, file_text)
        return f"{'Created' if state is None else 'Overwrote'} {ROOT}/{name}."

    def _str_replace(self, path: str, old_str: str, new_str: str = "") -> str:
        name = _below(path)
        text = self._text(name, self._box.manifest())
        found = text.count(old_str) if old_str else 0
        if found != 1:
            raise Refused(f"old_str must occur exactly once in {ROOT}/{name}, and occurs {found} times")
        self._write(name, text.replace(old_str, new_str))
        return f"Edited {ROOT}/{name}."

    def _insert(self, path: str, insert_line: int, insert_text: str) -> str:
        name = _below(path)
        lines = self._text(name, self._box.manifest()).splitlines(keepends=True)
        if not 0 <= insert_line <= len(lines):
            raise Refused(f"insert_line must be from 0 (the top) to {len(lines)}, got {str(insert_line)[:20]}")
        if insert_line and not lines[insert_line - 1].endswith("\n"):
            lines[insert_line - 1] += "\n"
        piece = insert_text if insert_text.endswith("\n") or insert_line == len(lines) else insert_text + "\n"
        self._write(name, "".join([*lines[:insert_line], piece, *lines[insert_line:]]))
        return f"Edited {ROOT}/{name}."

    def _delete(self, path: str) -> str:
        name = _below(path)
        _existing(name, self._box.manifest())
        self._box.remove(f"{FOLDER}/{name}")
        return f"Deleted {ROOT}/{name}."

    def _rename(self, old_path: str, new_path: str) -> str:
        old, new, manifest = _below(old_path), _below(new_path), self._box.manifest()
        state = _existing(old, manifest)
        if new in manifest:
            raise Refused(f"{ROOT}/{new} exists already")
        if new.startswith(old + "/"):
            raise Refused(f"{ROOT}/{new} lies inside {ROOT}/{old}")
        moved = [old] if state.kind == "file" else [path for path in manifest if path.startswith(old + "/")]
        moved = [path for path in moved if manifest[path].kind != "directory"]
        odd = [path for path in moved or [old] if manifest[path].kind not in ("file", "directory")]
        if odd or not moved:
            raise Refused(f"{ROOT}/{(odd or [old])[0]} is no regular file or folder of such, and cannot be renamed")
        contents = {path: self._bytes(path, manifest) for path in moved}  # read whole before anything is written
        for path, data in contents.items():
            self._box.write(f"{FOLDER}/{new}{path.removeprefix(old)}", data)
        self._box.remove(f"{FOLDER}/{old}")
        return f"Renamed {ROOT}/{old} to {ROOT}/{new}."

    # ------------------------------------------------------------ files
    def _bytes(self, name: str, manifest: Manifest) -> bytes:
        state, limit = _existing(name, manifest), self._config.file_bytes
        if state.kind != "file":
            raise Refused(f"{ROOT}/{name} is {_KINDS[state.kind]}, not a file")
        if state.size > limit:
            raise Refused(f"{ROOT}/{name} has {state.size} bytes, the limit is {limit}")
        return self._box.read(f"{FOLDER}/{name}", limit)

    def _text(self, name: str, manifest: Manifest) -> str:
        try:
            return self._bytes(name, manifest).decode()
        except UnicodeDecodeError:
            raise Refused(f"{ROOT}/{name} is no UTF-8 text") from None

    def _write(self, name: str, text: str) -> None:
        try:
            data = text.encode()
        except UnicodeEncodeError:
            raise Refused("the text holds characters that are no valid Unicode") from None
        if len(data) > self._config.file_bytes:
            raise Refused(f"the file would have {len(data)} bytes, the limit is {self._config.file_bytes}")
        self._box.write(f"{FOLDER}/{name}", data)


_ARGUMENTS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "view": (("path",), ("view_range",)),
    "create": (("path", "file_text"), ()),
    "str_replace": (("path", "old_str"), ("new_str",)),
    "insert": (("path", "insert_line", "insert_text"), ()),
    "delete": (("path",), ()),
    "rename": (("old_path", "new_path"), ()),
}
_KINDS = {"file": "a file", "directory": "a folder", "symlink": "a link", "other": "something else"}


def inside(path: str) -> str:
    """``/memories/a/b`` -> ``a/b``; the root itself is empty. Raises :class:`Refused` for what is not below it."""
    parts = path.rstrip("/").split("/")
    if parts[:2] != ["", ROOT[1:]] or any(part in ("", ".", "..") for part in parts[2:]):
        raise Refused(f"{plain(path)!r} is no path below {ROOT}")
    name = "/".join(parts[2:])
    if not name.isprintable():
        raise Refused("the path holds characters that cannot be printed")
    if len(name.encode()) > _PATH_BYTES or any(len(part.encode()) > _NAME_BYTES for part in parts):
        raise Refused(f"the path is too long: at most {_PATH_BYTES} bytes, {_NAME_BYTES} for each name")
    return name


def _below(path: str) -> str:
    name = inside(path)
    if not name:
        raise Refused(f"{ROOT} itself cannot be changed")
    return name


def _existing(name: str, manifest: Manifest) -> FileState:
    if name not in manifest:
        raise Refused(f"{ROOT}/{plain(name)} does not exist")
    return manifest[name]


def _range(view_range: list[Any] | None, count: int) -> tuple[int, int]:
    """First and last line, from 1; -1 stands for the last one."""
    if view_range is None:
        return 1, count
    if len(view_range) != 2 or any(type(number) is not int for number in view_range):
        raise Refused("view_range must be two line numbers, [first, last]")
    first, last = view_range
    last = count if last == -1 else min(last, count)
    if not 1 <= first <= last:
        raise Refused(f"view_range must lie in 1 to {count}")
    return first, last


def _listing(name: str, manifest: Manifest) -> str:
    """All files below a folder, with sizes."""
    prefix = f"{name}/" if name else ""
    rows = [(path, state) for path, state in sorted(manifest.items()) if path.startswith(prefix) and path != "."]
    lines = [
        f"{ROOT}/{plain(path, 600)}" + ("/" if state.kind == "directory" else f" ({state.size} bytes)")
        for path, state in rows
    ]
    return "\n".join(lines) or f"{ROOT}/{prefix} is empty."


def plain(text: str, limit: int = 60) -> str:
    """A short, printable piece of what the policy wrote."""
    return text[:limit].encode(errors="replace").decode()
