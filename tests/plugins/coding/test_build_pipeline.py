"""From a project to a proven task set, interrupted and resumed, in real boxes; and what is rejected, and why."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
from attrs import evolve

from camg.errors import DataError
from camg_coding.build import admit
from camg_coding.build.admit import Trial
from camg_coding.build.boxes import Pool
from camg_coding.build.candidates import chosen_strategies, combinations, singles
from camg_coding.build.journal import ADMITTED, Journal, Outcome
from camg_coding.build.model import writer
from camg_coding.build.observe import Observation
from camg_coding.build.packages import Installed
from camg_coding.build.pipeline import build_set, table
from camg_coding.build.prove import prove, repair, spread
from camg_coding.build.reference import reference
from camg_coding.build.repository import Options, Origin, Say
from camg_coding.build.sources import Source, from_repository
from camg_coding.build.statement import leak
from camg_coding.mutate import Bug
from camg_coding.prepare import public_tree
from camg_coding.records import Instance, Profile
from camg_coding.store import TaskSet, read_set

CLEAN = {
    "toy/__init__.py": "",
    "toy/words.py": (
        "def words(text):\n    return text.split()\n\n\n"
        "def longest(text):\n    found = ''\n    for word in words(text):\n"
        "        if len(word) > len(found):\n            found = word\n    return found\n\n\n"
        "def title(text):\n    return ' '.join(word.capitalize() for word in words(text))\n"
    ),
    "toy/sums.py": (
        "def total(values):\n    result = 0\n    for value in values:\n        result += value\n    return result\n\n\n"
        "def mean(values):\n    return total(values) / len(values)\n"
    ),
    "toy/unused.py": "LEFT_OVER = 1\n",
    "tests/test_words.py": (
        "from toy.words import longest, title, words\n\n\n"
        "def test_words():\n    assert words('one three four') == ['one', 'three', 'four']\n\n\n"
        "def test_longest():\n    assert longest('one three four') == 'three'\n\n\n"
        "def test_title():\n    assert title('one three') == 'One Three'\n"
    ),
    "tests/test_sums.py": (
        "import unittest\n\nfrom toy.sums import mean, total\n\n\nclass Sums(unittest.TestCase):\n"
        "    def test_total(self):\n        self.assertEqual(total([1, 2]), 3)\n\n"
        "    def test_mean(self):\n        self.assertEqual(mean([1, 3]), 2)\n"
    ),
    "tests/test_more.py": "from toy.words import longest\n\n\ndef test_first():\n    assert longest('aa bb') == 'aa'\n",
}
FLAKY = """\
import random


def test_luck():
    assert random.SystemRandom().random() < 0.5


def test_ok():
    pass
