"""The records that flow through CAMG: frozen, plain, and the same on disk as in memory.

``Task -> Action -> StepResult -> Turn -> Segment -> Episode -> Sample -> UpdateReport``. Token ids are Python ints,
log-probabilities natural logarithms at the sampling temperature, times seconds, sizes bytes.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import field, frozen


class StopReason(enum.StrEnum):
    """Why a response ended (method: first EOS or length limit)."""

    EOS = "eos"  # the policy sampled its end token; it is the last id of the response
    LENGTH = "length"  # the response limit was reached; the response is an invalid action and still trained


class TurnKind(enum.StrEnum):
    """What a policy-sampled turn was for."""

    RESPONSE = "response"  # one action slot, one RL step
    SUMMARY = "summary"  # a memory's own generation (CompactionRL, AgeMem), trained or not


class EndReason(enum.StrEnum):
    """Why an episode ended."""

    TERMINATED = "terminated"  # the environment said so (wrong purchase, submission, answer)
    ACTION_LIMIT = "action_limit"  # the task's slots are spent: truncation, no bootstrap (finite horizon)
    CONTEXT_EXHAUSTED = "context_exhausted"  # no room for another response after refused checkpoints
    FAULT = "fault"  # infrastructure: never a sample


class BoundaryKind(enum.StrEnum):
    """Who asked for a context replacement."""

    PRESSURE = "pressure"  # the context nears the prompt limit
    DECLARED = "declared"  # the environment's own boundary, e.g. a Shop session that ended
    MEMORY = "memory"  # the memory itself: what a tool of it asked for (AgeMem's filter), or an automatic manager


class CheckpointFailure(enum.StrEnum):
    """The seven reasons why a response was no valid checkpoint write (paper A.2)."""

    UNPARSEABLE = "unparseable"
    NOT_FILESYSTEM = "not_a_filesystem_action"
    UNCHANGED = "unchanged"
    NOT_REGULAR = "not_regular"
    EMPTY = "empty"
    TOO_LARGE = "too_large"
    OTHER_FILES = "other_memory_files_changed"


@frozen
class Task:
    """One problem. ``payload`` is JSON-able and private to the environment: it is never shown to the policy."""

    id: str
    env: str
    split: str
    budget: int  # action slots
    payload: Mapping[str, Any] = field(factory=dict)


@frozen
class Parameter:
    """One parameter of a tool. A required string may be empty only where ``empty`` says so."""

    name: str
    summary: str
    kind: str = "string"  # or "integer", "number", "boolean", "object", "array": JSON's types
    required: bool = True
    empty: bool = False


@frozen
class Tool:
    """What the policy may call."""

    name: str
    summary: str
    parameters: tuple[Parameter, ...] = ()
    filesystem: bool = False  # may its action write the continuation file?


@frozen
class Action:
    """A parsed response. Exactly one of ``tool`` and ``fault`` is set."""

    tool: str | None
    arguments: Mapping[str, Any] = field(factory=dict)  # of the kinds that the tool declares
    raw: str = ""
    fault: str | None = None  # the class of the parse fault, e.g. "no_action"
    fault_detail: str = ""  # one sentence for the policy


@frozen
class Observation:
    """What came back. ``shown`` is what the policy reads; ``full`` what there was, if it was longer."""

    shown: str
    full: str | None = None
    exit_status: int | None = None  # of a shell command
    timed_out: bool = False
    notices: tuple[str, ...] = ()  # facts beside the text: killed by memory watchdog, output cut, …


@frozen
class StepResult:
    """What an action did. ``boundary``: the environment declares a boundary after this action."""

    observation: Observation
    reward: float = 0.0
    terminated: bool = False
    boundary: bool = False
    invalid: bool = False


@frozen
class FileState:
    """One path below ``.agent_memory`` at one moment, seen without following links."""

    kind: str  # "file", "directory", "symlink", "other"
    size: int = 0
    sha256: str = ""  # of a regular file's bytes; "" for what is not one, or is too large to be memory
    links: int = 1


Manifest = Mapping[str, FileState]
"""Paths relative to ``.agent_memory`` -> their state. An absent folder is an empty manifest."""


@frozen
class CheckpointVerdict:
    """The judgement over one response while a checkpoint was pending."""

    accepted: bool
    failure: CheckpointFailure | None = None
    detail: str = ""


@frozen
class Timing:
    """Wall seconds of one turn."""

    generate: float = 0.0
    environment: float = 0.0
    started: float = 0.0  # since the episode's start


@frozen
class Message:
    """One chat message, before tokenisation."""

    role: str  # "system", "user", "assistant", "tool"
    content: str


@frozen
class Response:
    """One sampled response, as an engine returns it.

    ``len(token_ids) == len(logprobs)``; a sampled end token is the last id and has its log-prob. Every log-prob
    comes from the one set of weights ``policy_version`` at the temperature used.
    """

    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    stop_reason: StopReason
    policy_version: int
    text: str  # decoded without the end token
    seconds: float = 0.0


@frozen
class Turn:
    """One RL step z_t = (h_t, a_t, l_t, r_t, e_t, v_t) (paper Eq. 5).

    h_t is the first ``prompt_length`` ids of segment ``segment``; a_t are ``token_ids``, which follow there.
    """

    index: int
    segment: int
    prompt_length: int
    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    stop_reason: StopReason
    policy_version: int
    text: str
    action: Action
    observation: Observation
    reward: float = 0.0
    terminated: bool = False
    invalid: bool = False
    slots: int = 1
    memory_access: bool = False
    trained: bool = True
    kind: TurnKind = TurnKind.RESPONSE
    checkpoint: CheckpointVerdict | None = None
    manifest_before: Manifest = field(factory=dict)
    manifest_after: Manifest = field(factory=dict)
    timing: Timing = Timing()


COSTS = ("model_calls", "model_tokens", "embedding_calls", "git_calls", "seconds")
"""Names of costs in :class:`Event`: calls of a model and the tokens they read and wrote, and so on."""


@frozen
class Event:
    """A step that the policy did not sample: Mem0's add and search, an automatic summary, a withheld re-read.

    ``slots``: action slots that it takes. ``cost``: what it used, by name; :data:`COSTS` are the common ones.
    """

    before_turn: int
    kind: str
    slots: int = 0
    cost: Mapping[str, float] = field(factory=dict)
    text: str = ""


@frozen
class Segment:
    """One run of append-only context: every token that the policy saw or sampled until the next replacement."""

    token_ids: tuple[int, ...]
    turns: tuple[int, ...]  # indices into Episode.turns


@frozen
class Replacement:
    """One context replacement that took place."""

    after_turn: int
    kind: BoundaryKind


@frozen
class Outcome:
    """What the environment says of a whole episode.

    ``success`` in [0, 1] is the environment's own measure (Shop: sessions / 6); ``complete`` whether the task is
    wholly solved; ``score`` any native figure; ``metrics`` free diagnostics. ``failure`` names in the environment's
    own classes why the task is not wholly solved; evaluations count them. ``details`` are texts for replay (a text that
    is a unified diff is shown in colour).
    """

    success: float
    complete: bool
    score: float = 0.0
    metrics: Mapping[str, float] = field(factory=dict)
    failure: str = ""
    details: Mapping[str, str] = field(factory=dict)


@frozen
class Episode:
    """A finished episode: everything that learning, replay and analysis need."""

    id: int  # the position in the schedule
    task: str
    env: str
    split: str
    seed: int
    segments: tuple[Segment, ...]
    turns: tuple[Turn, ...]
    outcome: Outcome
    end_reason: EndReason
    replacements: tuple[Replacement, ...] = ()
    events: tuple[Event, ...] = ()
    fault: str | None = None
    seconds: float = 0.0
    group: int = 0  # episodes of one group share a task (group estimators)
    meta: Mapping[str, Any] = field(factory=dict)  # dialect, memory, temperature, …

    @property
    def reward(self) -> float:
        """The undiscounted return."""
        return sum(turn.reward for turn in self.turns)


@frozen
class Sample:
    """One segment as a training example (method: segments as samples).

    All tuples have the length of ``token_ids``. ``sampled`` marks tokens that the policy sampled in a trained turn;
    ``turn`` gives that turn's index in its episode (-1 elsewhere); ``logprobs`` the behaviour log-prob (0 elsewhere).
    """

    episode: int
    env: str
    segment: int
    token_ids: tuple[int, ...]
    sampled: tuple[bool, ...]
    logprobs: tuple[float, ...]
    turn: tuple[int, ...]


@frozen
class UpdateReport:
    """What one learner update did: one line of ``metrics.jsonl``.

    ``metrics`` holds everything that is a function of data and seed; ``time`` everything that a clock decides.
    """

    update: int
    version: int  # weights published after this update
    episodes: tuple[int, ...]
    metrics: Mapping[str, float]
    time: Mapping[str, float] = field(factory=dict)


@frozen
class HealthCheck:
    """One line of ``camg doctor``."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""


