"""Evaluate one set of weights on held-out tasks, in this process (``camg eval``)."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

from camg.config import RunConfig
from camg.errors import CorruptState
from camg.evaluate.plan import evaluation_plan
from camg.plugins import Registry
from camg.rollout.drain import drain
from camg.rollout.queue import Queue, State
from camg.rollout.rig import build_rig
from camg.types import Episode, Sampling


def evaluate(
    config: RunConfig,
    registry: Registry,
    *,
    weights: Path | None,
    version: int | None = None,
    split: str | None = None,
    tasks: int | None = None,
    sampling: Sampling | None = None,
    directory: Path | None = None,
    slots: int | None = None,
    stop: threading.Event | None = None,
    on_episode: Callable[[Episode], None] = lambda episode: None,
) -> list[Episode]:
    """Run ``tasks`` held-out episodes of each environment and return the complete ones, in order.

    ``weights``: a folder of published versions (None: the policy's own weights); ``version``: which of them (None: the
    newest). ``sampling``: default greedy. ``directory``: keep queue and episodes there; what is complete there already
    is not run again. ``on_episode`` is called from episode threads.

    An infrastructure fault is rerun ``rollout.reruns`` times; an episode that still faults is missing from the result
    (:func:`camg.evaluate.scores.score` then reads N/A). Raises :class:`CorruptState` when the version is not there or
    damaged, :class:`BackendUnavailable` when nothing can run here.
    """
    plan = evaluation_plan(config, registry, tasks=tasks, split=split)
    with tempfile.TemporaryDirectory(prefix="camg-eval-") as scratch:
        folder = directory or Path(scratch) / "evaluation"
        queue = Queue(folder, reruns=config.rollout.reruns, create=True, evaluating=True)
        queue.release_dead()
        queue.enqueue(plan)
        pinned = pin(weights, version, Path(scratch) / "weights") if weights is not None else None
        rig = build_rig(config, registry, sampling=sampling or Sampling(temperature=0.0), weights=pinned)
        try:
            drain(
                queue,
                rig,
                slots=slots or config.rollout.slots,
                deadline=config.rollout.episode_seconds,
                label="eval",
                stop=stop,
                on_episode=on_episode,
            )
            return completed(queue)
        finally:
            rig.close()
            queue.close()


def completed(queue: Queue) -> list[Episode]:
    """Every complete episode of an evaluation's queue, by id.

    A damaged file is set aside and its episode becomes dispatched again: look at :meth:`Queue.waiting` afterwards.
    """
    episodes = []
    for index, state in sorted(queue.states().items()):
        if state is State.COMPLETE:
            try:
                episodes.append(queue.store.read(index))
            except CorruptState:
                queue.rerun(index)
    return episodes


def pin(weights: Path, version: int | None, folder: Path) -> Path:
    """A folder that holds one version only, so that a run that goes on publishing does not move the evaluation."""
    from camg import weights as published

    if version is None:
        found = published.follow(weights)
        if found is None:
            raise CorruptState(f"There are no published weights in {weights}.", hint="Has the run made an update yet?")
        version, state = found
    else:
        state = published.load(weights, version)
    published.publish(folder, state, version)
    return folder