"""
OPTIONS = Options(per_repo=5, strategies=chosen_strategies(()), jobs=2, timeout=60.0)


def write_tree(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home") / "toy"
    write_tree(folder, CLEAN)
    return folder


def origin(project: Path, packages: Path) -> Origin:
    """The toy project, with packages that are copied instead of installed: no network."""

    def fetch(tree: Path) -> Source:
        return from_repository(project, "", tree)

    def install(tree: Path, target: Path, source: Source, requirements: Sequence[str], say: Say) -> Installed:
        shutil.copytree(packages, target, dirs_exist_ok=True)
        return Installed()

    return Origin(label=project.name, identity=str(project), fetch=fetch, install=install)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, project: Path, packages: Path, sandbox) -> TaskSet:
    out = tmp_path_factory.mktemp("out") / "set"
    found = build_set(out, [origin(project, packages)], OPTIONS, Pool(sandbox, 2))
    assert found.refused == {}
    rows = table(found.yields)
    assert rows[0][:5] == ["repository", "licence", "tests", "tried", ADMITTED]
    assert int(rows[-1][3]) == sum(map(int, rows[-1][4:]))
    return found.tasks


def test_tasks_are_whole_and_of_several_kinds(built):
    assert len(built.instances) == 5
    assert len({instance.strategy for instance in built.instances.values()}) > 2
    (profile,) = built.profiles.values()
    assert len(profile.passing) == 6
    for name, instance in built.instances.items():
        assert name == f"{profile.key}.{instance.strategy}__{name[-8:]}"
        assert instance.FAIL_TO_PASS
        assert instance.PASS_TO_PASS
        assert {*instance.FAIL_TO_PASS, *instance.PASS_TO_PASS} == set(profile.passing)
        assert set(instance.hidden_tests) == {test.partition("::")[0] for test in instance.FAIL_TO_PASS}
    assert built.about["yield"][profile.key][ADMITTED] == 5


def test_statements_name_public_things_and_leak_no_test(built):
    (profile,) = built.profiles.values()
    tests = [path.read_text() for path in (built.tree(profile) / "tests").rglob("*.py")]
    for instance in built.instances.values():
        assert leak(instance.problem_statement, tests) == ""
        assert "toy." in instance.problem_statement
    assert len({instance.problem_statement for instance in built.instances.values()}) > 3


def test_the_repair_gives_the_clean_files_byte_for_byte(built):
    for instance in built.instances.values():
        clean = built.tree(built.profile(instance))
        public = public_tree(built, instance, git=False)
        gold = repair(built, instance)
        assert gold
        for path, data in gold.items():
            assert data == (clean / path).read_bytes()
            assert data != (public / path).read_bytes()


def test_every_task_is_proven_again_and_a_wrong_one_is_caught(built, sandbox):
    instances = list(built.instances.values())
    assert [proof.fault for proof in prove(built, instances[:2], Pool(sandbox, 2), jobs=2, runs=1)] == ["", ""]
    wrong = evolve(
        instances[0],
        FAIL_TO_PASS=[*instances[0].FAIL_TO_PASS, instances[0].PASS_TO_PASS[0]],
        PASS_TO_PASS=instances[0].PASS_TO_PASS[1:],
    )
    gone = evolve(instances[1], PASS_TO_PASS=[*instances[1].PASS_TO_PASS, "tests/test_words.py::test_gone"])
    faults = [proof.fault for proof in prove(built, [wrong, gone], Pool(sandbox, 2), jobs=2, runs=1)]
    assert "FAIL_TO_PASS tests pass with the bug" in faults[0]
    assert "the repair does not pass: tests/test_words.py::test_gone" in faults[1]


def test_tasks_are_spread_over_a_set():
    assert spread([1, 2, 3, 4, 5, 6], 3) == [1, 3, 5]  # type: ignore[list-item]
    assert spread([1, 2], 9) == [1, 2]  # type: ignore[list-item]


def test_a_resumed_build_gives_the_same_set_without_trying_again(built, project, packages, sandbox, tmp_path):
    out = tmp_path / "set"
    shutil.copytree(built.folder, out, symlinks=True)
    (journal,) = (out / "repos").glob("*/journal.jsonl")
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[:-2]) + lines[-2][:40])  # killed while it wrote the last but one
    (out / "set.json").unlink()
    (out / ".making-x").mkdir()
    before = journal.stat().st_mtime_ns
    again = build_set(out, [origin(project, packages)], OPTIONS, Pool(sandbox, 2), resume=True)
    assert dict(again.tasks.instances) == dict(built.instances)
    assert journal.stat().st_mtime_ns != before
    kept = journal.read_text().splitlines(keepends=True)
    assert kept[: len(lines) - 2] == lines[:-2]
    assert not (out / ".making-x").exists()


def test_a_folder_in_use_is_refused(built, project, packages, sandbox, tmp_path):
    pool, origins = Pool(sandbox, 1), [origin(project, packages)]
    with pytest.raises(DataError, match="is not empty"):
        build_set(built.folder, origins, OPTIONS, pool)
    with pytest.raises(DataError, match="seed and the strategies"):
        build_set(built.folder, origins, evolve(OPTIONS, seed=1), pool, resume=True)
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(DataError, match="holds something else"):
        build_set(tmp_path, origins, OPTIONS, pool, resume=True)


def test_a_project_whose_tests_all_fail_is_left_out_with_the_reason(tmp_path, packages, sandbox):
    write_tree(tmp_path / "bad", {"bad.py": "x = 1\n", "test_bad.py": "import nowhere_at_all\n"})
    with pytest.raises(DataError, match="No task could be made") as caught:
        build_set(tmp_path / "set", [origin(tmp_path / "bad", packages)], OPTIONS, Pool(sandbox, 1))
    assert "no test passes" in str(caught.value) or "could not be run" in str(caught.value)


def test_tests_inside_the_package_are_nothing_that_a_user_calls(tmp_path, packages, sandbox):
    inside = {f"toy/{path}" if path.startswith("tests/") else path: text for path, text in CLEAN.items()}
    write_tree(tmp_path / "toy", {**inside, "toy/tests/__init__.py": ""})
    options = evolve(OPTIONS, per_repo=2)
    found = build_set(tmp_path / "set", [origin(tmp_path / "toy", packages)], options, Pool(sandbox, 2))
    assert found.yields[0].profile.tests == ("toy/tests",)
    assert len(found.tasks.instances) == 2
    assert not any("tests" in one.problem_statement for one in found.tasks.instances.values())


def test_flaky_tests_are_never_graded(tmp_path, packages, sandbox):
    tasks = TaskSet(tmp_path, {}, {})
    for _ in range(6):  # a run of three shows it with 3/4
        profile = Profile(key="k", owner="o", repo="r", commit="c", source="git", tests=("test_flaky.py",))
        write_tree(tasks.tree(profile), {"test_flaky.py": FLAKY})
        tasks.packages(profile).unlink(missing_ok=True)
        tasks.packages(profile).symlink_to(packages)
        found = reference(tasks, profile, Pool(sandbox, 1))
        assert "test_flaky.py::test_ok" in found.passing
        if found.flaky:
            assert found.flaky == ("test_flaky.py::test_luck",)
            assert found.flaky[0] not in found.passing
            return
    raise AssertionError("a test that passes half of the time was never flaky")


TIMED = """
import time


