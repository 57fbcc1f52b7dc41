"""Runs inside a box: what a user of the project would see of some failing tests, as JSON.

``python observer.py FOLDER``: reads ``FOLDER/asked.json`` (tests, folders of the project's sources, further arguments)
and writes ``FOLDER/seen.json``. Imports nothing of camg.
"""

import json
import os
import sys
from typing import Any

MOST_ENTRIES = 4
MOST_RETURNED = 8


def kind_of(value: object) -> dict[str, Any]:
    """A value's type, and what of it gives no test away: a boolean, None, a length."""
    seen: dict[str, Any] = {"type": type(value).__name__}
    if value is None or isinstance(value, bool):
        seen["value"] = repr(value)
    elif isinstance(value, (str, bytes, list, tuple, dict, set, frozenset)):
        seen["length"] = len(value)
    return seen


class Observer:
    """A pytest plugin."""

    def __init__(self, root: str, sources: list[tuple[str, set[str]]], tests: tuple[str, ...]) -> None:
        self.root = root
        self.tests = tests  # files, and folders with a closing slash
        self.sources = sources  # folder on sys.path -> its prefix of file names
        self.entries: list[str] = []
        self.returned: list[object] = []
        self.compared: dict[str, Any] | None = None
        self.seen: dict[str, dict[str, Any]] = {}

    def module(self, path: str) -> str | None:
        """The dotted name of a project's file; None for others, and for tests that lie among the sources."""
        if path.startswith(self.tests) or path.rpartition("/")[2].startswith(("test_", "conftest.")):
            return None
        for home, tops in self.sources:
            if path.startswith(home + "/"):
                parts = path[len(home) + 1 :].removesuffix(".py").split("/")
                if parts[0] in tops:
                    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        return None

    def entry(self, frame: Any) -> str | None:
        """``module:qualname`` of the project's function that runs in ``frame``."""
        module = self.module(frame.f_code.co_filename)
        return None if module is None else module + ":" + frame.f_code.co_qualname

    def watch(self, frame: Any, event: str, argument: object) -> None:
        if event not in ("call", "return") or frame.f_back is None:
            return
        if self.module(frame.f_back.f_code.co_filename) is not None:
            return
        entry = self.entry(frame)
        if entry and event == "return":
            self.returned = [*self.returned[1 - MOST_RETURNED :], argument]
        elif entry:
            if entry in self.entries:
                self.entries.remove(entry)
            self.entries.append(entry)

    def compare(self, op: str, left: object, right: object) -> dict[str, Any]:
        """What is known of a comparison that failed; the side that the project gave, where one is known."""
        sides = [any(value is returned for returned in self.returned) for value in (left, right)]
        side = {(True, False): "left", (False, True): "right"}.get((sides[0], sides[1]), "")
        return {"op": op, "left": kind_of(left), "right": kind_of(right), "given": side}

    def pytest_runtest_protocol(self, item: object) -> None:
        self.entries, self.returned, self.compared = [], [], None

    def pytest_runtest_call(self, item: object) -> Any:
        try:
            sys.setprofile(self.watch)
            return (yield)
        finally:
            sys.setprofile(None)

    def pytest_assertrepr_compare(self, config: object, op: str, left: object, right: object) -> None:
        profile = sys.getprofile()
        sys.setprofile(None)
        try:
            self.compared = self.compare(op, left, right)
        except Exception:
            self.compared = None
        finally:
            sys.setprofile(profile)

    def pytest_exception_interact(self, node: Any, call: Any) -> None:
        sys.setprofile(None)
        info = call.excinfo
        frames, compared = [], self.compared
        traceback = info.tb
        while traceback is not None:
            frame = traceback.tb_frame
            entry = self.entry(frame)
            if entry:
                frames.append(entry)
            if frame.f_code.co_filename.endswith("unittest/case.py") and "first" in frame.f_locals:
                try:
                    names = frame.f_locals
                    compared = self.compare("==", names["first"], names["second"])
                except Exception:
                    compared = None
            traceback = traceback.tb_next
        try:
            message = str(info.value)
        except Exception:
            message = ""
        self.seen[node.nodeid] = {
            "exception": info.type.__name__,
            "message": message[:2000],
            "frames": frames[:MOST_ENTRIES],
            "raised": bool(frames),
            "entries": self.entries[-MOST_ENTRIES:],
            "compared": compared if info.type.__name__ == "AssertionError" else None,
            "phase": call.when,
        }


def main(folder: str) -> None:
    with open(folder + "/asked.json") as file:
        asked = json.load(file)
    import pytest

    observer = Observer(
        asked["root"], [(home, set(tops)) for home, tops in asked["sources"]], tuple(asked["test_paths"])
    )
    pytest.hookimpl(wrapper=True)(Observer.pytest_runtest_call)
    arguments = ["-q", "-p", "no:cacheprovider", "-o", "addopts=", "--tb=no", "--rootdir", asked["root"]]
    os.chdir(asked["root"])
    try:
        pytest.main([*arguments, *asked["arguments"], *asked["tests"]], plugins=[observer])
    finally:
        with open(folder + "/seen.json", "w") as file:
            json.dump(observer.seen, file)


if __name__ == "__main__":
    main(sys.argv[1])
