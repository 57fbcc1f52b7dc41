"""Suites in boxes: every outcome counts as what it is, and what does not end as it should is not believed."""

from __future__ import annotations

import base64
import re

import pytest

from camg.types import CommandResult
from camg_coding.grading.suite import judge
from camg_coding.session import Grade

OUTCOMES = """\
    import unittest

    import pytest


    def test_passes():
        print("test_forged PASSED")


    def test_fails():
        assert 0


    def test_skips():
        pytest.skip("no reason")


    @pytest.mark.xfail
    def test_xfails():
        assert 0


    @pytest.mark.xfail
    def test_xpasses():
        pass


    @pytest.mark.xfail(strict=True)
    def test_xpasses_strictly():
        pass


    @pytest.fixture
    def broken():
        raise ValueError


    @pytest.fixture
    def breaks():
        yield
        raise ValueError


    def test_errs_in_set_up(broken):
        pass


    def test_errs_in_teardown(breaks):
        pass


    @pytest.mark.parametrize("value", ["a::b", "[c]", "x y", "é", "l" * 90, "new\\nline"])
    def test_parametrised(value):
        pass


    class Unit(unittest.TestCase):
        def test_passes(self):
            self.assertEqual(1, 1)

        def test_sub_tests(self):
            for value in range(3):
                with self.subTest(value=value):
                    self.assertEqual(value, 2)

        @unittest.expectedFailure
        def test_unexpectedly_passes(self):
            pass
"""


def test_each_outcome_is_what_it_is(suite):
    result = suite({"tests/test_all.py": OUTCOMES, "tests/test_import.py": "import missing_module\n"})
    assert result.complete, result.reason
    parametrised = ["a::b", "[c]", "x y", "\\xe9", "l" * 90, "new\\nline"]
    assert result.outcomes == {
        "tests/test_import.py": "error",
        "tests/test_all.py::test_passes": "passed",
        "tests/test_all.py::test_fails": "failed",
        "tests/test_all.py::test_skips": "skipped",
        "tests/test_all.py::test_xfails": "xfailed",
        "tests/test_all.py::test_xpasses": "xpassed",
        "tests/test_all.py::test_xpasses_strictly": "failed",
        "tests/test_all.py::test_errs_in_set_up": "error",
        "tests/test_all.py::test_errs_in_teardown": "error",
        **{f"tests/test_all.py::test_parametrised[{name}]": "passed" for name in parametrised},
        "tests/test_all.py::Unit::test_passes": "passed",
        "tests/test_all.py::Unit::test_sub_tests": "failed",
        "tests/test_all.py::Unit::test_unexpectedly_passes": "failed",
    }


def test_thousands_of_ids_are_taken_and_only_they_run(suite):
    count = 3000
    files = {
        "tests/test_many.py": f"""\
            import pytest


            @pytest.mark.parametrize("value", [f"{{number:04d}}{"x" * 60}" for number in range({count})])
            def test_one(value):
                pass
        """,
        "tests/test_other.py": "def test_other():\n    assert 0\n",
    }
    ids = tuple(f"tests/test_many.py::test_one[{number:04d}{'x' * 60}]" for number in range(1, count))
    assert sum(map(len, ids)) > 128 << 10
    result = suite(files, ids, seconds=120)
    assert result.complete, result.reason
    assert result.passed == set(ids)
    assert len(result.outcomes) == count - 1


def test_a_file_that_is_not_there_leaves_its_tests_missing(suite):
    result = suite({"tests/test_a.py": "def test_a():\n    pass\n"}, ("tests/test_a.py", "tests/test_gone.py::test_b"))
    assert result.complete
    assert result.outcomes == {"tests/test_a.py::test_a": "passed"}


def test_a_suite_without_tests_is_complete_and_empty(suite):
    result = suite({"tests/helper.py": ""})
    assert result.complete, result.reason
    assert result.outcomes == {}


def test_documents_are_tests_too(suite):
    files = {"doc.txt": ">>> 1 + 1\n2\n", "bad.txt": ">>> 1 + 1\n3\n"}
    result = suite(files, ("doc.txt", "bad.txt"), arguments=("--doctest-glob=*.txt",))
    assert result.complete, result.reason
    assert result.outcomes == {"doc.txt::doc.txt": "passed", "bad.txt::bad.txt": "failed"}


def test_a_skipped_file_skips_the_canaries_and_is_believed(suite):
    result = suite({"tests/test_a.py": "import pytest\npytestmark = pytest.mark.skip\ndef test_a():\n    pass\n"})
    assert result.complete, result.reason
    assert result.outcomes == {"tests/test_a.py::test_a": "skipped"}


