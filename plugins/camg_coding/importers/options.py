"""What the command line gives to an import, checked: repositories at hand, and the list of held-out ones."""

from __future__ import annotations

from pathlib import Path

from camg.errors import DataError
from camg_coding.names import same_name, split_mirror


def repository_option(text: str) -> tuple[str, Path]:
    """``owner/name=DIR`` -> ``("owner/name", DIR)``. Raises :class:`DataError`."""
    name, equals, folder = text.partition("=")
    path = Path(folder).expanduser()
    if not (equals and folder.strip()):
        raise DataError(f"Expected owner/name=DIR, got {text!r}.")
    if not path.is_dir():
        raise DataError(f"Expected the folder of {name} after the equals sign, got {folder!r}, which is none.")
    return split_mirror(name)[0], path


def read_held_out(path: Path) -> tuple[str, ...]:
    """The repositories of a list, one a line; ``#`` begins a comment. Raises :class:`DataError`, naming the line."""
    try:
        text = path.expanduser().read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise DataError(f"Expected a list of repositories in {path}: {error}.") from error
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        name = line.partition("#")[0].strip()
        if not name:
            continue
        try:
            same_name(name)
        except DataError as error:
            raise DataError(f"{path}, line {number}: {error.message}") from error
        found.append(name)
    if not found:
        raise DataError(f"Expected repositories in {path}, one a line, found none.")
    return tuple(found)