def test_ok():
    assert True


def test_quick():
    began = time.perf_counter()
    burnt = time.process_time() + 0.3
    while time.process_time() < burnt:
        pass
    assert time.perf_counter() - began < 0.75
"""


def test_tests_that_measure_time_are_never_graded(tmp_path, packages, sandbox):
    """They pass on an idle machine and fail whoever trains beside other work, for no fault of the policy's."""
    tasks = TaskSet(tmp_path, {}, {})
    profile = Profile(key="k", owner="o", repo="r", commit="c", source="git", tests=("test_timed.py",))
    write_tree(tasks.tree(profile), {"test_timed.py": TIMED})
    tasks.packages(profile).symlink_to(packages)
    found = reference(tasks, profile, Pool(sandbox, 1))
    assert found.passing == ("test_timed.py::test_ok",)


LUCK = """import pathlib
    seen = pathlib.Path("/tmp/seen")
    first = not seen.exists()
    seen.touch()
    return [] if first else text.split()"""


def bug(path: str, old: str, new: str) -> Bug:
    parts = (("func_pm_op_change", path, "f"),)
    return Bug("func_pm_op_change", parts, {path: (CLEAN[path], CLEAN[path].replace(old, new))})


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (bug("toy/unused.py", "1", "2"), admit.SURVIVES),
        (bug("toy/words.py", "return text.split()", "__import__('os')._exit(0)"), admit.INCOMPLETE),
        (bug("toy/sums.py", "    result = 0\n", "    while True: pass\n"), admit.INCOMPLETE),
        (bug("toy/__init__.py", "", "x"), admit.NOTHING_LEFT),
        (bug("toy/words.py", "return text.split()", LUCK), admit.WAVERING),
    ],
    ids=["survives", "exits", "hangs", "nothing left", "luck"],
)
def test_bugs_are_rejected_by_reason(built, sandbox, changed, reason, monkeypatch):
    (profile,) = built.profiles.values()
    monkeypatch.setattr(admit, "mutant_seconds", lambda profile: 6.0)
    if reason == admit.WAVERING:
        monkeypatch.setattr(admit, "_LUCK", re.compile("split"))
    trial = Trial(tasks=built, profile=profile, pool=Pool(sandbox, 1), seed=0)
    if changed.files.get("toy/__init__.py"):
        changed = evolve(changed, files={"toy/__init__.py": ("", "raise ImportError\n")})
    outcome = trial.hold(changed)
    assert outcome.reason == reason
    assert outcome.instance is None


@pytest.mark.parametrize(("line", "runs"), [("import random\n", 3), ("randomly = 1\n", 0), ("", 0)])
def test_failing_tests_run_again_where_luck_has_a_part(built, sandbox, tmp_path, line, runs):
    (profile,) = built.profiles.values()
    shutil.copytree(built.tree(profile), tmp_path / "repos" / profile.key / "tree")
    copy = evolve(built, folder=tmp_path)
    with (copy.tree(profile) / "toy" / "words.py").open("a") as file:
        file.write(line)
    assert Trial(tasks=copy, profile=profile, pool=Pool(sandbox, 1), seed=0).again == runs


def test_candidates_are_spread_and_the_same_in_every_process(built):
    (profile,) = built.profiles.values()
    tree, every = built.tree(profile), chosen_strategies(())
    first = list(singles(tree, ["toy/words.py", "toy/sums.py"], every, profile.key, 0))
    assert first == list(singles(tree, ["toy/words.py", "toy/sums.py"], every, profile.key, 0))
    assert first != list(singles(tree, ["toy/words.py", "toy/sums.py"], every, profile.key, 1))
    assert {mutation.path for mutation in first[:4]} == {"toy/words.py", "toy/sums.py"}
    assert len({mutation.strategy for mutation in first[:4]}) > 2
    only = list(singles(tree, ["toy/words.py"], ("func_pm_op_swap",), profile.key, 0))
    assert {mutation.strategy for mutation in only} <= {"func_pm_op_swap"}
    combined = list(combinations(first, every, profile.key, 0))
    assert {one.strategy for one in combined} == {"combine_file", "combine_module"}
    assert next(combinations(first, ("combine_file",), profile.key, 0)).strategy == "combine_file"


