"""One whole episode in a real box: shell, checkpoints, context replacement, pressure, faults."""

from __future__ import annotations

import itertools

import attrs
import pytest

from camg.episode.actions import BRACKET
from camg.episode.chat import ByteCodec
from camg.episode.components import Components
from camg.episode.loop import run_episode
from camg.errors import InfrastructureFault
from camg.plugins import load_registry
from camg.protocols import Continue, Kept, Replace
from camg.settings import RolloutSettings
from camg.types import (
    BoundaryKind,
    CheckpointFailure,
    Dispatch,
    EndReason,
    Limits,
    Message,
    Observation,
    Outcome,
    Parameter,
    Response,
    StepResult,
    StopReason,
    Task,
    Tool,
    TurnKind,
    Workspace,
)

WRITE = "shell_command: mkdir -p .agent_memory && echo {} > .agent_memory/CONTINUATION.md"


class Vault:
    """The code is told before a declared boundary and asked for behind it. ``pages`` reads give long observations."""

    tools = (
        Tool("next", "Go on."),
        Tool("read", "Read a page.", (Parameter("page", "which"),)),
        Tool("open", "Open the vault.", (Parameter("code", "the code"),)),
    )

    def __init__(self, page: str = "x" * 50):
        self.page = page

    def task_ids(self, split):
        return ["vault"]

    def task(self, task_id):
        return Task(task_id, "vault", "train", budget=12)

    def workspace(self, task):
        return Workspace()

    def open(self, task, box, boxes):
        return VaultSession(self.page)


class VaultSession:
    def __init__(self, page):
        self.page, self.stage, self.won, self.log = page, 1, False, []

    def brief(self):
        return "The code is 42." if self.stage == 1 else "Which code?"

    def step(self, action):
        if action.tool == "next":
            return StepResult(Observation("Stage over."), boundary=True)
        if action.tool == "read":
            if action.arguments["page"] == "crash":
                raise ValueError("the page is gone")
            return StepResult(Observation(self.page))
        self.won = action.arguments["code"] == "42" and self.stage == 2
        return StepResult(Observation("done"), reward=float(self.won), terminated=True)

    def after_action(self, action, result, checkpoint):
        self.log.append((action, checkpoint))
        refused = checkpoint is not None and not checkpoint.accepted
        return attrs.evolve(result, reward=result.reward - 0.1 * (refused or result.invalid))

    def reminder(self, path, limit):
        return f"REMINDER write {path}"

    def cross(self):
        self.stage += 1
        return self.brief()

    def finish(self, reason):
        return (0.25 if reason is EndReason.ACTION_LIMIT else 0.0), Outcome(float(self.won), self.won)

    def close(self):
        pass


class Scripted:
    """A sampler whose responses come from a function of the decoded context."""

    version = 3

    def __init__(self, codec, script, stop=StopReason.EOS):
        self.codec, self.script, self.stop, self.prompts = codec, script, stop, []

    def open(self, task, seed):
        return self

    def generate(self, prompt, *, limit):
        text = self.script(self.codec.decode(prompt))
        self.prompts.append(list(prompt))
        ids = self.codec.encode(text) + ((self.codec.eos_id,) if self.stop is StopReason.EOS else ())
        return Response(ids, (0.0,) * len(ids), self.stop, self.version, text)

    def close(self):
        pass


@pytest.fixture(scope="module")
def parts():
    registry = load_registry()
    sandbox = registry.build("sandbox", "bwrap", registry.spec("sandbox", "bwrap").config())
    memory = registry.build("memory", "shell", registry.spec("memory", "shell").config())
    yield sandbox, memory
    sandbox.close()


