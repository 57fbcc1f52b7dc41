"""What a user would see of a bug: which public functions, which exceptions, which kinds of wrong results."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from attrs import field, frozen

from camg.protocols import Box
from camg_coding.prepare import ROOT
from camg_coding.records import Profile

MOST_TESTS = 6  # failing tests that are looked at
_FOLDER = ".camg-observer"
_BYTES = 1 << 20


@frozen(kw_only=True)
class Observation:
    """One failing test, without anything of the test's own text."""

    exception: str  # type's name
    message: str
    raised: bool  # the exception went through the project's code
    entries: tuple[
        str, ...
    ] = ()  # the project's functions that the test called, "module.Class.function", last one last
    compared: Mapping[str, Any] = field(factory=dict)  # op; type, length and harmless value of left and right


def observe(box: Box, profile: Profile, tests: Sequence[str], *, wall_seconds: float) -> tuple[Observation, ...]:
    """Run some of ``tests`` again in ``box``, which holds the bug; empty where nothing could be seen.

    Only for trees of whose behaviour nothing depends on: the tests' process could write anything.
    """
    chosen = [tests[round(place * (len(tests) - 1) / (MOST_TESTS - 1))] for place in range(MOST_TESTS)] if tests else []
    roots = [posixpath.normpath(f"{ROOT}/{root}") for root in profile.roots]
    asked = {
        "tests": list(dict.fromkeys(chosen)),
        "root": ROOT,
        "arguments": list(profile.arguments),
        "test_paths": [
            f"{ROOT}/{path}" + ("" if path.endswith(".py") else "/") for path in profile.tests if path != "."
        ],
        "sources": [[root, list(profile.packages)] for root in roots],
    }
    source = resources.files("camg_coding.build").joinpath("observer.py").read_bytes()
    try:
        box.write(f"{_FOLDER}/observer.py", source)
        box.write(f"{_FOLDER}/asked.json", json.dumps(asked).encode())
        variables = "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 PYTHONHASHSEED=0 TZ=UTC"
        box.run(f"{variables} python -s -B {_FOLDER}/observer.py {ROOT}/{_FOLDER}", wall_seconds=wall_seconds)
        seen = json.loads(box.read(f"{_FOLDER}/seen.json", _BYTES))
    except (OSError, ValueError):
        return ()
    return tuple(_observation(item) for item in seen.values())


def _observation(item: Mapping[str, Any]) -> Observation:
    entries = [*item["entries"], *item["frames"][:1]]  # the one that raised is the most telling
    named = [name for entry in entries if (name := public_name(entry))]
    return Observation(
        exception=item["exception"],
        message=item["message"],
        raised=item["raised"],
        entries=tuple(dict.fromkeys(reversed(named)))[::-1],  # each at its last place
        compared=item["compared"] or {},
    )


def public_name(entry: str) -> str:
    """``module.Class.function`` as users write it; a special method is its class; '' for what users do not see."""
    module, _, qualname = entry.partition(":")
    parts = qualname.partition(".<locals>")[0].split(".")
    if parts[-1].startswith("__") and parts[-1].endswith("__"):
        parts.pop()
    if not parts or any(part.startswith(("_", "<")) for part in parts):
        return ""
    return ".".join([module, *parts])
