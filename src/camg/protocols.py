"""What a component must do. Plain, synchronous, typed; one thread an episode.

Each component is built once per process from its validated config, and opens one object per episode:
``Environment -> Session``, ``Memory -> MemorySession``, ``Policy -> Sampler -> Speaker``, ``Sandbox -> Box``.
Every call that waits has a deadline. Raise :class:`camg.errors.InfrastructureFault` for what the policy did not
cause; everything else that an episode meets is data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from attrs import frozen

from camg.types import (
    Action,
    Boundary,
    Change,
    CheckpointVerdict,
    CommandResult,
    EndReason,
    Episode,
    Estimate,
    Event,
    Limits,
    Manifest,
    Message,
    Observation,
    Outcome,
    Response,
    Sampling,
    Stage,
    StepResult,
    Task,
    Tool,
    Trajectory,
    UpdateReport,
    Workspace,
)

if TYPE_CHECKING:
    import torch


# ---------------------------------------------------------------- environment
@runtime_checkable
class Environment(Protocol):
    """A family of tasks. ``tools`` are its native actions; ``shell_command`` is the core's."""

    @property
    def tools(self) -> Sequence[Tool]: ...

    def task_ids(self, split: str) -> Sequence[str]:
        """The ids of a split, in a fixed order. Raises :class:`DataError` for an unknown split."""

    def task(self, task_id: str) -> Task:
        """Raises :class:`DataError` for an unknown id."""

    def workspace(self, task: Task) -> Workspace:
        """What the episode's box starts with: a tree of files, inputs, variables. ``Workspace()``: an empty folder."""

    def open(self, task: Task, box: Box, boxes: Boxes) -> Session:
        """Start one episode in ``box``, opened as :meth:`workspace` says. ``boxes`` opens others, for grading."""


@runtime_checkable
class Session(Protocol):
    """One episode of an environment."""

    def brief(self) -> str:
        """The fixed task text (objective, rules, current request) that opens every context."""

    def step(self, action: Action) -> StepResult:
        """Execute a native action."""

    def after_action(self, action: Action, result: StepResult, checkpoint: CheckpointVerdict | None) -> StepResult:
        """See *every* action, whoever executed it, and return the result as it shall count.

        Called once per response: parse faults and refused checkpoints are priced here.
        """

    def reminder(self, path: str, limit: int) -> str:
        """The fixed text that asks for a checkpoint: the fields worth keeping, and the shape of the command."""

    def cross(self) -> str:
        """A declared boundary has been confirmed: move on and return the next brief."""

    def finish(self, reason: EndReason) -> tuple[float, Outcome]:
        """The final reward (added to the last response) and the outcome. Called exactly once."""

    def close(self) -> None:
        """Free what the session holds; must be safe after any failure."""


# ---------------------------------------------------------------- sandbox
@runtime_checkable
class Box(Protocol):
    """One episode's private machine. Its working folder is the workspace root."""

    def run(self, command: str, *, wall_seconds: float | None = None) -> CommandResult:
        """Run ``bash -c command`` from the workspace root.

        On return no process that the command started is left. Raises :class:`InfrastructureFault` only when the
        box itself is gone.
        """

    def manifest(self) -> Manifest:
        """The state of every path below ``.agent_memory``, seen without following links."""

    def read(self, path: str, limit: int) -> bytes:
        """At most ``limit`` bytes of a regular workspace file; no links are followed. Raises ``OSError``."""

    def write(self, path: str, data: bytes) -> None:
        """Place a file in the workspace (parents are made); no links are followed. Raises ``OSError``."""

    def remove(self, path: str) -> None:
        """Remove a workspace file, link or whole folder; no links are followed. Raises ``OSError``, also if absent."""

    def changes(self, base: Path, limit: int, skip: Callable[[str], bool]) -> Mapping[str, Change]:
        """How the workspace differs from the tree ``base``: relative path -> change, of ``limit`` bytes in all.

        ``skip``: paths (of folders or files) that are not looked at. See :func:`camg.workspace.changes.changes`.
        """

    def close(self) -> None:
        """Leave no process, mount or file. Safe to call twice."""


class Boxes(Protocol):
    """Opens further boxes beside an episode's own, with which they share nothing; whoever asks closes them."""

    def __call__(self, workspace: Workspace, *, limits: Limits | None = None) -> Box:
        """``limits``: None for those of the episode. Raises :class:`InfrastructureFault`."""


@runtime_checkable
class Sandbox(Protocol):
    """Opens boxes."""

    def open(self, label: str, *, limits: Limits, workspace: Workspace | None = None) -> Box:
        """A fresh box; None: with an empty workspace. Raises :class:`InfrastructureFault`."""

    def reconcile(self) -> int:
        """Remove what boxes of dead workers left behind; returns how many. Called at start."""

    def close(self) -> None: ...


