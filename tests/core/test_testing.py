"""The conformance checks: what keeps its promises passes, and each broken promise is named in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import pytest
import torch
from attrs import frozen

from camg.episode.actions import BRACKET
from camg.episode.chat import ByteCodec
from camg.errors import DataError
from camg.plugins import load_registry
from camg.protocols import Announce, Replace, Review
from camg.specs import NoConfig
from camg.testing import (
    FolderBox,
    FolderSandbox,
    ScriptedSampler,
    check_environment,
    check_estimator,
    check_memory,
    check_policy,
    check_sandbox,
    play,
)
from camg.types import (
    CheckpointVerdict,
    EndReason,
    Estimate,
    Limits,
    Observation,
    Outcome,
    Parameter,
    Sampling,
    StepResult,
    StopReason,
    Task,
    Tool,
    Workspace,
)


class Echo:
    """Say the word of the task."""

    tools: Sequence[Tool] = (Tool("say", "Say a word.", (Parameter("word", "the word"),)),)
    words = ("red", "blue")

    def task_ids(self, split):
        if split not in ("train", "eval"):
            raise DataError("Expected train or eval.")
        return [f"echo.{split}.{word}" for word in self.words]

    def task(self, task_id):
        parts = task_id.split(".")
        if len(parts) != 3:
            raise DataError("Expected echo.SPLIT.WORD.")
        return Task(task_id, "echo", parts[1], 3, {"word": parts[2]})

    def workspace(self, task):
        return Workspace()

    def open(self, task, box, boxes):
        return EchoSession(task)


class EchoSession:
    def __init__(self, task):
        self.word, self.said = task.payload["word"], False

    def brief(self):
        return f"Say {self.word}."

    def step(self, action):
        self.said = action.arguments["word"] == self.word
        return StepResult(Observation("well"), reward=float(self.said), terminated=True)

    def after_action(self, action, result, checkpoint):
        return result

    def reminder(self, path, limit):
        return f"Save to {path}."

    def cross(self):
        return self.brief()

    def finish(self, reason):
        return 0.0, Outcome(float(self.said), self.said)

    def close(self):
        pass


def oracle(task, seed, dialect):
    return lambda context: dialect.render("say", {"word": task.payload["word"]})


def mute(task, seed, dialect):
    return lambda context: dialect.render("say", {"word": "nothing"})


@pytest.fixture(scope="module")
def memory():
    return load_registry(quiet=True).build("memory", "shell")


def test_a_good_environment_passes_with_its_oracle(memory):
    check_environment(Echo(), oracle=oracle, memory=memory)


def breaking(**changes):
    return type("Broken", (Echo,), changes)()


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        (breaking(task_ids=lambda self, split: ["echo.train.red"]), "DataError for an unknown split"),
        (breaking(words=("red", "red")), "each id of 'train' once"),
        (breaking(words=()), "Expected tasks in the split"),
        (breaking(tools=(Tool("shell_command", "mine"),)), "other than shell_command"),
        (breaking(tools=(Tool("say", "a"), Tool("say", "b"))), "different names"),
        (breaking(task=lambda self, i: attrs.evolve(Echo.task(self, i), payload={"f": object()})), "JSON"),
        (breaking(task=lambda self, i: attrs.evolve(Echo.task(self, i), split="other")), "Expected the split"),
    ],
)
def test_a_broken_environment_is_named(environment, sentence):
    with pytest.raises(AssertionError, match=sentence):
        check_environment(environment)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"brief": lambda self: ""}, "Expected a brief"),
        ({"step": lambda self, action: "done"}, "Expected a StepResult"),
        ({"finish": lambda self, reason: (0.0, Outcome(2.0, True))}, "success within"),
        ({"finish": lambda self, reason: (float("nan"), Outcome(0.0, False))}, "finite final reward"),
    ],
)
def test_a_broken_session_is_named(changes, sentence):
    session = type("BrokenSession", (EchoSession,), changes)
    environment = breaking(open=lambda self, task, box, boxes: session(task))
    with pytest.raises(AssertionError, match=sentence):
        check_environment(environment)


def test_a_session_that_lacks_a_method_is_named():
    session = type("Half", (), {"brief": EchoSession.brief})
    with pytest.raises(AssertionError, match="Session, got none called step"):
        check_environment(breaking(open=lambda self, task, box, boxes: session()))


def test_an_oracle_that_fails_is_named(memory):
    with pytest.raises(AssertionError, match=r"Expected the oracle to solve 'echo.train.red'"):
        check_environment(Echo(), oracle=mute, memory=memory)


# ---------------------------------------------------------------- memory
def test_the_shell_memory_passes(memory):
    check_memory(memory)


class Careless:
    tools: Sequence[Tool] = ()

    def instructions(self, *, terse):
        return ""

    def open(self, view):
        return CarelessSession()


class CarelessSession:
    before_turn = staticmethod(lambda: None)
    handle = staticmethod(lambda action: None)
    at_boundary = staticmethod(lambda boundary: Announce("Save."))
    review = staticmethod(lambda action, before, after: Review(CheckpointVerdict(accepted=True), Replace()))
    accesses = staticmethod(lambda action, before, after: False)
    after_action = staticmethod(lambda action, result: result)
    close = staticmethod(lambda: None)


def test_a_memory_that_accepts_anything_is_named():
    with pytest.raises(AssertionError, match="refused as a checkpoint"):
        check_memory(Careless())


# ---------------------------------------------------------------- estimator
@pytest.mark.parametrize("name", load_registry(quiet=True).names("estimator"))
def test_installed_estimators_pass(name):
    registry = load_registry(quiet=True)
    spec = registry.spec("estimator", name)
    size = getattr(spec.config(), spec.group_option) if spec.group_option else spec.group_size
    check_estimator(registry.build("estimator", name), group_size=size)


@frozen
class Wrong:
    how: str

    def estimate(self, trajectories):
        estimates = []
        for place, t in enumerate(trajectories):
            advantages = torch.zeros(sum(t.lengths))
            if self.how == "shape":
                advantages = torch.zeros(len(t.lengths))
            if self.how == "double":
                advantages = advantages.double()
            if self.how == "nan":
                advantages = advantages / 0
            if self.how == "place":
                advantages = advantages + place
            if self.how == "in place":
                t.values.zero_()
            if self.how == "random":
                advantages = torch.rand_like(advantages)
            estimates.append(Estimate(advantages, torch.zeros(sum(t.lengths))))
        return estimates[: -1 if self.how == "count" else None]


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ("shape", "of shape"),
        ("double", "float32"),
        ("nan", "finite"),
        ("place", "place in the batch"),
        ("in place", "leaves its input"),
        ("random", "same estimate"),
        ("count", "one estimate for each"),
    ],
)
def test_a_broken_estimator_is_named(how, sentence):
    with pytest.raises(AssertionError, match=sentence):
        check_estimator(Wrong(how))


# ---------------------------------------------------------------- sandbox, policy, parts
def test_the_folder_sandbox_passes_except_for_isolation():
    check_sandbox(FolderSandbox(), isolated=False)


def test_a_sandbox_that_shares_its_workspace_is_named(tmp_path):
    class Shared(FolderSandbox):
        def open(self, label, *, limits, workspace=None):
            box = FolderBox(limits)
            box.root = tmp_path
            box.close = lambda: None
            return box

    with pytest.raises(AssertionError, match=r"workspace for each box|empty manifest"):
        check_sandbox(Shared(), isolated=False)


def test_a_folder_box_lets_no_path_out():
    box = FolderBox(Limits())
    try:
        with pytest.raises(OSError, match="leads out"):
            box.write("../escaped", b"x")
    finally:
        box.close()


class Scripted:
    codec = ByteCodec(BRACKET, terse=True)

    def speak(self, dialect):
        self.codec = self.codec.speaking(dialect)

    def sampler(self, sampling: Sampling, *, weights=None, lockstep=False):
        return ScriptedSampler(lambda task, seed: lambda context: "look[]", self.codec)

    def actor(self):
        raise NotImplementedError

    critic = actor


def test_a_scripted_policy_passes():
    check_policy(Scripted())


def test_a_policy_whose_texts_do_not_survive_is_named():
    class Lossy(ByteCodec):
        def decode(self, ids):
            return super().decode(ids).upper()

    policy = Scripted()
    policy.codec = Lossy(BRACKET)
    with pytest.raises(AssertionError, match="decode"):
        check_policy(policy)


def test_a_scripted_response_is_cut_at_its_limit():
    sampler = ScriptedSampler(lambda task, seed: lambda context: "abcdef")
    speaker = sampler.open(Task("t", "e", "s", 1), 0)
    whole, cut = speaker.generate((1,), limit=7), speaker.generate((1,), limit=6)
    assert (whole.stop_reason, whole.text, len(whole.token_ids)) == (StopReason.EOS, "abcdef", 7)
    assert (cut.stop_reason, cut.text, len(cut.token_ids)) == (StopReason.LENGTH, "abcdef", 6)


def test_play_runs_a_whole_episode(memory):
    script = lambda task, seed: oracle(task, seed, BRACKET)
    episode = play(Echo(), memory, script, "echo.train.blue")
    assert episode.outcome.complete
    assert episode.end_reason is EndReason.TERMINATED
    assert [turn.reward for turn in episode.turns] == [1.0]


def test_no_config_is_enough_for_none():
    assert load_registry(quiet=True).default_config("memory", "none") == NoConfig()
