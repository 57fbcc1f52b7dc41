"""What Coding adds to its tests: opening an episode over 40 MB, and grading against pytest alone.

    python benchmarks/bench_coding.py [--rounds 20] [--tests 300] [--work 0.004]

``episode start`` is ``Coding``'s workspace and the box over it, until its first command may run (the tree is prepared
once, before). ``pytest alone`` is ``python -m pytest`` in such a box, ``run_suite`` our run of the same suite in the
same box, ``grade`` the whole: changes taken, box opened, sources and tests placed, suite run. Interleaved; medians.
"""

from __future__ import annotations

import argparse
import compileall
import os
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from camg.protocols import Box
from camg.types import Limits, Workspace
from camg_coding.build.packages import copy_distributions
from camg_coding.changes import collect
from camg_coding.config import CodingConfig
from camg_coding.environment import Coding
from camg_coding.grading.grader import grade
from camg_coding.grading.suite import grading_limits, run_suite
from camg_coding.patches import unified_diff
from camg_coding.prepare import public_tree
from camg_coding.records import Instance, Profile
from camg_coding.store import TaskSet, read_set, write_profile, write_set
from camg_sandboxes.bwrap import BwrapConfig, BwrapSandbox

TREE_BYTES = 40_000_000
FILES = 400
GOOD, BAD = "def add(a, b):\n    return a + b\n", "def add(a, b):\n    return a - b\n"
SUITE = """\
import time

import pytest
from toy import add


@pytest.mark.parametrize("number", range({tests}))
def test_add(number):
    end = time.process_time() + {work}
    while time.process_time() < end:
        pass
    assert add(number, 1) == number + 1
"""


def build(folder: Path, tests: int, work: float) -> TaskSet:
    """A set of one task, over a repository of ``TREE_BYTES`` with a suite of ``tests * work`` seconds of CPU."""
    profile = Profile(key="toy", owner="camg", repo="toy", commit="1", source="embedded", timeout=300.0)
    tree = folder / "repos" / "toy" / "tree"
    for number in range(FILES):
        path = tree / f"data{number // 20}" / f"blob{number}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(TREE_BYTES // FILES))
    (tree / "tests").mkdir()
    (tree / "tests" / "test_toy.py").write_text(SUITE.format(tests=tests, work=work))
    (tree / "toy.py").write_text(GOOD)
    copy_distributions(["pytest"], folder / "repos" / "toy" / "packages")
    compileall.compile_dir(folder / "repos" / "toy" / "packages", quiet=2)
    write_profile(folder, profile)
    ids = tuple(f"tests/test_toy.py::test_add[{number}]" for number in range(tests))
    instance = Instance(
        instance_id="toy.1",
        repo="camg/toy",
        profile="toy",
        patch=unified_diff({"toy.py": GOOD}, {"toy.py": BAD}),
        polarity="bug",
        FAIL_TO_PASS=ids[:1],
        PASS_TO_PASS=ids[1:],
        problem_statement="add subtracts",
    )
    write_set(folder, [instance], {})
    return read_set(folder)


def measure(rounds: int, tests: int, work: float) -> dict[str, float]:
    """Median milliseconds by name."""
    times: dict[str, list[float]] = defaultdict(list)
    sandbox = BwrapSandbox(BwrapConfig())

    def timed(name: str, call: Callable[[], Any]) -> Any:
        started = time.perf_counter()
        result = call()
        times[name].append(time.perf_counter() - started)
        return result

    def boxes(start: Workspace, *, limits: Limits | None = None) -> Box:
        return sandbox.open("grader", limits=limits or Limits(), workspace=start)

    with tempfile.TemporaryDirectory() as name:
        tasks = build(Path(name), tests, work)
        coding = Coding(CodingConfig(tasks=name))
        task, instance, profile = coding.task("toy.1"), tasks.instances["toy.1"], tasks.profiles["toy"]
        timed("preparing the tree, once", lambda: coding.workspace(task))
        boxes(coding.workspace(task)).close()

        def start() -> Box:
            return boxes(coding.workspace(task), limits=grading_limits(300.0))

        def graded(box: Box) -> None:
            box.write("toy.py", GOOD.encode())
            alone = "python -m pytest -q -p no:cacheprovider tests"
            shown = timed("pytest alone", lambda: box.run(alone, wall_seconds=300.0))
            result = timed("run_suite", lambda: run_suite(box, profile))
            if f"{tests} passed".encode() not in shown.output or len(result.passed) != tests:
                raise SystemExit(result.reason or result.output or shown.output.decode())
            packages = tasks.packages(profile)
            found = timed(
                "grade",
                lambda: grade(tasks, instance, collect(box, public_tree(tasks, instance), profile, packages), boxes),
            )
            if not found.resolved:
                raise SystemExit(f"the repair was not resolved: {found.reason}")

        for number in range(rounds):
            box = timed("episode start", start)
            try:
                if number % 4 == 0:
                    graded(box)
            finally:
                box.close()
    sandbox.close()
    return {title: 1000 * statistics.median(values) for title, values in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="episodes; every fourth one is graded")
    parser.add_argument("--tests", type=int, default=300)
    parser.add_argument("--work", type=float, default=0.004, help="seconds of CPU that each test takes")
    options = parser.parse_args()
    found = measure(options.rounds, options.tests, options.work)
    print(f"{'what':<28}{'median ms':>10}")
    for title, median in found.items():
        print(f"{title:<28}{median:>10.2f}")
    for title in ("run_suite", "grade"):
        print(f"{title + ' / pytest alone':<28}{found[title] / found['pytest alone']:>10.2f}")


if __name__ == "__main__":
    main()