@frozen
class Limits:
    """What one episode may use of the machine. Each is enforced by the sandbox or refused at start-up."""

    wall_seconds: float = 30.0  # one shell_command
    cpu_seconds: float = 30.0  # of any one process
    processes: int = 64  # at one moment, in the whole episode
    memory_bytes: int = 1 << 30  # resident, the whole episode
    output_bytes: int = 1 << 20  # of one shell_command; what follows is dropped and counted
    file_bytes: int = 64 << 20  # any one file
    files: int = 20_000  # inodes in the writable tree
    written_bytes: int = 256 << 20  # in the writable tree


@frozen(kw_only=True)
class Workspace:
    """What a box starts with."""

    base: Path | None = None  # a tree that the workspace starts as (copy-on-write, never changed)
    inputs: Mapping[str, Path] = field(factory=dict)  # absolute path inside -> host path, read-only
    variables: Mapping[str, str] = field(factory=dict)  # environment variables of every command
    hidden: tuple[str, ...] = ()  # absolute paths of the box's system that it must not see; absent ones are ignored
    image: str = ""  # of a container, for sandboxes that start one; others ignore it


@frozen
class Change:
    """How one path of a workspace differs from the tree that it started as, seen without following links."""

    kind: str  # "file" (new, or with other content), "large" (one left unread), "removed", "symlink", "other"
    data: bytes = b""  # of a file
    executable: bool = False