def play(parts, script, *, environment=None, stop=StopReason.EOS, **rollout):
    codec = ByteCodec(BRACKET)
    steps = iter(() if callable(script) else script)
    sampler = Scripted(codec, script if callable(script) else lambda _: next(steps), stop)
    components = Components(
        environment=environment or Vault(),
        memory=parts[1],
        sampler=sampler,
        codec=codec,
        sandbox=parts[0],
        limits=Limits(wall_seconds=5),
        rollout=attrs.evolve(RolloutSettings(prompt_tokens=8000, response_tokens=300, reserve_tokens=200), **rollout),
    )
    episode = run_episode(Dispatch(5, 5, "vault", "vault", seed=1), components, label="test-loop")
    return episode, sampler


def test_an_episode_remembers_through_its_file(parts):
    def script(context):
        if "REMINDER" in context:
            return "I keep it.\n" + WRITE.format(42)
        if "Which code?" not in context:
            return "next[]"
        if "cat .agent" not in context:
            return "shell_command: cat .agent_memory/CONTINUATION.md"
        return "open[42]" if "\n42" in context or ">42" in context else "open[1]"

    episode, sampler = play(parts, script)
    assert episode.outcome == Outcome(1.0, True)
    assert episode.end_reason is EndReason.TERMINATED
    assert [turn.reward for turn in episode.turns] == [0, 0, 0, 1]
    assert [turn.segment for turn in episode.turns] == [0, 0, 1, 1]
    assert [turn.terminated for turn in episode.turns] == [False, False, False, True]
    assert [turn.memory_access for turn in episode.turns] == [False, True, True, False]
    assert episode.replacements[0].kind is BoundaryKind.DECLARED
    assert episode.turns[1].checkpoint.accepted
    assert "CONTINUATION.md" in episode.turns[1].manifest_after
    assert not episode.turns[1].manifest_before
    fresh = ByteCodec(BRACKET).decode(sampler.prompts[2])
    assert ".agent_memory/CONTINUATION.md" in fresh
    assert "42" not in fresh, "the content is not inserted"
    assert episode.meta["brief"] == "The code is 42.", "the one that the episode began with"
    for turn, prompt in zip(episode.turns, sampler.prompts, strict=True):
        row = episode.segments[turn.segment].token_ids
        assert list(row[: turn.prompt_length]) == prompt
        assert row[turn.prompt_length : turn.prompt_length + len(turn.token_ids)] == turn.token_ids


def test_refused_checkpoints_keep_the_context_name_the_reason_and_are_priced(parts):
    steps = [
        "next[]",
        "no action at all",
        "read[1]",
        "shell_command: true",
        "shell_command: mkdir -p .agent_memory && ln -s /etc/passwd .agent_memory/CONTINUATION.md",
        "shell_command: rm .agent_memory/CONTINUATION.md; : > .agent_memory/CONTINUATION.md",
        "shell_command: head -c 9000 /dev/zero > .agent_memory/CONTINUATION.md",
        "shell_command: cd .agent_memory; echo a > CONTINUATION.md; echo b > other.md",
        WRITE.format("fine"),
        "open[42]",
    ]
    episode, sampler = play(parts, steps)
    verdicts = [turn.checkpoint for turn in episode.turns]
    assert verdicts[0] is None
    assert [verdict.failure for verdict in verdicts[1:8]] == [
        CheckpointFailure.UNPARSEABLE,
        CheckpointFailure.NOT_FILESYSTEM,
        CheckpointFailure.UNCHANGED,
        CheckpointFailure.NOT_REGULAR,
        CheckpointFailure.EMPTY,
        CheckpointFailure.TOO_LARGE,
        CheckpointFailure.OTHER_FILES,
    ]
    assert verdicts[8].accepted
    assert verdicts[9] is None
    assert [turn.reward for turn in episode.turns[1:8]] == [-0.1] * 7
    assert {turn.segment for turn in episode.turns[:9]} == {0}
    text = ByteCodec(BRACKET).decode(sampler.prompts[8])
    for verdict in verdicts[1:8]:
        assert verdict.detail in text
    assert episode.outcome.success == 1.0


def test_a_terminal_action_while_a_checkpoint_is_pending_just_ends(parts):
    episode, _ = play(parts, ["next[]", "open[1]"])
    assert episode.end_reason is EndReason.TERMINATED
    assert len(episode.replacements) == 0


