"""The runner ``plain``: every ``test_*`` function of some files, without pytest. Runs inside the box, in the child.

For suites that are tiny and ours: it starts in a few milliseconds.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as typing has it, which takes milliseconds to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def main(job: dict[str, Any], events: int) -> int:
    """Run the job; returns 0, 1 (something failed) or 5 (nothing ran), as pytest would."""
    sys.path[:0] = job["roots"]
    os.environ["PYTHONPATH"] = ":".join(job["roots"] + job["packages"])
    pid = os.getpid()
    wanted = {test for test in job["tests"] if "::" in test}
    files = list(dict.fromkeys(test.partition("::")[0] for test in job["tests"]))
    results: list[str] = []
    refuse = AssertionError

    def send(line: str) -> None:
        if os.getpid() == pid:
            os.write(events, line.encode("ascii") + b"\n")

    def record(name: str, function: Callable[[], object]) -> None:
        outcome = "passed"
        try:
            function()
        except Exception:
            outcome = "failed"
        if outcome == "passed" and AssertionError is not refuse:
            send("x builtins were changed")
        results.append(outcome)
        send(f"t {outcome} {name.encode('unicode_escape').decode('ascii')}")

    def fail() -> None:
        raise refuse

    for number, path in enumerate(files):
        space: dict[str, Any] = {"__name__": os.path.basename(path)[:-3], "__file__": os.path.abspath(path)}
        try:
            with open(path, encoding="utf-8") as file:
                exec(compile(file.read(), path, "exec"), space)
        except Exception:
            results.append("error")
            send(f"t error {path.encode('unicode_escape').decode('ascii')}")
            continue
        tests = {name: value for name, value in space.items() if name.startswith("test_") and callable(value)}
        for name, test in tests.items():
            if f"{path}::{name}" in wanted or not any(one.startswith(path + "::") for one in wanted):
                record(f"{path}::{name}", test)
        for name, _ in job["canaries"] if number == 0 and tests else ():
            record(f"{path}::{name}", fail)
    status = 5 if not results else int(any(outcome != "passed" for outcome in results))
    send(f"e {status}")
    return status
