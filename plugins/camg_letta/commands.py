"""The six commands of the tool. Each edits the work tree through the box's own file operations, which follow no link.

Before a command the work tree is clean: what lies there is what is committed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from camg.protocols import Box
from camg.types import Manifest
from camg.workspace.checkpoint import FOLDER
from camg_letta.config import LettaConfig
from camg_letta.frontmatter import Parsed, Wrong, check, checked, one_line, parse

COMMANDS = ("create", "str_replace", "insert", "delete", "rename", "update_description")
_PATH_BYTES, _NAME_BYTES, _DESCRIPTION_BYTES = 512, 200, 1000
_ARGUMENTS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "create": (("file_path", "description"), ("file_text",)),
    "str_replace": (("file_path", "old_string", "new_string"), ()),
    "insert": (("file_path", "insert_line", "insert_text"), ()),
    "delete": (("file_path",), ()),
    "rename": (("old_path", "new_path"), ()),
    "update_description": (("file_path", "description"), ()),
}


class Refused(ValueError):
    """What the policy asked for cannot be done; the sentence is for the policy."""


class Edits:
    """Executes commands. Each returns the changed paths; raises :class:`Refused`, ``Wrong`` or ``OSError``."""

    def __init__(self, box: Box, config: LettaConfig) -> None:
        self._box = box
        self._config = config
        self._commands: Mapping[str, Callable[..., list[str]]] = {
            "create": self._create,
            "str_replace": self._str_replace,
            "insert": self._insert,
            "delete": self._delete,
            "rename": self._rename,
            "update_description": self._update_description,
        }

    def check(self, command: str, arguments: Mapping[str, Any]) -> None:
        """Is this a command with its arguments?"""
        if command not in _ARGUMENTS:
            raise Refused(f"there is no command {plain(command)!r}; the commands are: {', '.join(COMMANDS)}")
        needed, optional = _ARGUMENTS[command]
        missing = [name for name in needed if name not in arguments]
        unknown = [name for name in arguments if name not in (*needed, *optional)]
        if missing or unknown:
            takes = ", ".join([*needed, *(f"{name}?" for name in optional)])
            raise Refused(f"{command} takes {takes}; got {', '.join(arguments) or 'nothing'}")

    def execute(self, command: str, arguments: Mapping[str, Any]) -> list[str]:
        """A command that was checked, with arguments of the kinds that the tool declares."""
        return self._commands[command](**arguments)

    # ------------------------------------------------------------ the commands
    def _create(self, file_path: str, description: str, file_text: str = "") -> list[str]:
        name, manifest = self._free(file_path)
        if len(manifest) > self._config.files:  # one of them is git's own
            raise Refused(f"there are {len(manifest) - 1} files and folders, the limit is {self._config.files}")
        return self._write(name, Parsed((f"description: {_described(description)}",), file_text).text(), None)

    def _str_replace(self, file_path: str, old_string: str, new_string: str) -> list[str]:
        name, text, file = self._editable(file_path)
        if not old_string or old_string not in file.body:
            raise Refused(f"old_string does not occur in the text of {name}")
        return self._change(name, text, Parsed(file.header, file.body.replace(old_string, new_string, 1)))

    def _insert(self, file_path: str, insert_line: int, insert_text: str) -> list[str]:
        name, text, file = self._editable(file_path)
        lines = file.body.split("\n") if file.body else []
        if insert_line < 1:
            raise Refused(f"insert_line counts the lines of the text from 1, got {str(insert_line)[:20]}")
        place = min(insert_line - 1, len(lines))
        lines[place:place] = insert_text.split("\n")
        return self._change(name, text, Parsed(file.header, "\n".join(lines)))

    def _delete(self, file_path: str) -> list[str]:
        manifest, folder = self._box.manifest(), _path(file_path)
        if (state := manifest.get(folder)) is not None and state.kind == "directory":
            inside = [path for path in manifest if path.startswith(folder + "/") and manifest[path].kind == "file"]
            if not inside:
                raise Refused(f"{folder} holds no files")
            if locked := [path for path in inside if self._locked(path)]:
                raise Refused(f"{locked[0]} is read_only and cannot be modified")
            name = folder
        else:
            name, _, _ = self._editable(file_path)
        self._box.remove(f"{FOLDER}/{name}")
        return [name]

    def _rename(self, old_path: str, new_path: str) -> list[str]:
        old, text, _ = self._editable(old_path)
        new, _ = self._free(new_path)
        self._write(new, text, text)
        try:
            self._box.remove(f"{FOLDER}/{old}")
        except OSError:
            self._box.remove(f"{FOLDER}/{new}")
            raise
        return [old, new]

    def _update_description(self, file_path: str, description: str) -> list[str]:
        name, text, file = self._editable(file_path)
        return self._change(name, text, file.described(_described(description)))

    # ------------------------------------------------------------ files
    def _free(self, path: str) -> tuple[str, Manifest]:
        """A path where nothing is yet."""
        name, manifest = _file(path), self._box.manifest()
        if name in manifest:
            raise Refused(f"{name} exists already")
        return name, manifest

    def _editable(self, path: str) -> tuple[str, str, Parsed]:
        """A file that may be changed: its path, its text, and the parts of that."""
        name = _file(path)
        text = self._text(name)
        file = parse(text)
        if file.read_only:
            raise Refused(f"{name} is read_only and cannot be modified")
        return name, text, file

    def _text(self, name: str) -> str:
        state, limit = self._box.manifest().get(name), self._config.file_bytes
        if state is None or state.kind != "file":
            raise Refused(f"{name} {'does not exist' if state is None else 'is no regular file'}")
        if state.size > limit:
            raise Refused(f"{name} has {state.size} bytes, the limit is {limit}")
        try:
            return self._box.read(f"{FOLDER}/{name}", limit).decode()
        except UnicodeDecodeError:
            raise Refused(f"{name} is no UTF-8 text") from None

    def _locked(self, name: str) -> bool:
        try:
            return parse(self._text(name)).read_only
        except (Refused, Wrong):
            return False

    def _change(self, name: str, before: str, file: Parsed) -> list[str]:
        text = file.text()
        if text == before:
            raise Refused(f"the command would change nothing in {name}")
        return self._write(name, text, before)

    def _write(self, name: str, text: str, before: str | None) -> list[str]:
        """Place a file; ``before``: the text that the change began with (None: a new file)."""
        try:
            data = text.encode()
        except UnicodeEncodeError:
            raise Refused("the text holds characters that are no valid Unicode") from None
        if len(data) > self._config.file_bytes:
            raise Refused(f"the file would have {len(data)} bytes, the limit is {self._config.file_bytes}")
        if checked(name):
            check(text, before)
        self._box.write(f"{FOLDER}/{name}", data)
        return [name]


def _described(description: str) -> str:
    text = one_line(description)
    if not text or len(text.encode(errors="replace")) > _DESCRIPTION_BYTES:
        raise Refused(f"description must be a non-empty text of at most {_DESCRIPTION_BYTES} bytes")
    return text


def _path(path: str) -> str:
    """A path relative to the repository, as the policy may write it. Raises :class:`Refused` if it leads elsewhere."""
    name = path.strip().removeprefix(f"{FOLDER}/").rstrip("/")
    parts = name.split("/")
    if any(part in ("", ".", "..") or part.lower().startswith(".git") for part in parts):
        raise Refused(f"{plain(path)!r} is no path of a memory file, such as system/notes.md")
    if not name.isprintable():
        raise Refused("the path holds characters that cannot be printed")
    if len(name.encode()) > _PATH_BYTES or any(len(part.encode()) > _NAME_BYTES for part in parts):
        raise Refused(f"the path is too long: at most {_PATH_BYTES} bytes, {_NAME_BYTES} for each name")
    return name


def _file(path: str) -> str:
    """Memory files are Markdown; the ending may be left out."""
    name = _path(path)
    return name if name.endswith(".md") else _path(f"{name}.md")


def plain(text: str, limit: int = 60) -> str:
    """A short, printable piece of what the policy wrote."""
    return text[:limit].encode(errors="replace").decode()
