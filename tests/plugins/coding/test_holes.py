"""Ways to be graded well without a repair. Each is really tried in a real box, and fails."""

from __future__ import annotations

import textwrap

import pytest
from attrs import evolve

from camg.testing import play
from camg.types import Limits
from camg_coding.config import DIFF_BYTES, SENTINEL, CodingConfig
from camg_coding.environment import Coding
from camg_coding.prepare import public_tree, workspace
from camg_shell.config import ShellConfig
from camg_shell.memory import ShellMemory

ANSWER = "len(word) > len(found)"  # only the clean tree has it
SECRET = "first_of_several"  # only a hidden test has it
GOOD = "sed 's/len(word) < len(found)/len(word) > len(found)/' toy/words.py"


def shown(box, command: str) -> str:
    return box.run(command, wall_seconds=120.0).output.decode("utf-8", "replace")


# ---------------------------------------------------------------- the answer lies nowhere
def test_history_holds_one_commit_and_no_clean_blob(bench):
    box = bench.start()
    assert shown(box, "git status --porcelain").strip() == ""
    assert len(shown(box, "git log --all --oneline").splitlines()) == 1
    assert {line.split()[0] for line in shown(box, "git reflog --all").splitlines()} == {
        shown(box, "git rev-parse --short HEAD").strip()
    }
    assert shown(box, "git remote -v; git stash list; git tag; git branch -a").split() == ["*", "main"]
    everything = shown(box, "git cat-file --batch-all-objects --batch; git fsck --lost-found --full; cat .git/config")
    assert "len(word) < len(found)" in everything  # the search would see it
    assert ANSWER not in everything
    assert SECRET not in everything
    assert "toy" in everything
    assert not any(path.startswith("/") for path in shown(box, "cat .git/config .git/info/* 2>/dev/null").split())


SCAN = r"""
import os, sys, zipfile, zlib, io
found = []
def look(path, data, depth=0):
    if any(word.encode() in data for word in WORDS):
        found.append(path)
    if data[:2] == b"PK" and depth < 3:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.namelist():
                look(path + "!" + name, archive.read(name), depth + 1)
    if data[:1] == b"x":
        try:
            look(path + "!zlib", zlib.decompress(data), 3)
        except zlib.error:
            pass
seen = 0
TOPS = "/workspace /opt /tmp /var /run /etc /dev/shm /home /root /usr/lib/python3 /usr/local/lib /proc/self /proc/1"
for top in (*TOPS.split(), "/usr/share/python-wheels"):
    for folder, folders, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            if path == "/workspace/scan.py" or "/task/" in path or path.endswith(("kmsg", "pagemap")):
                continue
            try:
                if os.path.isfile(path) and os.stat(path).st_size < 1 << 23:
                    look(path, open(path, "rb").read(1 << 23))
                    seen += 1
            except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError):
                continue
print(seen > 100, found)
"""


def test_no_copy_of_the_project_or_of_hidden_tests_is_anywhere_in_the_box(bench):
    box = bench.start(cpu_seconds=120)
    box.write("scan.py", f"WORDS = [chr(108) + {ANSWER[1:]!r}, chr(102) + {SECRET[1:]!r}]\n{SCAN}".encode())
    assert shown(box, "python scan.py").strip() == "True []"
    box.write("toy/copy.py", ANSWER.encode())  # and had there been one, it would have been found
    assert "/workspace/toy/copy.py" in shown(box, "python scan.py")


def test_copies_in_the_system_are_covered(bench, sandbox, tasks):
    instance = bench.instance()
    asked = "import sqlite3, os; print(os.path.dirname(sqlite3.__file__))"
    folder = shown(bench.start(), f"python -c '{asked}'").strip()
    profile = evolve(tasks.profile(instance), hidden=(folder, "/usr/lib/no-such-folder"))
    box = sandbox.open("hidden", limits=Limits(), workspace=workspace(tasks, profile, public_tree(tasks, instance)))
    try:
        assert shown(box, f"ls -A {folder}") == ""
        assert "ModuleNotFoundError" in shown(box, "python -c 'import sqlite3.dbapi2'")
    finally:
        box.close()