def test_an_unknown_strategy_is_named():
    with pytest.raises(DataError, match="got 'func_pm_magic'"):
        chosen_strategies(["func_pm_magic"])


def test_a_journal_keeps_what_was_written_and_drops_a_torn_line(tmp_path):
    path = tmp_path / "journal.jsonl"
    journal = Journal(path)
    journal.add(Outcome("a", "func_pm_op_swap", "nothing fails"))
    journal.close()
    with path.open("a") as file:
        file.write('{"digest": "b", "strat')
    journal = Journal(path)
    assert list(journal.known) == ["a"]
    journal.add(Outcome("c", "func_pm_op_swap", "nothing fails"))
    journal.close()
    assert [json.loads(line)["digest"] for line in path.read_text().splitlines()] == ["a", "c"]
    path.write_text("nonsense\n")
    with pytest.raises(DataError, match=r"journal\.jsonl, line 1"):
        Journal(path)


class _Model(BaseHTTPRequestHandler):
    """An OpenAI-compatible endpoint: busy once, then a statement."""

    calls: ClassVar[list[dict[str, object]]] = []
    text = "# A long enough report\n\nSomething is wrong with the longest word."

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.calls.append({**body, "path": self.path, "key": self.headers.get("Authorization")})
        self.send_response(503 if len(self.calls) == 1 else 200)
        self.end_headers()
        self.wfile.write(json.dumps({"choices": [{"message": {"content": self.text}}]}).encode())

    def log_message(self, *arguments: object) -> None:
        pass


def test_a_model_writes_statements_and_a_leak_is_a_rejection(built, sandbox, monkeypatch):
    server = HTTPServer(("127.0.0.1", 0), _Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("CAMG_API_KEY", "sesame")
    try:
        write = writer(f"http://127.0.0.1:{server.server_port}", "scribe", pause=0.01)
        (profile,) = built.profiles.values()
        trial = Trial(tasks=built, profile=profile, pool=Pool(sandbox, 1), seed=0, write=write)
        changed = bug("toy/words.py", "len(word) > len(found)", "len(word) < len(found)")
        outcome = trial.hold(changed)
        assert outcome.reason == ADMITTED
        assert outcome.instance is not None
        assert outcome.instance.problem_statement.strip() == _Model.text
        assert [call["path"] for call in _Model.calls] == ["/v1/chat/completions"] * 2
        assert _Model.calls[0]["model"] == "scribe"
        assert _Model.calls[0]["key"] == "Bearer sesame"
        monkeypatch.setattr(_Model, "text", "# Report\n\nSee test_longest, which fails for me.")
        outcome = trial.hold(changed)
        assert (outcome.reason, "test_longest" in outcome.detail) == (admit.NO_STATEMENT, True)
    finally:
        server.shutdown()
        server.server_close()


def test_an_endpoint_that_is_not_there_is_a_rejection_with_its_reason():
    instance = Instance(
        instance_id="i", repo="a/b", profile="p", patch="", polarity="bug", FAIL_TO_PASS=["t"], PASS_TO_PASS=["u"],
        problem_statement="",
    )  # fmt: skip
    seen = [Observation(exception="E", message="m", raised=True)]
    with pytest.raises(DataError, match="wrote nothing"):
        writer("http://127.0.0.1:1/v1", "scribe", pause=0.0)(instance, seen)
    with pytest.raises(DataError, match=r"Expected an http\(s\) address"):
        writer("file:///etc/passwd", "scribe")


@pytest.mark.slow
def test_a_killed_build_goes_on(project, packages, sandbox, tmp_path):
    """kill -9 in the middle, then --resume: no bug that was tried is tried again, and the set is whole."""
    program = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        sys.path.insert(0, sys.argv[4])
        from test_build_pipeline import OPTIONS, origin
        from camg_coding.build.boxes import open_pool
        from camg_coding.build.pipeline import build_set
        with open_pool(2) as pool:
            build_set(Path(sys.argv[1]), [origin(Path(sys.argv[2]), Path(sys.argv[3]))], OPTIONS, pool, resume=True)
        """
    )
    out = tmp_path / "set"
    arguments = [sys.executable, "-c", program, str(out), str(project), str(packages), str(Path(__file__).parent)]
    process = subprocess.Popen(arguments, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        journals = list(out.glob("repos/*/journal.jsonl"))
        if journals and journals[0].read_text().count("\n") >= 2:
            break
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    known = journals[0].read_text().splitlines()
    assert not (out / "set.json").exists()
    subprocess.run(arguments, check=True, timeout=240)
    assert journals[0].read_text().splitlines()[: len(known) - 1] == known[: len(known) - 1]
    assert len(read_set(out).instances) == OPTIONS.per_repo
