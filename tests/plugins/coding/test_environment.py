"""Coding as an environment: splits, briefs, submission, rewards, boundaries, and an oracle that solves every task."""

from __future__ import annotations

import random
import time

import pytest
from attrs import evolve

from camg.episode.actions import BRACKET, faulty
from camg.episode.chat import ByteCodec
from camg.episode.loop import Components, run_episode
from camg.errors import BackendUnavailable, DataError
from camg.settings import RolloutSettings
from camg.testing import FolderBox, ScriptedSampler, check_environment, play
from camg.types import (
    Action,
    Change,
    CheckpointFailure,
    CheckpointVerdict,
    Dispatch,
    EndReason,
    Limits,
    Observation,
    StepResult,
)
from camg_coding import oracle as oracle_module
from camg_coding.changes import Names, Submission, refused, show, sort_out
from camg_coding.config import BUDGET, CHECKPOINT_PENALTY, SENTINEL, CodingConfig
from camg_coding.environment import Coding
from camg_coding.grading import grader
from camg_coding.oracle import commands, oracle
from camg_coding.records import Instance
from camg_coding.session import CodingSession, Grade
from camg_coding.store import TaskSet
from camg_coding.texts import FullTexts
from camg_shell.config import ShellConfig
from camg_shell.memory import ShellMemory

PATH = ".agent_memory/CONTINUATION.md"


@pytest.fixture
def coding(tasks):
    return Coding(CodingConfig(tasks=str(tasks.folder)))


def shell(command="true", shown="[no output]", status=0):
    action = Action("shell_command", {"command": command})
    return action, StepResult(Observation(shown=shown, exit_status=status))


def session(grade=None):
    class Plain:
        def brief(self):
            return "brief"

        def reminder(self, path, limit):
            return path

        def fault(self, shown):
            return shown

    return CodingSession(Plain(), lambda: grade or Grade(complete=True, listed=1))


# ---------------------------------------------------------------- conformance
def test_it_keeps_the_promises_of_an_environment(coding):
    memory = ShellMemory(ShellConfig())
    check_environment(coding, splits=("pocket", "pocket-eval"), oracle=oracle, memory=memory, tasks=2)
    check_environment(coding, splits=("train",))


def test_splits_hold_what_can_run(coding, tasks):
    assert sorted(coding.task_ids("train")) == sorted(tasks.instances)
    assert coding.task_ids("all") == tuple(tasks.instances)
    assert coding.task_ids("eval") == ()  # one repository: no evaluation on it could be disjoint
    task = coding.task("camg__toy.1.words")
    assert (task.split, task.budget, task.env) == ("train", BUDGET, "coding")
    for wrong in ("camg__toy.1.nothing", "coding.pocket.99999", "coding.pocket.1"):
        with pytest.raises(DataError):
            coding.task(wrong)


def test_a_missing_set_is_named_with_its_remedy(tmp_path):
    with pytest.raises(DataError, match=r"Expected a task set in .*set\.json[\s\S]*camg tasks build coding"):
        Coding(CodingConfig(tasks=str(tmp_path))).task_ids("all")


def test_a_row_that_needs_its_image_says_so(coding, tasks, monkeypatch):
    row = evolve(tasks.instances["camg__toy.1.words"], instance_id="x__y.1", profile="", image_name="hub/x:1")
    lost = evolve(row, instance_id="x__z.1", image_name="")
    found = TaskSet(tasks.folder, tasks.profiles, {**tasks.instances, row.instance_id: row, lost.instance_id: lost})
    monkeypatch.setattr("camg_coding.environment.read_set", lambda folder: found)
    assert "x__y.1" not in coding.task_ids("all"), "no sandbox here starts images"
    coding = Coding(evolve(coding.config, images=True))
    assert "x__y.1" in coding.task_ids("all")
    assert "x__z.1" not in coding.task_ids("all")
    task = coding.task("x__y.1")
    assert coding.workspace(task).image == "hub/x:1"
    box = FolderBox()
    try:
        with pytest.raises(BackendUnavailable, match="hub/x:1"):
            coding.open(task, box, lambda *a, **k: box)
    finally:
        box.close()
    with pytest.raises(DataError, match="was not built"):
        coding.workspace(coding.task("x__z.1"))
    found = TaskSet(tasks.folder, {}, {row.instance_id: row, lost.instance_id: lost})
    with pytest.raises(DataError, match=r"None of the 2 tasks .* 1 need their container image[\s\S]*coding\.images"):
        Coding(CodingConfig(tasks=str(tasks.folder))).task_ids("train")