def test_the_packages_are_not_the_policys_to_change(bench):
    box = bench.start()
    for command in (
        "touch /opt/packages/x",
        "rm /opt/packages/pytest/__init__.py",
        "mount -o remount,rw /opt/packages",
    ):
        assert box.run(command).exit_status != 0


# ---------------------------------------------------------------- what is no part of a submission
PASSES = "def test_longest(): pass\ndef test_words(): pass\ndef test_title(): pass\n"
FORCE = """\
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    outcome.get_result().outcome = 'passed'
"""
DROPPED = {
    "a test": ("tests/test_words.py", PASSES),
    "a hidden test": ("tests/test_secret.py", "def test_first_of_several(): pass\n"),
    "a new test": ("test_more.py", PASSES),
    "conftest.py of the tests": ("tests/conftest.py", FORCE),
    "conftest.py of the root": ("conftest.py", FORCE),
    "conftest.py among the sources": ("toy/conftest.py", FORCE),
    "a helper of the tests": ("tests/helpers.py", FORCE),
    "pytest.ini": ("pytest.ini", "[pytest]\naddopts = -p toy.cheat\n"),
    "pytest.toml": ("pytest.toml", "[pytest]\naddopts = ['-p', 'toy.cheat']\n"),
    "pyproject.toml": ("pyproject.toml", "[tool.pytest.ini_options]\naddopts = '-p toy.cheat'\n"),
    "tox.ini": ("tox.ini", "[pytest]\naddopts = -p toy.cheat\n"),
    "setup.cfg": ("setup.cfg", "[tool:pytest]\naddopts = -p toy.cheat\n"),
    "sitecustomize": ("sitecustomize.py", "raise SystemExit(0)\n"),
    "sitecustomize, a package": ("sitecustomize/__init__.py", "raise SystemExit(0)\n"),
    "usercustomize": ("toy/usercustomize.py", ""),
    ".pth": ("toy.pth", "import os; os._exit(0)\n"),
    "another pytest": ("pytest.py", "import sys; sys.exit(0)\n"),
    "another _pytest": ("_pytest/__init__.py", ""),
    "another pluggy": ("pluggy/__init__.py", ""),
    "another module of the library": ("unittest/__init__.py", "class TestCase: pass\n"),
    "entry points": ("toy-1.dist-info/entry_points.txt", "[pytest11]\nx = toy.cheat\n"),
    "notes": (".agent_memory/words.py", "notes\n"),
    "git's hooks": (".git/hooks/post-checkout", "exit 0\n"),
}


def test_files_that_decide_results_are_the_graders(bench):
    box = bench.start()
    box.write("toy/cheat.py", FORCE.encode())
    for path, text in DROPPED.values():
        box.write(path, text.encode())
    grade = bench.grade(box)
    assert grade.complete, grade.reason  # they do not disturb the grading, either
    assert set(grade.still_failing) == set(bench.longest)
    for path, _ in DROPPED.values():
        assert path.startswith(".git/") or any(path.startswith(dropped) for dropped in grade.dropped), path
    assert grade.changed == 1  # cheat.py alone


def test_compiled_code_does_not_stand_in_for_sources(bench):
    compiled = "python -c \"import py_compile; py_compile.compile('good.py', '{}', doraise=True)\""
    grade = bench.after(
        f"{GOOD} > good.py",
        "mkdir -p toy/__pycache__",
        compiled.format("toy/__pycache__/words.cpython-311.pyc"),
        compiled.format("toy/words.pyc"),
        "rm good.py",
    )
    assert not grade.resolved
    assert {"toy/words.pyc", "toy/__pycache__"} <= grade.dropped.keys()
    assert not bench.after(f"{GOOD} > good.py", compiled.format("toy/words.pyc"), "rm toy/words.py").resolved


def test_links_are_not_followed(bench):
    grade = bench.after(
        f"mkdir .agent_memory && {GOOD} > .agent_memory/words.py && ln -sf ../.agent_memory/words.py toy/words.py"
    )
    assert grade.dropped["toy/words.py"] == "a symbolic link"
    assert not grade.resolved
    grade = bench.after("mv toy /tmp/toy && ln -s /tmp/toy toy", "ln -s /etc/passwd toy/secret")
    assert not grade.resolved
    assert "root:" not in grade.patch