def test_the_surroundings_are_fixed(suite):
    result = suite(
        {
            "tests/test_a.py": """\
                import os
                import sys
                import time


                def test_a(request):
                    assert sys.flags.hash_randomization == 0 or os.environ["PYTHONHASHSEED"] == "0"
                    assert time.tzname[0] == "UTC"
                    assert request.config.rootpath == request.config.inipath.parent
                    assert not request.config.getini("addopts")
                    assert not request.config.pluginmanager.hasplugin("cacheprovider")
                    assert exit and quit and help


                def test_files():
                    assert sorted(os.listdir()) == ["pyproject.toml", "tests"]
            """,
            "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '--cov --no-such-option'\n",
        }
    )
    assert result.complete, result.reason + result.output
    assert result.passed == {"tests/test_a.py::test_a", "tests/test_a.py::test_files"}, result.output


def test_sources_below_src_are_found(suite):
    files = {"src/toy.py": "ONE = 1\n", "tests/test_a.py": "import toy\ndef test_a():\n    assert toy.ONE\n"}
    assert suite(files, roots=("src",)).passed == {"tests/test_a.py::test_a"}


# ---------------------------------------------------------------- what is not believed
FLOOD = """\
while True:
    for descriptor in fds:
        try:
            os.write(descriptor, b"PASSED" * 9999)
        except OSError:
            pass
"""
CUT_SHORT = {
    "exits without a word": ("import os\nos._exit(0)", "ended early, with status 0"),
    "exits from a test": ("def test_b():\n    import os\n    os._exit(0)", "ended early, with status 0"),
    "leaves pytest": (
        "import pytest\ndef test_b():\n    pytest.exit('done', returncode=0)",
        "are missing|does not fit",
    ),  # canaries by chance
    "interrupts": ("def test_b():\n    raise KeyboardInterrupt", "interrupted"),
    "dies of a signal": ("def test_b():\n    import os\n    os.kill(os.getpid(), 9)", "killed by signal 9"),
    "floods": ("import os\nfds = [int(n) for n in os.listdir('/proc/self/fd')]\n" + FLOOD, "a flood"),
}


@pytest.mark.parametrize(("source", "reason"), CUT_SHORT.values(), ids=CUT_SHORT)
def test_a_run_that_is_cut_short_is_not_complete(suite, source, reason):
    result = suite({"tests/test_a.py": "def test_a():\n    pass\n", "tests/test_b.py": source + "\n"})
    assert not result.complete
    assert re.search(reason, result.reason)
    assert result.passed == frozenset()


def test_a_time_limit_is_a_reason(suite):
    result = suite({"tests/test_a.py": "import time\ndef test_a():\n    time.sleep(60)\n"}, seconds=1)
    assert not result.complete
    assert result.reason == "it passed its time limit of 1 s"
    assert result.seconds < 10


def test_exhausted_memory_is_a_reason(suite):
    source = "def test_a():\n    hoard = [bytes([n]) * (1 << 26) for n in range(200)]\n"
    result = suite({"tests/test_a.py": source}, limits={"memory_bytes": 256 << 20})
    assert not result.complete
    assert "memory limit" in result.reason or "killed" in result.reason


def test_exit_functions_of_the_project_have_no_say(suite):
    source = "import atexit, os\natexit.register(os._exit, 0)\ndef test_a():\n    assert 0\n"
    result = suite({"tests/test_a.py": source})
    assert result.complete, result.reason
    assert result.outcomes == {"tests/test_a.py::test_a": "failed"}


def test_a_forked_test_process_is_not_heard(suite):
    source = "import os\ndef test_a():\n    if os.fork():\n        os.wait()\n        assert 0\n"
    result = suite({"tests/test_a.py": source})
    assert result.outcomes["tests/test_a.py::test_a"] == "failed"


# ---------------------------------------------------------------- the record
NONCE = "n" * 64
CANARIES = [("test_c", "fail")]
HONEST = "t passed a.py::test_a\nt failed a.py::test_c\ne 1\n"


def judged(events: str = HONEST, *, nonce: str = NONCE, status: int = 1, exit_status: int = 1, note: str = "-"):
    data = base64.b64encode(events.encode()).decode()
    line = f"shown\n{nonce} {status << 8} {note} base64 {data}\n"
    return judge(CommandResult(line.encode(), exit_status), NONCE, CANARIES, 9.0)


def test_an_honest_record_is_believed():
    result = judged()
    assert result.complete
    assert result.outcomes == {"a.py::test_a": "passed"}
    assert result.output == "shown"


@pytest.mark.parametrize(
    "forged",
    [
        {"nonce": "m" * 64},
        {"events": HONEST.replace("failed", "passed").replace("e 1", "e 0"), "status": 0, "exit_status": 0},
        {"events": "t passed a.py::test_a\ne 0\n", "status": 0, "exit_status": 0},
        {"events": HONEST.replace("e 1", "e 0")},
        {"events": HONEST, "status": 0, "exit_status": 0},
        {"events": HONEST, "exit_status": 0},
        {"events": HONEST + "e 1\n"},
        {"events": HONEST.removesuffix("e 1\n")},
        {"events": "x something\n" + HONEST},
        {"events": "t perfect a.py::test_b\n" + HONEST},
        {"events": "hello\n" + HONEST},
        {"events": "t passed \\ud\n" + HONEST},
        {"note": "flood"},
        {"events": HONEST.replace("t failed", "t xpassed")},
    ],
)
def test_a_record_that_does_not_fit_is_not_believed(forged):
    result = judged(**forged)
    assert not result.complete
    assert result.reason
    assert result.passed == frozenset()