# ---------------------------------------------------------------- texts
def test_the_brief_says_what_counts_and_no_hidden_test(tasks):
    instance = tasks.instances["camg__toy.1.words"]
    texts = FullTexts(instance, tasks.profile(instance), BUDGET)
    brief = texts.brief()
    for words in (instance.problem_statement, "camg/toy", "tests", str(BUDGET), f"echo {SENTINEL}", ".agent_memory"):
        assert words in brief
    for test in (*instance.FAIL_TO_PASS, *instance.PASS_TO_PASS):
        assert test.rpartition("::")[2] not in brief
    assert "<issue>\n" + instance.problem_statement + "\n</issue>" in brief


def test_the_reminder_names_path_limit_and_fields(tasks):
    instance = tasks.instances["camg__toy.1.words"]
    reminder = FullTexts(instance, None, BUDGET).reminder(PATH, 8192)
    for words in (PATH, "8192", "objective", "evidence", "paths", "next", "mkdir -p .agent_memory"):
        assert words in reminder


# ---------------------------------------------------------------- submission and rewards
@pytest.mark.parametrize(
    ("shown", "status", "ends"),
    [
        (SENTINEL, 0, True),
        (SENTINEL + "  \r\nmore", 0, True),
        (SENTINEL, 1, False),
        (SENTINEL, None, False),
        ("done\n" + SENTINEL, 0, False),
        (" " + SENTINEL, 0, False),
        (SENTINEL + "!", 0, False),
        (SENTINEL.lower(), 0, False),
    ],
)
def test_only_the_sentinel_on_the_first_line_submits(shown, status, ends):
    assert session().after_action(*shell(shown=shown, status=status), None).terminated is ends


def test_the_sentinel_counts_only_from_the_shell():
    action = Action("recall", {"query": SENTINEL})
    assert not session().after_action(action, StepResult(Observation(SENTINEL, exit_status=0)), None).terminated


def test_refused_checkpoints_cost_and_nothing_else_does():
    refused_ = CheckpointVerdict(False, CheckpointFailure.UNCHANGED)
    assert session().after_action(*shell(), refused_).reward == CHECKPOINT_PENALTY == -0.1
    assert session().after_action(*shell(), CheckpointVerdict(True)).reward == 0.0
    assert session().after_action(*shell(status=1), None).reward == 0.0
    mumble = faulty("hm", "no_action", "There is no action.")
    result = StepResult(Observation("Invalid action."), invalid=True)
    assert session().after_action(mumble, result, None).reward == 0.0
    assert session().after_action(mumble, result, refused_).reward == CHECKPOINT_PENALTY
    submitted = session().after_action(*shell(shown=SENTINEL), refused_)
    assert submitted.terminated
    assert submitted.reward == 0.0


def test_failures_are_told_apart():
    mumble = faulty("hm", "no_action", "There is no action.")
    silent = session()
    silent.after_action(mumble, StepResult(Observation(""), invalid=True), None)
    assert silent.finish(EndReason.ACTION_LIMIT)[1].failure == "unparseable"
    busy = session()
    busy.after_action(*shell(), None)
    for reason in (EndReason.ACTION_LIMIT, EndReason.CONTEXT_EXHAUSTED):
        assert busy.finish(reason)[1].failure == "never submitted"
    for grade, failure, reward in (
        (Grade(complete=True, listed=2), "", 1.0),
        (Grade(complete=False, listed=2), "wrong fix", 0.0),
        (Grade(complete=True, listed=0), "wrong fix", 0.0),
        (Grade(complete=True, listed=2, still_failing=("a",)), "wrong fix", 0.0),
        (Grade(complete=True, listed=2, broken=("b",)), "wrong fix", 0.0),
        (Grade(complete=False, too_large=True), "submission too large", 0.0),
    ):
        done = session(grade)
        done.after_action(*shell(shown=SENTINEL), None)
        final, outcome = done.finish(EndReason.TERMINATED)
        assert (final, outcome.success, outcome.failure, outcome.complete) == (reward, reward, failure, reward == 1.0)


# ---------------------------------------------------------------- whole episodes
def test_the_oracle_solves_every_task_and_doing_nothing_none(coding, sandbox):
    memory = ShellMemory(ShellConfig())
    for task_id in coding.task_ids("all"):
        episode = play(coding, memory, lambda task, seed: oracle(task, seed, BRACKET), task_id, sandbox=sandbox)
        assert episode.outcome.complete, episode.outcome.details
        assert episode.reward == 1.0
        assert episode.turns[-1].reward == 1.0
        assert "diff --git" in episode.outcome.details["submission"]
        idle = play(
            coding,
            memory,
            lambda task, seed: lambda context: f"shell_command: echo {SENTINEL}",
            task_id,
            sandbox=sandbox,
        )
        assert idle.outcome.success == 0.0
        assert idle.outcome.failure == "wrong fix"
        assert "::" in idle.outcome.details["tests that fail"]