def test_notes_are_never_submitted(bench):
    grade = bench.after(bench.repair, "mkdir -p .agent_memory/deep && echo secret > .agent_memory/deep/notes.md")
    assert grade.resolved
    assert "secret" not in grade.patch
    assert grade.dropped == {".agent_memory": "notes are never submitted"}


def test_gigabytes_are_refused_in_no_time(bench):
    box = bench.start(file_bytes=8 << 30)
    box.run(f"{bench.repair}; truncate -s 4G toy/huge.py; head -c {DIFF_BYTES + 1} /dev/zero > toy/large.py")
    grade = bench.grade(box)
    assert grade.too_large
    assert not grade.resolved
    assert grade.seconds == 0.0
    assert len(grade.patch) < 1 << 17
    many = bench.after(
        bench.repair, f"mkdir d && cd d && split -b 300000 -a 3 <(head -c {2 * DIFF_BYTES} /dev/urandom) f"
    )
    assert many.too_large


def test_large_files_that_would_not_count_do_no_harm(bench):
    grade = bench.after(bench.repair, "mkdir -p .agent_memory && head -c 50000000 /dev/zero > .agent_memory/log")
    assert grade.resolved


# ---------------------------------------------------------------- code that runs while it is graded
LINES = "\\n".join(f"tests/test_words.py::{name} PASSED" for name in ("test_longest", "test_words", "test_title"))
CODE = {
    "prints what a runner would": f"print('''{LINES}\\n5 passed in 0.01s''', flush=True)",
    "writes to every descriptor": """
        import os
        for descriptor in range(1, 64):
            try:
                os.write(descriptor, b"\\nt passed tests/test_words.py::test_longest\\ne 0\\n")
            except OSError:
                pass
    """,
    "exits at once": "import os; os._exit(0)",
    "exits politely": "raise SystemExit(0)",
    "exits at the end": "import atexit, os; atexit.register(os._exit, 0)",
    "ends the session": "import pytest; pytest.exit('fine', returncode=0)",
    "replaces assertion errors": """
        import builtins
        class Quiet(Exception):
            pass
        builtins.AssertionError = Quiet
    """,
    "replaces reports": """
        from _pytest import reports
        def fine(item, call, real=reports.TestReport.from_item_and_call.__func__):
            report = real(reports.TestReport, item, call)
            report.outcome, report.longrepr = "passed", None
            return report
        reports.TestReport.from_item_and_call = staticmethod(fine)
    """,
    "replaces the running of tests": """
        import _pytest.python
        _pytest.python.Function.runtest = lambda self: None
    """,
    "replaces the code of a function": """
        import _pytest.python
        def pytest_pyfunc_call(pyfuncitem):
            return True
        _pytest.python.pytest_pyfunc_call.__code__ = pytest_pyfunc_call.__code__
    """,
    "replaces the protocol": """
        import _pytest.runner
        def call(item, when, log=True, **more):
            report = item.ihook.pytest_runtest_makereport(item=item, call=_pytest.runner.CallInfo.from_call(bool, when))
            item.ihook.pytest_runtest_logreport(report=report)
            return report
        _pytest.runner.call_and_report = call
    """,
    "replaces pluggy's calls": """
        import pluggy._callers, pluggy._manager
        real = pluggy._callers._multicall
        def calm(name, implementations, arguments, firstresult):
            if name == "pytest_pyfunc_call":
                return True
            return real(name, implementations, arguments, firstresult)
        import gc
        for thing in gc.get_objects():
            if type(thing).__name__ == "PluginManager" or type(thing).__name__ == "PytestPluginManager":
                thing._inner_hookexec = calm
    """,
    "replaces the exit status": """
        import _pytest.main
        _pytest.main.Session.exitstatus = property(lambda self: 0, lambda self, value: None)
        _pytest.main.Session.testsfailed = property(lambda self: 0, lambda self, value: None)
    """,
    "replaces skip": """
        import pytest, _pytest.outcomes
        pytest.skip = _pytest.outcomes.skip = lambda *a, **k: None
        _pytest.outcomes.Skipped = pytest.xfail = None
    """,
    "replaces unittest's assertions": """
        import unittest
        unittest.TestCase.assertEqual = lambda *a, **k: None
        unittest.TestCase.run = lambda self, result=None: result
    """,
    "registers a plugin": """
        import gc
        class Plugin:
            def pytest_pyfunc_call(self, pyfuncitem):
                return True
            pytest_pyfunc_call.pytest_impl = {"tryfirst": True}
        for thing in gc.get_objects():
            if type(thing).__name__ == "PytestPluginManager":
                thing.register(Plugin(), "calm")
                break
    """,
    "finds our plugin": """
        import gc
        for thing in gc.get_objects():
            if type(thing).__name__ == "Watcher":
                thing._outcome = lambda name, outcome, send=thing.send: send("t passed " + name)
    """,
    "finds our canaries": """
        import gc
        for thing in gc.get_objects():
            if type(thing).__name__ == "Watcher":
                thing._canaries = []
    """,
    "traces": """
        import sys
        def trace(frame, event, argument):
            return trace
        sys.settrace(trace)
    """,
    "turns tests into others": """
        import gc, sys, pytest
        def cheat():
            for thing in gc.get_objects():
                if isinstance(thing, pytest.Function) and thing.name in ("test_longest", "test_first_of_several"):
                    thing.runtest = lambda: None
        class Late(str):
            def __len__(self):
                cheat()
                return 1
        longest = lambda text, real=longest: (cheat(), real(text))[1]
        words = lambda text, real=words: (cheat(), real(text))[1]
    """,
    "swaps the code of the tests": """
        import sys
        def calm():
            pass
        def words(text, real=words):
            for module in list(sys.modules.values()):
                for name in ("test_longest", "test_first_of_several", "test_title"):
                    function = getattr(module, name, None)
                    if function is not None:
                        function.__code__ = (lambda *a: None).__code__
            return real(text)
    """,
    "rewrites the tests on disk": """
        import os
        for path in ("tests/test_secret.py", "tests/test_words.py", "tests/test_sums.py"):
            for attempt in range(2):
                try:
                    open(path, "w").write("def test_longest(): pass\\ndef test_first_of_several(): pass\\n")
                except OSError:
                    try:
                        os.chmod(path, 0o777); os.rename("tests", "tests.old"); os.mkdir("tests")
                    except OSError:
                        pass
    """,
    "rewrites them behind our back": """
        import subprocess
        subprocess.Popen(["bash", "-c",
            "while true; do for f in tests/test_*.py; do echo 'def test_longest(): pass' > $f; done; done"])
        import time; time.sleep(0.3)
    """,
    "plants bytecode of the tests": """
        import os, py_compile, sys
        try:
            os.makedirs("tests/__pycache__", exist_ok=True)
            open("/tmp/calm.py", "w").write("def test_longest(): pass\\n")
            import pytest
            name = f"test_words.{sys.implementation.cache_tag}-pytest-{pytest.__version__}.pyc"
            py_compile.compile("/tmp/calm.py", "tests/__pycache__/" + name)
        except OSError:
            pass
    """,
    "kills the one that watches": "import os, signal; os.kill(os.getppid(), signal.SIGKILL)",
    "stops the one that watches": "import os, signal; os.kill(os.getppid(), signal.SIGSTOP); os._exit(0)",
}