def test_pressure_announces_a_boundary_and_keeps_the_prompt_within_its_limit(parts):
    episode, sampler = play(
        parts,
        lambda context: WRITE.format("n" + str(len(context))) if "REMINDER" in context else "read[1]",
        environment=Vault("page " * 100),
        prompt_tokens=3000,
    )
    assert episode.end_reason is EndReason.ACTION_LIMIT
    assert len(episode.replacements) >= 2
    assert all(replacement.kind is BoundaryKind.PRESSURE for replacement in episode.replacements)
    assert max(map(len, sampler.prompts)) <= 3000 - 300
    assert "The code is 42." in ByteCodec(BRACKET).decode(sampler.prompts[-1]), "the brief opens every context"
    assert episode.turns[-1].reward == 0.25, "the final reward goes to the last response"
    assert episode.turns[-1].terminated


def test_refusing_every_checkpoint_exhausts_the_context(parts):
    episode, sampler = play(
        parts,
        itertools.repeat("read[1]"),
        environment=Vault("page " * 100),
        prompt_tokens=2600,
        actions=60,
    )
    assert episode.end_reason is EndReason.CONTEXT_EXHAUSTED
    assert max(map(len, sampler.prompts)) <= 2600


def test_long_observations_are_cut_and_the_full_text_is_kept(parts):
    episode, _ = play(parts, ["read[1]", "open[1]"], environment=Vault("page " * 500), observation_tokens=300)
    seen = episode.turns[0].observation
    assert len(seen.shown.encode()) <= 300
    assert seen.full == "page " * 500


def test_a_response_cut_at_its_limit_is_invalid_even_if_it_parses(parts):
    episode, _ = play(parts, ["read[1]", "open[42]"] * 6, stop=StopReason.LENGTH)
    assert {turn.action.fault for turn in episode.turns} == {"truncated"}
    assert episode.end_reason is EndReason.ACTION_LIMIT
    assert all(turn.invalid for turn in episode.turns)


def test_background_processes_do_not_touch_memory_after_their_turn(parts):
    steps = [
        "shell_command: (sleep 0.3; mkdir -p .agent_memory; echo late > .agent_memory/late) &",
        "shell_command: sleep 0.6",
    ]
    episode, _ = play(parts, [*steps, "open[1]"])
    assert not episode.turns[-1].manifest_after


def test_a_broken_environment_is_an_infrastructure_fault_not_a_sample(parts):
    with pytest.raises(InfrastructureFault, match=r"ValueError: the page is gone"):
        play(parts, ["read[crash]"])


def test_instructions_that_do_not_fit_are_named(parts):
    with pytest.raises(InfrastructureFault, match="prompt_tokens=100"):
        play(parts, ["open[1]"], prompt_tokens=100)


def test_a_memoryless_guess_fails(parts):
    episode, _ = play(parts, ["next[]", WRITE.format("nothing"), "open[7]"])
    assert episode.outcome.success == 0.0


class Planned:
    """A memory whose answer to pressure, and whose envelope, the test decides."""

    def __init__(self, at_pressure=None, **attributes):
        self.tools = (Tool("note", "Keep.", (Parameter("text", "what"),)),)
        self.at_pressure, self.views = at_pressure, []
        self.__dict__.update(attributes)

    def instructions(self, *, terse):
        return "PLANNED"

    def open(self, view):
        self.views.append(view)
        return PlannedSession(self, view)


class PlannedSession:
    def __init__(self, memory, view):
        self.memory, self.view, self.rewrite = memory, view, None

    def before_turn(self):
        plan, self.rewrite = self.rewrite, None
        return plan

    def handle(self, action):
        self.rewrite = Replace(keep=[Kept(self.view.steps()[-1].turn, reply="rewritten")])
        return StepResult(Observation("noted"))

    def at_boundary(self, boundary):
        return self.memory.at_pressure(self.view)

    def accesses(self, action, before, after):
        return action.tool == "note"

    def after_action(self, action, result):
        return result

    def close(self):
        pass


