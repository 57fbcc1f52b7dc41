"""The learner process: ``python -m camg.supervise.learner CELL_DIR LABEL PARENT_PID``.

It dispatches, waits for the workers, updates and publishes (see :mod:`camg.supervise.loop`).
"""

from __future__ import annotations

import sys
import threading

from camg.config import load_cell
from camg.rollout.cell import Cell, Heartbeat
from camg.rollout.process import child_main, leave
from camg.rollout.queue import Queue
from camg.rollout.rig import training_schedule
from camg.supervise.evaluation import Evaluations
from camg.supervise.loop import TrainingLoop
from camg.supervise.trainer import LearnerTrainer

POLL_SECONDS = 0.02
LOCK_SECONDS = 30.0  # for the learner before this one to be gone


def learn(cell: Cell, label: str, stop: threading.Event) -> None:
    """The body of the learner process."""

    beat = Heartbeat(cell, label)

    def advance(queue: Queue) -> None:
        stop.wait(POLL_SECONDS)

    beat(phase="start")
    config, registry = load_cell(cell.root)
    with cell.locked("learner", wait=LOCK_SECONDS):
        evaluations = Evaluations(cell, config, registry, advance=advance, stop=stop, beat=beat)
        if config.run.updates == 0:
            evaluations.run("initial", 0)
            return
        policy = registry.build("policy", config.policy, config.component("policy", config.policy))
        TrainingLoop(
            cell,
            config,
            registry,
            LearnerTrainer(cell, config, registry, policy),
            training_schedule(config, registry),
            Queue(cell.root, reruns=config.rollout.reruns),
            window=config.rollout.warmup,
            advance=advance,
            evaluate=evaluations.run,
            stop=stop,
            beat=beat,
        ).run()


def main() -> None:
    """Entry point."""
    leave(child_main(learn, sys.argv[1:]))


if __name__ == "__main__":
    main()