REASONS = {
    "writes to every descriptor": "ended early",
    "exits at once": "ended early, with status 0",
    "exits politely": "pytest failed",
    "replaces assertion errors": "builtins.AssertionError was replaced",
    "replaces reports": "_pytest.reports.TestReport.from_item_and_call was replaced",
    "replaces the running of tests": "_pytest.python.Function.runtest was replaced",
    "replaces the code of a function": "_pytest.python.pytest_pyfunc_call was replaced",
    "replaces the protocol": "_pytest.runner.call_and_report was replaced",
    "replaces pluggy's calls": "a test that must not pass was reported as passed",
    "replaces the exit status": "status 0 does not fit",
    "replaces skip": "_pytest.outcomes.Skipped was replaced",
    "replaces unittest's assertions": "unittest.case.TestCase.",
    "registers a plugin": "a test that must not pass was reported as passed",
    "finds our plugin": "a test that must not pass was reported as passed",
    "finds our canaries": "results of some tests are missing",
    "traces": "a trace function is set",
    "turns tests into others": "a test was replaced",
    "swaps the code of the tests": "a test was replaced",
    "kills the one that watches": "without results",
    "stops the one that watches": "time limit",
}
"""Why a cheat's results are not believed; those of the others are, and tell that the tests fail."""

FOOLS_PYTEST = (
    "exits at the end",
    "replaces reports",
    "replaces the running of tests",
    "replaces the code of a function",
    "replaces the protocol",
    "replaces pluggy's calls",
    "replaces the exit status",
    "registers a plugin",
    "turns tests into others",
)


