"""The runner ``pytest``: our own plugin watches a run in this process. Runs inside the box, in the child.

pytest and the plugin are loaded before the project's folders are on ``sys.path``.
"""

from __future__ import annotations

import os
import random
import site
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from _pytest.config.findpaths import load_config_dict_from_file

from camg_coding.grading.integrity import Seal

CONFIGURATIONS = (
    *("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini"),
    *("pyproject.toml", "tox.ini", "setup.cfg"),
)
WORST = ("passed", "xpassed", "xfailed", "skipped", "failed", "error")  # the worst of a test's reports counts
OPTIONS = (
    *("-p", "no:cacheprovider", "-o", "addopts=", "-o", "required_plugins=", "--continue-on-collection-errors"),
    *("-q", "--tb=short", "--color=no", "--disable-warnings", "--show-capture=no", "--no-header"),
)


def main(job: Mapping[str, Any], events: int) -> int:
    """Run the job; returns pytest's exit status."""
    for restore in (site.setquit, site.setcopyright, site.sethelper):
        restore()  # what only the start-up of site would define
    for module in (__name__, Seal.__module__):
        sys.modules.pop(module, None)
    sys.path[:] = [*job["roots"], *sys.path]
    os.environ["PYTHONPATH"] = os.pathsep.join([*job["roots"], *job["packages"]])
    sys.argv[:] = ["pytest"]
    watcher = Watcher(job, events)
    files = dict.fromkeys(test.partition("::")[0] for test in job["tests"])
    paths = [path for path in files if os.path.exists(path)]
    if not paths:
        watcher.send("e 5")
        return 5
    arguments = [*OPTIONS, f"--rootdir={job['root']}", "-c", configuration(job["root"]), *job["arguments"], *paths]
    status = int(pytest.main(arguments, plugins=[watcher]))
    if hasattr(watcher, "seal"):  # else pytest refused its arguments
        watcher.check(watcher.seal.quick())
    watcher.send(f"e {status}")
    return status


def configuration(root: str) -> str:
    """The file that pytest itself would read in ``root``; an empty one if there is none."""
    for name in CONFIGURATIONS:
        path = Path(root, name)
        if path.is_file() and load_config_dict_from_file(path) is not None:
            return str(path)
    return os.devnull


class Watcher:
    """The plugin: collects outcomes, adds tests that must not pass, and looks for what was tampered with."""

    def __init__(self, job: Mapping[str, Any], events: int) -> None:
        self._events = events
        self._pid = os.getpid()
        self._wanted = {test for test in job["tests"] if "::" in test}
        self._whole = {test for test in job["tests"] if "::" not in test}
        self._canaries: Sequence[tuple[str, str]] = job["canaries"]
        self._random = random.Random(job["seed"])
        self._worst: dict[str, int] = {}
        self._raised: dict[str, bool] = {}
        self._module: Any = None
        self.seal: Seal

    def send(self, line: str) -> None:
        """One event; nothing from a process that a test forked."""
        if os.getpid() != self._pid:
            return
        data = memoryview(line.encode("ascii", "backslashreplace") + b"\n")
        while data:
            data = data[os.write(self._events, data) :]

    def check(self, fault: str) -> None:
        """Report a fault, if it is one."""
        if fault:
            self.send("x " + fault)

    def _outcome(self, name: str, outcome: str) -> None:
        self.send(f"t {outcome} {name.encode('unicode_escape').decode('ascii')}")

    # ------------------------------------------------------------ collection
    def pytest_load_initial_conftests(self) -> None:
        """Nothing of the project is imported so far, and pytest's own late patches (legacypath) are in place."""
        self.seal = Seal()

    def pytest_collectreport(self, report: Any) -> None:
        """A file that cannot be collected has an outcome of its own."""
        if report.failed or report.skipped:
            self._outcome(report.nodeid, "error" if report.failed else "skipped")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, session: Any, config: Any, items: list[Any]) -> None:
        """Leave out what was not asked for, and add the canaries."""
        if self._wanted:
            chosen = [item for item in items if self._asked(item.nodeid)]
            if len(chosen) != len(items):
                config.hook.pytest_deselected(items=[item for item in items if not self._asked(item.nodeid)])
                items[:] = chosen
        if items:
            self._add_canaries(session, items)

    def _asked(self, nodeid: str) -> bool:
        if nodeid in self._wanted:
            return True
        path = nodeid.partition("::")[0]
        return any(path == whole or path.startswith(whole.rstrip("/") + "/") or whole == "." for whole in self._whole)

    def _add_canaries(self, session: Any, items: list[Any]) -> None:
        """Place each at the end of some file's tests, as one of that file's tests."""
        modules: dict[Any, int] = {}
        for place, item in enumerate(items):
            module = item.getparent(pytest.Module)
            if module is not None:
                modules[module] = place + 1
        if not modules:
            modules[self._empty_module(session)] = len(items)
        chosen = [(self._random.choice(list(modules)), canary) for canary in self._canaries]
        for module, (name, kind) in sorted(chosen, key=lambda pair: -modules[pair[0]]):
            items.insert(modules[module], self._canary(module, name, kind))

    def _empty_module(self, session: Any) -> Any:
        """For suites without test modules (documents, for instance)."""
        module = pytest.Module.from_parent(session, path=session.path / f"test_{self._random.random():.8f}.py")
        module.obj = type(sys)("test_module")
        return module

    def _canary(self, module: Any, name: str, kind: str) -> Any:
        lines = {
            "fail": f"def {name}():\n    assert 0\n",
            "raise": f"def {name}():\n    raise ValueError\n",
            "error": f"def {name}(resource_{name}): pass\n",
            "skip": f"def {name}():\n    skip('not here')\n",
        }
        space: dict[str, Any] = {"skip": pytest.skip, "__name__": getattr(module.obj, "__name__", "")}
        exec(compile(lines[kind], str(module.path), "exec"), space)
        return pytest.Function.from_parent(module, name=name, callobj=space[name])

    def pytest_collection_finish(self, session: Any) -> None:
        """From now on tests stay as they are."""
        for item in session.items:
            self.seal.keep_test(item)
        self.check(self.seal.broken())

    # ------------------------------------------------------------ running
    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: Any) -> Iterator[None]:
        """See for ourselves whether a test raised."""
        if self.seal.test_changed(item):
            self.check("a test was replaced")
        outcome: Any = yield
        self._raised[item.nodeid] = outcome.excinfo is not None

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep the worst of a test's reports."""
        if report.when == "call" or report.outcome != "passed":
            expected = hasattr(report, "wasxfail")
            if report.outcome == "failed":
                outcome = "failed" if report.when == "call" else "error"
            elif report.outcome == "skipped":
                outcome = "xfailed" if expected else "skipped"
            else:
                outcome = "xpassed" if expected else "passed"
            rank = WORST.index(outcome)
            self._worst[report.nodeid] = max(rank, self._worst.get(report.nodeid, 0))

    def pytest_runtest_logfinish(self, nodeid: str, location: Any) -> None:
        """A test is over."""
        worst = self._worst.pop(nodeid, len(WORST) - 1)
        if worst == 0 and self._raised.pop(nodeid, True):
            self.check("a test raised and was reported as passed")
        self._outcome(nodeid, WORST[worst])
        module = nodeid.partition("::")[0]
        self.check(self.seal.quick() if module == self._module else self.seal.broken())
        self._module = module

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """While pytest's own late patches still stand."""
        self.check(self.seal.broken())
