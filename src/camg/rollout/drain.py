"""Run everything that a queue holds in this process, many episodes at once (``camg eval``)."""

from __future__ import annotations

import threading
from collections.abc import Callable

from camg.errors import BackendUnavailable, CamgError, Interrupted, PluginError
from camg.rollout.owner import Owner
from camg.rollout.pool import Pool
from camg.rollout.queue import Queue
from camg.rollout.rig import Rig
from camg.types import Dispatch, Episode


def drain(
    queue: Queue,
    rig: Rig,
    *,
    slots: int,
    deadline: float,
    label: str,
    stop: threading.Event | None = None,
    on_episode: Callable[[Episode], None] = lambda episode: None,
) -> None:
    """Until every episode is complete or faulted. ``deadline``: seconds of one episode.

    Raises :class:`BackendUnavailable` or :class:`PluginError` when nothing can run here, :class:`Interrupted` when
    ``stop`` is set; what had not ended is given back.
    """
    owner = Owner.me(label)

    def done(dispatch: Dispatch, result: Episode | Exception) -> None:
        if isinstance(result, BackendUnavailable | PluginError):
            raise result
        if isinstance(result, Exception):
            message = result.message if isinstance(result, CamgError) else f"{type(result).__name__}: {result}"
            queue.fault(owner, dispatch.id, message)
        elif queue.complete(owner, result):
            on_episode(result)

    def run(dispatch: Dispatch) -> Episode:
        return rig.run(dispatch, label=label, evaluating=queue.evaluating)

    pool: Pool[Dispatch, Episode] = Pool(slots, run, done, deadline=deadline)
    try:
        while True:
            if stop is not None and stop.is_set():
                raise Interrupted("Interrupted before all episodes were complete.")
            while pool.free and (dispatch := queue.claim(owner)) is not None:
                pool.submit(dispatch)
            if not pool.busy and not queue.waiting():
                return
            pool.wait(0.05)
            pool.evict()
            pool.check()
    finally:
        pool.abandon()
        queue.release(owner)