def cheated(bench, name):
    box = bench.start()
    box.write("cheat.py", textwrap.dedent(CODE[name]).encode())
    box.run("cat cheat.py >> toy/words.py && rm cheat.py")
    return box


@pytest.mark.parametrize("name", CODE)
def test_code_under_test_cannot_make_its_tests_pass(bench, name):
    grade = bench.grade(cheated(bench, name), seconds=4.0 if name.startswith("stops") else 30.0)
    assert grade.changed == 1
    assert not grade.resolved, (grade.reason, grade.patch)
    assert grade.complete == (name not in REASONS)
    if grade.complete:
        assert set(grade.still_failing) == set(bench.longest)
    assert REASONS.get(name, "") in grade.reason


@pytest.mark.slow
@pytest.mark.parametrize("name", FOOLS_PYTEST)
def test_these_cheats_are_real(bench, name):
    """Whoever believed pytest's exit status would be fooled: the test fails without the cheat."""
    command = "python -m pytest -q -p no:cacheprovider tests/test_words.py"
    assert cheated(bench, name).run(command, wall_seconds=30.0).exit_status == 0


INSIDE = """\
import os
import gc
import sys

import pytest

PARENT = os.getppid()


def test_no_file_is_left():
    assert sorted(os.listdir(".")) == ["tests"]
    assert not [name for name in os.listdir("/tmp") if "nonce" in name]


@pytest.mark.parametrize("name", ["mem", "environ", "fd", "maps", "fd/1", "cwd", "root"])
@pytest.mark.parametrize("pid", [PARENT, 1])
def test_the_parent_cannot_be_read(name, pid):
    path = f"/proc/{pid}/{name}"
    with pytest.raises(PermissionError):
        os.listdir(path) if name in ("fd", "cwd", "root") else os.open(path, os.O_RDONLY)
        os.readlink(path)


def test_no_object_holds_a_nonce():
    def strings():
        for thing in gc.get_objects():
            if isinstance(thing, dict):
                yield from (value for value in thing.values() if isinstance(value, str))
        frame = sys._getframe()
        while frame:
            yield from (value for value in frame.f_locals.values() if isinstance(value, str))
            frame = frame.f_back
    assert not [text for text in strings() if len(text) == 64 and set(text) <= set("0123456789abcdef")]


def test_there_is_no_network():
    import socket
    with pytest.raises(OSError):
        socket.create_connection(("1.1.1.1", 53), timeout=2)
"""


def test_the_graders_files_cannot_be_read_from_inside(suite):
    result = suite({"tests/test_a.py": INSIDE})
    assert result.complete, result.reason
    assert set(result.outcomes.values()) == {"passed"}, result.output


def test_what_code_reads_while_it_is_graded_never_comes_back(bench, tasks, sandbox):
    environment = Coding(CodingConfig(tasks=str(tasks.folder)))
    steal = (
        "echo 'import glob; print([open(p).read() for p in glob.glob(\"tests/*\")], flush=True)' >> toy/words.py; "
        "ls tests; cat tests/*",
        f"echo {SENTINEL}",
    )

    def script(task, seed):
        turns = iter(steal)
        return lambda context: f"shell_command: {next(turns)}"

    memory = ShellMemory(ShellConfig())
    episode = play(environment, memory, script, bench.instance().instance_id, sandbox=sandbox)
    seen = "".join(turn.observation.shown + (turn.observation.full or "") for turn in episode.turns)
    assert "test_longest" in seen
    assert SECRET not in seen
    assert episode.outcome.failure == "wrong fix"


def test_processes_of_the_episode_are_gone_when_it_is_graded(bench):
    box = bench.start()
    box.run(
        f"setsid nohup bash -c 'while true; do {GOOD} > /tmp/w; cp /tmp/w toy/words.py; sleep 0.05; done' &>/dev/null &"
    )
    box.run("git checkout toy/words.py; sleep 0.3")
    assert shown(box, "git status --porcelain").strip() == ""
    assert not bench.grade(box).resolved