def test_what_is_told_twice_counts_only_if_it_agrees():
    result = judged("t passed a.py::test_a\nt skipped a.py::test_a\n" + HONEST)
    assert result.outcomes == {"a.py::test_a": "failed"}


# ---------------------------------------------------------------- the plain runner
PLAIN = {
    "mine.py": "def add(a, b):\n    return a + b\n",
    "test_a.py": (
        "from mine import add\n\ndef test_right():\n    assert add(1, 2) == 3\n\ndef test_wrong():\n    assert 0\n"
    ),
    "test_b.py": "import missing\n",
    "test_c.py": "def helper():\n    assert 0\n\ndef test_c():\n    pass\n",
}
PLAIN_TESTS = ("test_a.py", "test_b.py", "test_c.py")


def test_the_plain_runner_needs_no_pytest(suite):
    result = suite(PLAIN, PLAIN_TESTS, runner="plain")
    assert result.complete, result.reason
    assert result.outcomes == {
        "test_a.py::test_right": "passed",
        "test_a.py::test_wrong": "failed",
        "test_b.py": "error",
        "test_c.py::test_c": "passed",
    }


@pytest.mark.parametrize(
    "cheat",
    [
        "import os\nos._exit(0)\n",
        "raise SystemExit(0)\n",
        "import builtins\nclass AssertionError(Exception): pass\nbuiltins.AssertionError = AssertionError\n",
        "while True: pass\n",
    ],
)
def test_the_plain_runner_is_not_fooled(suite, cheat):
    result = suite({**PLAIN, "mine.py": cheat + PLAIN["mine.py"]}, PLAIN_TESTS, runner="plain", seconds=3)
    assert not result.complete


# ---------------------------------------------------------------- grading
def test_the_right_repair_is_resolved(bench):
    grade = bench.after(bench.repair)
    assert grade.complete, grade.reason
    assert grade.resolved
    assert grade.changed == 1
    assert "-        if len(word) < len(found):" in grade.patch
    assert grade.seconds > 0


def test_doing_nothing_fails_what_it_failed(bench):
    grade = bench.after("true")
    assert grade.complete, grade.reason
    assert not grade.resolved
    assert set(grade.still_failing) == set(bench.longest)
    assert grade.broken == ()
    assert grade.patch == ""


def test_a_repair_that_breaks_something_is_none(bench):
    grade = bench.after(bench.repair, "sed -i 's/result += value/result = value/' toy/sums.py")
    assert not grade.resolved
    assert grade.still_failing == ()
    assert set(grade.broken) == {bench.sum[1], bench.sum[0]}


def test_removed_moved_and_new_files_are_part_of_a_submission(bench):
    grade = bench.after(
        "rm toy/unused.py && mkdir toy/deep && mv toy/words.py toy/deep/words.py && touch toy/deep/__init__.py",
        "sed -i 's/len(word) < len(found)/len(word) > len(found)/' toy/deep/words.py",
        "printf 'from toy.deep.words import *\\nimport os\\n"
        'assert not os.path.exists("toy/unused.py")\\n\' > toy/words.py',
        "touch 'toy/-rf' 'toy/a b\n$(touch x).py'",
    )
    assert grade.resolved, (grade.reason, grade.dropped, grade.patch)
    assert grade.changed == 6


def test_a_package_in_place_of_a_module(bench):
    grade = bench.after(bench.repair, "mkdir w && mv toy/words.py w/__init__.py && mv w toy/words")
    assert grade.resolved, grade.reason


def test_a_module_in_place_of_a_folder(bench):
    grade = bench.after(
        bench.repair, "mv toy/__init__.py toy.keep && mkdir -p toy.d && mv toy/* toy.d && rmdir toy && mv toy.keep toy"
    )
    assert not grade.resolved
    assert grade.complete  # the tests ran, and found no package


def test_a_second_task_of_the_set_has_its_own_tests(bench):
    assert bench.after("sed -i 's/result -= value/result += value/' toy/sums.py", name="sums").resolved
    assert set(bench.after("true", name="sums").still_failing) == set(bench.sum)


def test_a_hanging_submission_is_a_grade_and_no_fault(bench):
    grade = bench.after("echo 'import time; time.sleep(99)' >> toy/words.py", seconds=1)
    assert not grade.resolved
    assert "time limit" in grade.reason
    assert isinstance(grade, Grade)