def test_the_oracle_crosses_contexts_through_its_file(coding, sandbox, monkeypatch):
    monkeypatch.setattr(oracle_module, "PIECE", 4)
    task = coding.task("camg__toy.1.words")
    sampler = ScriptedSampler(lambda task, seed: oracle(task, seed, BRACKET), ByteCodec(BRACKET, terse=True))
    parts = Components(
        environment=coding,
        memory=ShellMemory(ShellConfig()),
        sampler=sampler,
        codec=sampler.codec,
        sandbox=sandbox,
        limits=Limits(),
        rollout=RolloutSettings(prompt_tokens=2600, response_tokens=650, reserve_tokens=650),
    )
    episode = run_episode(Dispatch(0, 0, "coding", task.id, 0), parts, label="crossing")
    assert len(episode.replacements) >= 1
    assert any(turn.checkpoint is not None and turn.checkpoint.accepted for turn in episode.turns)
    assert any(turn.action.arguments.get("command") == f"cat {PATH}" for turn in episode.turns)
    assert episode.outcome.complete, (episode.end_reason, episode.turns[-1].observation.shown)
    assert episode.reward == 1.0
    repeated = [turn.action.arguments["command"] for turn in episode.turns if "printf" in turn.text]
    assert len(repeated) == len(set(repeated))


def test_the_oracles_commands_fit_any_response(tasks):
    for instance in tasks.instances.values():
        *brought, apply, submit = commands(tasks, instance)
        assert submit == f"echo {SENTINEL}"
        assert all(len(command) < 2000 for command in (*brought, apply))


# ---------------------------------------------------------------- rules of submissions
@pytest.mark.parametrize(
    ("path", "counts"),
    [
        ("toy/words.py", True),
        ("toy/data.json", True),
        ("toy/test.py", True),
        ("toy/latest.py", True),
        ("docs/index.md", True),
        ("setup.py", True),
        ("toy/testing.py", True),
        ("contests/entry.py", True),
        ("tests/data.json", False),
        ("toy/test_words.py", False),
        ("toy/words_test.py", False),
        ("toy/conftest.py", False),
        ("toy/setup.cfg", False),
        ("toy/x.so", False),
        ("toy/sitecustomize.py", False),
        ("a.pth", False),
    ],
)
def test_what_counts(tasks, path, counts):
    assert (refused(path, tasks.profiles["camg__toy.1"]) == "") is counts


def test_a_listed_folder_of_sources_keeps_its_sources(tasks):
    profile = evolve(tasks.profiles["camg__toy.1"], tests=("toy", "check.py", "."))
    assert refused("toy/words.py", profile) == ""
    assert refused("toy/test_words.py", profile)
    assert refused("check.py", profile)


def test_names_that_were_there_may_change(tasks, packages):
    profile = evolve(tasks.profiles["camg__toy.1"], roots=("src", "."))
    names = Names(("src/", ""), frozenset({"json.py", "src/types"}), frozenset({"json", "types", "pytest"}))
    changed = {
        path: Change("file", b"") for path in ("json.py", "src/types/a.py", "src/json.py", "pytest/a.py", "toy/json.py")
    }
    found = sort_out(changed, profile, names)
    assert set(found.files) == {"json.py", "src/types/a.py", "toy/json.py"}
    assert found.dropped["src/json.py"] == "it would shadow json"


def test_showing_a_hostile_submission_takes_no_time(tmp_path):
    rng = random.Random(0)
    texts = ["".join(rng.choice(("a\n", "b\n", "\n")) for _ in range(20_000)) for _ in range(2)]
    (tmp_path / "same.py").write_text(texts[0])
    (tmp_path / "small.py").write_text("one\n")
    files = {"same.py": texts[1].encode(), "b\udc80.bin": b"\0\xff", "small.py": b"two\n", "new.py": b"x\n" * 200_000}
    began = time.monotonic()
    text = show(Submission(files), tmp_path)
    assert time.monotonic() - began < 5.0
    assert "not shown: 2 bytes" in text
    assert f"not shown: {len(texts[1])} bytes" in text
    assert len(text) <= 64 << 10
    text.encode("utf-8")
    assert "-one\n+two\n" in show(Submission({"small.py": b"two\n"}), tmp_path)


def test_the_files_of_the_listed_tests_are_run(tasks):
    instance: Instance = tasks.instances["camg__toy.1.words"]
    assert grader.test_files(instance, tasks.profile(instance)) == (
        "tests/test_secret.py",
        "tests/test_sums.py",
        "tests/test_words.py",
    )
