"""What a row's patch says about itself: is it a whole unified diff, and which paths does it touch?

Rows are judged before there is a tree; :func:`camg_coding.patches.apply_patch` judges again when there is one.
"""

from __future__ import annotations

import re

from camg.errors import DataError
from camg_coding.importers.report import Malformed
from camg_coding.patch_format import read_patch

UNPARSEABLE = "unparseable patch"
ESCAPES = "patch leaves the tree"
BINARY = "binary patch"

# Lines of a hunk begin with a sign or a space, so these are lines of headers.
_BINARY = re.compile(r"^(?:GIT binary patch|Binary files )", re.MULTILINE)
_LINK = re.compile(r"^(?:(?:old|new|new file|deleted file) mode|index [0-9a-f]+\.\.[0-9a-f]+) 120000", re.MULTILINE)
_ABSOLUTE = re.compile(r"^--- (?P<old>\S.*)\n\+\+\+ (?P<new>\S.*)\n@@ -", re.MULTILINE)


def patch_paths(patch: str) -> tuple[str, ...]:
    """The paths that ``patch`` touches, relative to the root, in order.

    Raises :class:`Malformed` for what is not a whole unified diff or changes nothing, for binary changes and symbolic
    links, and for a path that would leave the tree or enter ``.git``.
    """
    if _BINARY.search(patch):
        raise Malformed(BINARY)
    if _LINK.search(patch):
        raise Malformed(ESCAPES, "it changes a symbolic link")
    for names in _ABSOLUTE.finditer(patch):
        for name in names.groups():
            if name.lstrip('"').startswith("/") and not name.startswith("/dev/null"):
                raise Malformed(ESCAPES, repr(name[:120]))
    try:
        changes = read_patch(patch)
    except DataError as error:
        reason = ESCAPES if "within the repository" in error.message else UNPARSEABLE
        raise Malformed(reason, error.message.removeprefix("malformed patch: ")) from error
    except ValueError as error:  # a line number of thousands of digits
        raise Malformed(UNPARSEABLE, str(error)) from error
    if not any(change.hunks or change.old != change.new for change in changes):
        raise Malformed(UNPARSEABLE, "it changes nothing")
    paths = tuple(dict.fromkeys(path for change in changes for path in (change.old, change.new) if path is not None))
    for path in paths:
        if path.split("/")[0] == ".git" or "\0" in path:
            raise Malformed(ESCAPES, f"it changes {path[:120]!r}")
    return paths
