"""The Coding environment: splits, task ids, and the opening of episodes. The task set is read when first needed."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from pathlib import Path

from attrs import evolve

from camg.errors import BackendUnavailable, DataError
from camg.protocols import Box, Boxes
from camg.types import Task, Tool, Workspace
from camg_coding import pocket
from camg_coding.changes import collect
from camg_coding.config import BUDGET, CodingConfig
from camg_coding.grading.grader import grade
from camg_coding.prepare import public_tree, workspace
from camg_coding.records import Instance
from camg_coding.session import CodingSession, Grade
from camg_coding.splits import split
from camg_coding.store import TaskSet, read_set
from camg_coding.texts import FullTexts

FULL = ("train", "eval", "all")
SPLITS = (*FULL, *pocket.SIZES)

_POCKET_ID = re.compile(rf"coding\.({'|'.join(pocket.SIZES)})\.(\d{{5}})")


class Coding:
    """The environment (:class:`camg.protocols.Environment`).

    Splits: ``train`` and ``eval`` (disjoint in their repositories), ``all`` (every task that can run here, in the
    set's order), ``pocket`` and ``pocket-eval`` (tiny repairs). A full task's id is its ``instance_id``.
    """

    tools: Sequence[Tool] = ()

    def __init__(self, config: CodingConfig | None = None) -> None:
        self.config = config or CodingConfig()
        self._lock = threading.Lock()
        self._set: TaskSet | None = None
        self._splits: dict[str, tuple[str, ...]] = {}
        self._split_of: dict[str, str] = {}

    def tasks(self) -> TaskSet:
        """The task set; read (the embedded one: built) on the first call. Raises :class:`DataError`."""
        with self._lock:
            if self._set is None:
                found = read_set(Path(self.config.tasks)) if self.config.tasks else _embedded()
                runnable = evolve(found, instances={i.instance_id: i for i in self._runnable(found)})
                self._splits = dict(split(runnable, self.config.seed, self.config.eval_share))
                self._splits["all"] = tuple(runnable.instances)
                self._split_of = {task: name for name in ("train", "eval") for task in self._splits[name]}
                self._set = found
            return self._set

    def _runnable(self, tasks: TaskSet) -> list[Instance]:
        """Those whose repository was built here and, where wanted, those with an image. Raises DataError for none."""
        built = [one for one in tasks.instances.values() if one.profile in tasks.profiles]
        imaged = [one for one in tasks.instances.values() if one.profile not in tasks.profiles and one.image_name]
        found = [*built, *imaged] if self.config.images else built
        if not found:
            raise DataError(
                f"None of the {len(tasks.instances)} tasks in {tasks.folder} can run here: {len(imaged)} need their "
                "container image, the others a repository that was not built.",
                hint="Import the rows with --repository owner/name=DIR, or choose a sandbox that starts images and "
                "--set coding.images=true.",
            )
        return found

    def task_ids(self, split: str) -> Sequence[str]:
        """The ids of a split, in a fixed order. Raises :class:`DataError` for an unknown split."""
        if split in pocket.SIZES:
            return tuple(f"coding.{split}.{place:05d}" for place in range(pocket.SIZES[split]))
        if split not in FULL:
            raise DataError(f"Expected a split of coding ({', '.join(SPLITS)}), got {split!r}.")
        self.tasks()
        return self._splits[split]

    def task(self, task_id: str) -> Task:
        """Raises :class:`DataError` for an unknown id."""
        if match := _POCKET_ID.fullmatch(task_id):
            name, place = match.group(1), int(match.group(2))
            if place < pocket.SIZES[name]:
                return pocket.task(name, place, self.config.seed)
        elif task_id in self.tasks().instances:
            name = self._split_of.get(task_id, "all")
            return Task(task_id, "coding", name, BUDGET, {"instance": task_id, "set": str(self.tasks().folder)})
        raise DataError(f"Expected a task of coding, got {task_id!r}.", hint="`camg tasks show coding ID` shows one.")

    def workspace(self, task: Task) -> Workspace:
        """The repository with the bug and without history, or the image that holds it.

        Raises :class:`DataError` for a task without either.
        """
        if task.payload.get("style") == "pocket":
            return pocket.workspace(task)
        tasks, instance = self.tasks(), self._instance(task)
        if instance.profile not in tasks.profiles and instance.image_name:
            return Workspace(image=instance.image_name)
        base = public_tree(tasks, instance, git=self.config.git)
        return workspace(tasks, tasks.profile(instance), base, image=instance.image_name)

    def open(self, task: Task, box: Box, boxes: Boxes) -> CodingSession:
        """Start an episode."""
        if task.payload.get("style") == "pocket":
            return pocket.open_session(task, box, boxes)
        tasks, instance = self.tasks(), self._instance(task)
        profile = tasks.profiles.get(instance.profile)
        if profile is None:
            raise BackendUnavailable(
                f"{instance.instance_id} needs the container image {instance.image_name}, which cannot be run here",
                hint="Choose a sandbox that starts images, or build the repository: `camg tasks build coding --help`.",
            )

        def judge() -> Grade:
            base = public_tree(tasks, instance, git=self.config.git)
            submission = collect(box, base, profile, tasks.packages(profile))
            return grade(tasks, instance, submission, boxes, seconds=self.config.grading_seconds)

        return CodingSession(FullTexts(instance, profile, task.budget), judge)

    def _instance(self, task: Task) -> Instance:
        name = str(task.payload.get("instance", ""))
        instances = self.tasks().instances
        if name not in instances:
            raise DataError(f"Expected a task of coding's task set, got {task.id!r}.")
        return instances[name]


def _embedded() -> TaskSet:
    from camg_coding.build.embedded import embedded_set  # the builder is needed for the default set alone

    return embedded_set()
