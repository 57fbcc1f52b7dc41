"""``--sync``: rollout and learner in one process, in turn. Same seed, same metrics, to the last bit."""

from __future__ import annotations

import threading
from collections.abc import Callable

from camg.config import RunConfig
from camg.errors import CamgError
from camg.plugins import Registry
from camg.rollout.cell import Cell, Heartbeat
from camg.rollout.queue import Queue
from camg.rollout.rig import build_rig, training_schedule
from camg.rollout.waves import Waves
from camg.supervise.evaluation import Evaluations
from camg.supervise.loop import TrainingLoop
from camg.supervise.trainer import LearnerTrainer
from camg.types import Dispatch, Episode

OUTAGE_PAUSE = 0.5  # between waves while everything faults


def run_lockstep(
    cell: Cell, config: RunConfig, registry: Registry, *, stop: threading.Event, poll: Callable[[], None]
) -> None:
    """The training loop with waves in place of workers. ``poll`` is called after each wave and update.

    The window is 0: every episode is sampled from the weights that it trains (lag 0). Raises what the loop raises.
    """
    described = cell.described(config)
    policy = registry.build("policy", config.policy, config.component("policy", config.policy))
    trainable = config.run.updates > 0
    rig = build_rig(config, registry, weights=cell.weights if trainable else None, lockstep=True, policy=policy)

    def on_episode(episode: Episode) -> None:
        registry.hook.camg_episode_end(run=described, episode=episode)

    def on_fault(dispatch: Dispatch, error: Exception, again: bool) -> None:
        where = {"episode": dispatch.id, "env": dispatch.env, "task": dispatch.task}
        cell.log_error("sync", error, rerun=again, **where)

    slots, deadline = config.rollout.slots, config.rollout.episode_seconds
    waves = Waves(rig, slots, deadline, stop=stop, on_episode=on_episode, on_fault=on_fault)

    def advance(queue: Queue) -> None:
        waves.run(queue)
        poll()
        if queue.outage() is not None:
            stop.wait(OUTAGE_PAUSE)

    beat = Heartbeat(cell, "learner")
    queue = Queue(cell.root, reruns=config.rollout.reruns)
    try:
        evaluations = Evaluations(cell, config, registry, advance=advance, stop=stop, beat=beat)
        if not trainable:
            evaluations.run("initial", 0)
            return
        TrainingLoop(
            cell,
            config,
            registry,
            LearnerTrainer(cell, config, registry, policy),
            training_schedule(config, registry),
            queue,
            window=0,
            advance=advance,
            evaluate=evaluations.run,
            stop=stop,
            beat=beat,
        ).run()
    except CamgError as error:
        cell.log_error("sync", error, fatal=True)
        raise
    finally:
        rig.close()
        queue.close()