# ---------------------------------------------------------------- memory
class EpisodeView(Protocol):
    """What the loop shows a memory of the running episode."""

    @property
    def task(self) -> Task: ...
    @property
    def box(self) -> Box: ...
    @property
    def codec(self) -> ChatCodec: ...
    @property
    def continuation_bytes(self) -> int: ...
    @property
    def filesystem_tools(self) -> frozenset[str]:
        """Names of the tools whose action may write the continuation file."""

    @property
    def workspace(self) -> Workspace:
        """What the box was opened with; ``workspace.base`` is the tree that its files began as."""

    @property
    def evaluating(self) -> bool:
        """Is this an episode of an evaluation rather than of training?"""

    @property
    def prompt_tokens(self) -> int:
        """The prompt limit."""

    @property
    def observation_tokens(self) -> int:
        """The limit of one observation."""

    def brief(self) -> str: ...

    def transcript(self) -> Sequence[Message]:
        """The messages of the active context; at a boundary, with the observation that is not shown yet."""

    def steps(self) -> Sequence[Step]:
        """What followed the opening of the active context: responses and their replies, oldest first."""

    def count(self, messages: Sequence[Message]) -> int:
        """Tokens of a prompt made of ``messages``, without tools."""

    def room(self, plan: Replace) -> int:
        """Tokens free, beyond a whole response, in the context that ``plan`` opens; negative: too long."""

    def generate(self, messages: Sequence[Message], *, limit: int, trained: bool, slots: int = 0) -> str:
        """Sample once from the policy outside the dialogue (a summary); recorded as a turn of kind SUMMARY.

        The caller sees to it that the prompt fits (:meth:`count`). ``limit`` in tokens, at most the response limit.
        """

    def record(self, event: Event) -> None:
        """Record something that the policy did not sample, and what it cost (see :class:`camg.types.Event`)."""


@frozen
class Step:
    """A response of the active context, and what it was answered."""

    turn: int  # index in the episode
    response: str
    reply: str


@frozen
class Kept:
    """A step that a new context carries over. Its tokens are context there: nothing is trained twice."""

    turn: int
    response: bool = True  # False: an empty response stands there
    reply: str | None = None  # another text than it was answered; None: as it was


@frozen
class Announce:
    """Keep the context, say ``text``, and ask the memory again after the next response."""

    text: str


@frozen
class Continue:
    """Under pressure: replace nothing. The episode ends when what is to be shown passes the prompt limit."""


@frozen
class Replace:
    """Open a new context: task and tool instructions, brief, ``note``, then the steps that are kept.

    What does not fit the prompt limit is cut: kept steps, the oldest first, then the end of the note.
    """

    note: str = ""
    keep: Sequence[Kept] = ()
    task: bool = True  # does the brief stand there?
    instructions: str | None = None  # what the memory says of itself from now on; None: as before


@frozen
class Review:
    """A memory's judgement over the response that followed an announcement."""

    verdict: CheckpointVerdict
    then: Announce | Replace | Continue


@runtime_checkable
class MemorySession(Protocol):
    """One episode's memory: it decides what the policy sees next."""

    def before_turn(self) -> Replace | None:
        """Called before each response; may rewrite the context (automatic managers)."""

    def handle(self, action: Action) -> StepResult:
        """Execute one of the memory's own tools."""

    def at_boundary(self, boundary: Boundary) -> Announce | Replace | Continue:
        """What happens now. A declared boundary clears the context under every memory: no step may be kept there."""

    def review(self, action: Action, before: Manifest, after: Manifest) -> Review:
        """Judge the response to the last announcement."""

    def accesses(self, action: Action, before: Manifest, after: Manifest) -> bool:
        """Did this response access the memory, successfully or not (no-memory-gradient asks)?"""

    def after_action(self, action: Action, result: StepResult) -> StepResult:
        """See every action; restore what the method forbids, add notices. Return the result as it shall count."""

    def close(self) -> None: ...


@runtime_checkable
class Memory(Protocol):
    """How the policy keeps what falls out of its context.

    Two more attributes are looked for: ``dialect``, an envelope of the memory's own in which *every* call is written
    (a :class:`Dialect`; absent or None: the policy's), and ``shell_tool``, a :class:`~camg.types.Tool` that stands for
    ``shell_command`` under another name (absent or None: under its own).
    """

    @property
    def tools(self) -> Sequence[Tool]: ...

    def instructions(self, *, terse: bool) -> str:
        """What the fixed instructions say about memory. ``terse``: for the embedded policy."""

    def open(self, view: EpisodeView) -> MemorySession: ...


@runtime_checkable
class Habit(Protocol):
    """How a scripted policy keeps a note by a memory and finds it again: for demonstrations, oracles and tests.

    A call is ``(tool, arguments)``. None: the memory does it without an action (a summary keeps, a context shows).
    """

    eager: bool  # nothing asks for notes: what is to cross a boundary is kept before it

    def keep(self, note: str) -> tuple[str, Mapping[str, Any]] | None:
        """The action that answers a checkpoint reminder, or keeps ``note`` before a boundary."""

    def recall(self) -> tuple[str, Mapping[str, Any]] | None:
        """The action that brings the note back into a fresh context."""

    def asked(self, prompt: str) -> bool:
        """Does ``prompt`` (the decoded context) ask for a summary? The script then answers with the note itself."""