def test_without_replacement_the_episode_ends_when_the_context_is_full(parts):
    memory = Planned(lambda view: Continue())
    episode, sampler = play((parts[0], memory), lambda _: "read[1]", environment=Vault("x" * 500), prompt_tokens=3000)
    assert episode.end_reason is EndReason.CONTEXT_EXHAUSTED
    assert not episode.replacements
    assert len(episode.segments) == 1
    assert 2000 < len(sampler.prompts[-1]) <= 3000


def test_a_memory_may_answer_a_declared_boundary_with_nothing_and_it_clears_all_the_same(parts):
    memory = Planned(lambda view: Continue())
    episode, sampler = play((parts[0], memory), ["next[]", "open[42]"])
    assert [item.kind for item in episode.replacements] == [BoundaryKind.DECLARED]
    assert "Stage over" not in ByteCodec(BRACKET).decode(sampler.prompts[1])
    assert episode.outcome.complete


def test_kept_steps_and_summaries_cross_pressure_but_never_a_declared_boundary(parts):
    def plan(view):
        view.generate([*view.transcript(), Message("user", "SUM UP")], limit=50, trained=True, slots=1)
        return Replace("the sum", keep=[Kept(step.turn) for step in view.steps()[-1:]])

    def script(context):
        if context.endswith("SUM UP<|end|>\n<|assistant|>"):
            return "all in all"
        return "next[]" if "the sum" in context and "read[2]" in context else f"read[{2 if 'xxx' in context else 1}]"

    memory = Planned(plan)
    episode, sampler = play((parts[0], memory), script, environment=Vault("xxx" + "y" * 300), prompt_tokens=2400)
    decode = ByteCodec(BRACKET).decode
    kinds = [item.kind for item in episode.replacements]
    assert kinds[:2] == [BoundaryKind.PRESSURE, BoundaryKind.DECLARED]
    summary = next(turn for turn in episode.turns if turn.kind is TurnKind.SUMMARY)
    assert (summary.text, summary.slots, summary.trained) == ("all in all", 1, True)
    after = next(p for p in sampler.prompts if "the sum" in decode(p))
    assert decode(after).count("<|assistant|>read[") == 1, "one step was kept, with its observation"
    assert "xxxyyy" in decode(after)
    crossed = decode(next(p for p in sampler.prompts if "Which code?" in decode(p)))
    assert "the sum" in crossed
    assert "<|assistant|>read[" not in crossed, "a declared boundary clears the session"
    assert sum(len(segment.turns) for segment in episode.segments) == len(episode.turns)


def test_a_memory_rewrites_the_context_on_its_own(parts):
    memory = Planned(lambda view: Continue())
    episode, sampler = play((parts[0], memory), ["read[1]", "note[this]", "next[]", "open[42]"])
    third = ByteCodec(BRACKET).decode(sampler.prompts[2])
    assert "rewritten" in third
    assert "noted" not in third
    assert "read[1]" not in third
    assert [item.kind for item in episode.replacements] == [BoundaryKind.MEMORY, BoundaryKind.DECLARED]
    assert episode.turns[1].memory_access


def test_the_shell_under_another_name_is_the_same_tool(parts):
    alias = Tool("tool_kappa", "Run.", (Parameter("command", "what"),), filesystem=True)
    memory = Planned(lambda view: Continue(), shell_tool=alias)
    script = ["tool_kappa: echo hi > there", "shell_command: ls", "next[]", "open[42]"]
    episode, sampler = play((parts[0], memory), script)
    assert (episode.turns[0].action.tool, episode.turns[0].observation.exit_status) == ("shell_command", 0)
    assert episode.turns[1].action.fault is not None, "its own name is gone"
    assert "tool_kappa" in ByteCodec(BRACKET).decode(sampler.prompts[0])
    assert memory.views[0].filesystem_tools == {"shell_command", "tool_kappa"}
    assert not memory.views[0].evaluating
