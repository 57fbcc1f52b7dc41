"""Held-out evaluations within a run: in the workers that train, through a queue of their own."""

from __future__ import annotations

import json
import shutil
import threading
import time
from pathlib import Path
from typing import Any

from camg.config import RunConfig
from camg.errors import CorruptState, Interrupted
from camg.evaluate.plan import evaluation_plan, expected
from camg.evaluate.runner import completed
from camg.evaluate.scores import per_task, score, to_json
from camg.plugins import Registry
from camg.rollout.cell import Cell, read_json
from camg.rollout.queue import Queue
from camg.rollout.store import write_beside
from camg.supervise.loop import Advance, check_outage

TASKS_FILE = "tasks.jsonl"


class Evaluations:
    """The evaluations of a cell, each in ``evaluation/<name>/``: queue, episodes, and at its end ``tasks.jsonl`` (one
    line for each task, what a paired comparison needs) and ``result.json``.

    One process has them at a time.
    """

    def __init__(
        self, cell: Cell, config: RunConfig, registry: Registry, *, advance: Advance, stop: threading.Event, beat: Any
    ) -> None:
        self._cell, self._config = cell, config
        self._advance, self._stop, self._beat = advance, stop, beat
        self._plan = evaluation_plan(config, registry) if config.evaluation.tasks else []
        for marker in cell.evaluation.glob("*/open"):
            marker.unlink()  # of a process that was killed: this one opens what it is about to run

    def run(self, name: str, update: int) -> None:
        """Evaluate the published weights of ``update``; what a former process has finished is kept.

        Raises :class:`Interrupted` when ``stop`` is set (what is complete stays), :class:`BackendUnavailable` in an
        outage.
        """
        folder = self._cell.evaluation / name
        if not self._plan or (folder / "result.json").exists():
            return
        self._beat(phase="evaluate", name=name, update=update)
        began = time.monotonic()
        queue = self._open(folder)
        marker = folder / "open"  # the workers look for it; it says which weights they must have
        try:
            queue.release_dead()
            queue.enqueue(self._plan)
            write_beside(marker, str(update).encode())
            episodes = []
            while queue.waiting() or len(episodes := completed(queue)) < len(self._plan) - len(queue.faults()):
                if self._stop.is_set():
                    raise Interrupted("Interrupted; run again with --resume to go on.")
                check_outage(queue, self._config.rollout.reruns)
                self._beat(phase="evaluate", name=name, update=update)
                self._advance(queue)
        finally:
            marker.unlink(missing_ok=True)
            queue.close()
        result = {
            "name": name,
            "update": update,
            "seconds": time.monotonic() - began,
            "temperature": self._config.rollout.temperature,
            **to_json(score(episodes, expected(self._plan))),
        }
        lines = [json.dumps(row) + "\n" for row in per_task(episodes)]
        write_beside(folder / TASKS_FILE, "".join(lines).encode())  # first: a result is never without it
        write_beside(folder / "result.json", json.dumps(result, indent=1).encode())

    def _open(self, folder: Path) -> Queue:
        try:
            return Queue(folder, reruns=self._config.rollout.reruns, create=True, evaluating=True)
        except CorruptState:
            shutil.rmtree(folder)  # an unfinished evaluation can simply be run again
            return Queue(folder, reruns=self._config.rollout.reruns, create=True, evaluating=True)


def results(cell: Cell) -> list[dict[str, Any]]:
    """The finished evaluations of a cell, by update."""
    found = [read_json(path) for path in cell.evaluation.glob("*/result.json")]
    return sorted(found, key=lambda result: (result["update"], result["name"] != "initial"))