# ---------------------------------------------------------------- policy
class Dialect(Protocol):
    """How tools are described and calls are written and parsed."""

    @property
    def name(self) -> str: ...

    def describe(self, tools: Sequence[Tool]) -> str:
        """Instructions for the prompt; empty when the chat template itself describes the tools."""

    def parse(self, text: str, tools: Sequence[Tool]) -> Action:
        """Strict: exactly one call of a known tool, at the end. Never raises; faults are in the Action."""

    def render(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """The text of a call (for demonstrators, scripts and probes): ``parse(render(x)) == x``."""


class ChatCodec(Protocol):
    """Messages -> token ids, append-only. Sampled text is never tokenised again."""

    @property
    def dialect(self) -> Dialect: ...
    @property
    def terse(self) -> bool:
        """True for the embedded policy: texts in their short form."""

    @property
    def eos_id(self) -> int: ...

    def speaking(self, dialect: Dialect) -> ChatCodec:
        """The same codec, with calls written in ``dialect``."""

    def open(self, messages: Sequence[Message], tools: Sequence[Tool]) -> tuple[int, ...]:
        """The ids of a fresh context, ending with the generation prompt."""

    def extend(self, messages: Sequence[Message], *, ended: bool) -> tuple[int, ...]:
        """The template's exact ids between a response and the next one. ``ended``: the end token was sampled."""

    def encode(self, text: str) -> tuple[int, ...]: ...

    def decode(self, ids: Sequence[int]) -> str: ...


class Speaker(Protocol):
    """The policy's voice in one episode."""

    def generate(self, prompt: Sequence[int], *, limit: int) -> Response:
        """Sample one response (thread-safe across speakers, blocks). Raises :class:`InfrastructureFault`."""

    def close(self) -> None: ...


class Sampler(Protocol):
    """An engine that serves many episodes at once."""

    @property
    def version(self) -> int: ...

    def open(self, task: Task, seed: int) -> Speaker: ...

    def close(self) -> None: ...


@runtime_checkable
class Policy(Protocol):
    """A model: how it talks, how it is sampled, and (where it can be trained) its networks."""

    @property
    def codec(self) -> ChatCodec: ...

    def speak(self, dialect: Dialect) -> None:
        """Write calls in ``dialect`` from now on: a memory's own envelope. Called before :meth:`sampler`."""

    def sampler(self, sampling: Sampling, *, weights: Path | None = None, lockstep: bool = False) -> Sampler:
        """Start an engine. ``weights``: a folder of published versions to follow (:mod:`camg.weights`).
        ``lockstep``: requests of all open speakers are collected, ordered and decoded together, so that the result
        does not depend on thread timing (``--sync``).
        """

    def actor(self) -> torch.nn.Module:
        """A causal LM: ``module(input_ids, ...)`` as in transformers. Raises :class:`UsageError` if untrainable."""

    def critic(self) -> torch.nn.Module:
        """A backbone of its own, started as a copy of the actor, with a zero scalar head (method: Learning)."""


Script = Callable[[str], str]
"""A scripted policy for one episode: decoded context -> response text."""


# ---------------------------------------------------------------- learning
@runtime_checkable
class Estimator(Protocol):
    """Credit assignment. Pure; one trajectory per episode, estimates in the same order."""

    def estimate(self, trajectories: Sequence[Trajectory]) -> Sequence[Estimate]: ...


@runtime_checkable
class Reward(Protocol):
    """What the learner trains on in place of the environment's own rewards (shaping). Pure."""

    def rewards(self, episode: Episode) -> Sequence[float]:
        """One finite reward for each of ``episode.turns``, in order; ``turn.reward`` is the environment's own.

        Called in the learner, for each episode that an update learns from. The environment's return stays in the
        metrics, and evaluations never see this.
        """


@runtime_checkable
class Recipe(Protocol):
    """How a run's updates are divided into stages (see :func:`camg.config.stage_plan`). Pure."""

    def stages(self) -> Sequence[Stage]: ...


# ---------------------------------------------------------------- reporting
@runtime_checkable
class Reporter(Protocol):
    """Follows a run. A reporter that raises is named and detached; the run goes on.

    An attribute ``needs_episodes = False`` spares the reading back of every episode for :meth:`episode`.
    """

    def start(self, run: Mapping[str, Any]) -> None: ...

    def episode(self, episode: Episode) -> None: ...

    def update(self, report: UpdateReport) -> None: ...

    def finish(self, summary: Mapping[str, Any]) -> None: ...


__all__ = [
    "Announce",
    "Box",
    "ChatCodec",
    "Continue",
    "Dialect",
    "Environment",
    "EpisodeView",
    "Estimator",
    "Habit",
    "Kept",
    "Memory",
    "MemorySession",
    "Observation",
    "Policy",
    "Recipe",
    "Replace",
    "Reporter",
    "Review",
    "Reward",
    "Sampler",
    "Sandbox",
    "Script",
    "Session",
    "Speaker",
    "Step",
]