@frozen
class CommandResult:
    """What one shell command did inside a box. ``output`` is stdout and stderr, interleaved as written."""

    output: bytes
    exit_status: int | None  # None when the time limit ended it; 128 + n when signal n did
    timed_out: bool = False
    dropped_bytes: int = 0  # of output past the limit
    notices: tuple[str, ...] = ()  # e.g. "memory limit reached: all processes were killed"
    seconds: float = 0.0


@frozen
class Sampling:
    """How responses are drawn. ``temperature`` 0 is greedy decoding (evaluation only)."""

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0


@frozen
class Boundary:
    """The core announces: the context is to be replaced."""

    kind: BoundaryKind
    reminder: str  # what the environment wants kept, in its own words


@frozen
class Trajectory:
    """One episode as an estimator sees it: its trained turns, in order, across replaced contexts.

    ``values`` is a float32 tensor ``[sum(lengths)]``: V before each sampled token (0 without a critic).
    """

    episode: int
    env: str
    group: int
    rewards: tuple[float, ...]
    lengths: tuple[int, ...]
    values: Any
    terminated: bool = True
    segments: tuple[int, ...] = ()  # of each response: the run of context that it was sampled in


@frozen
class Estimate:
    """Float32 tensors ``[sum(lengths)]``: raw advantages (before the pipeline) and critic targets."""

    advantages: Any
    returns: Any


@frozen
class Stage:
    """One part of a run. ``share`` of the run's updates (the shares of all stages sum to 1).

    ``settings``: options of the memory that hold in it, by dotted name: ``{"agemem.inject": True}``.
    """

    name: str
    share: float
    settings: Mapping[str, Any] = field(factory=dict)


@frozen
class Dispatch:
    """One entry of the schedule: which task, under which seed. ``id`` is its position: earlier ids go first."""

    id: int
    group: int
    env: str
    task: str
    seed: int
