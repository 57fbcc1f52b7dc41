"""The durable queue: order, atomic claims, faults, corruption, full disks, speed; its invariants as a state machine."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from camg.errors import BackendUnavailable, CorruptState
from camg.rollout.owner import Owner, start_time
from camg.rollout.queue import LOSSES, Queue, State
from camg.rollout.recover import rebuild
from camg.rollout.schedule import Schedule
from camg.types import Episode

Make = Callable[..., Episode]
ME = Owner.me("test")
DEAD = Owner("dead", 2**22 + 1, 12345)


def schedule(group_size: int = 1) -> Schedule:
    return Schedule(0, {"maze": [f"task-{i}" for i in range(50)]}, group_size)


def filled(folder: Path, count: int, group_size: int = 1, reruns: int = 2) -> Queue:
    queue = Queue(folder, reruns=reruns, create=True)
    queue.enqueue(schedule(group_size).entries(0, count))
    return queue


def finish(queue: Queue, make: Make, *ids: int) -> None:
    """Claim everything up to the last id and complete those asked for; the rest is given back."""
    while (dispatch := queue.claim(ME)) is not None:
        if dispatch.id in ids:
            assert queue.complete(ME, make(dispatch.id, group=dispatch.group))
    queue.release(ME)


# ---------------------------------------------------------------- order
def test_claims_come_in_dispatch_order(tmp_path: Path) -> None:
    queue = filled(tmp_path, 5)
    claimed = [queue.claim(ME) for _ in range(6)]
    assert [d.id for d in claimed if d] == [0, 1, 2, 3, 4]
    assert claimed[-1] is None
    assert claimed[2] == schedule().entry(2)


def test_take_waits_for_n_and_gives_the_earliest_dispatched(tmp_path: Path, make_episode: Make) -> None:
    queue = filled(tmp_path, 6)
    finish(queue, make_episode, 5, 1)
    assert queue.take(3) is None
    finish(queue, make_episode, 4, 2)
    assert [e.id for e in queue.take(3) or []] == [1, 2, 4]
    assert queue.take(3) is not None  # taking changes nothing until mark_used
    queue.mark_used([1, 2, 4], update=1)
    assert queue.take(1) == [make_episode(5)]
    assert queue.outstanding() == 3


def test_take_waits_for_whole_groups(tmp_path: Path, make_episode: Make) -> None:
    queue = filled(tmp_path, 6, group_size=2)
    finish(queue, make_episode, 0, 2, 3, 4)
    assert queue.ready() == 2
    assert queue.take(4) is None
    assert [e.id for e in queue.take(2) or []] == [2, 3]


# ---------------------------------------------------------------- claims
CLAIM_ALL = """
import json, sys
from pathlib import Path
from camg.rollout.owner import Owner
from camg.rollout.queue import Queue
queue, ids = Queue(Path(sys.argv[1])), []
while (dispatch := queue.claim(Owner.me("other"))) is not None:
    ids.append(dispatch.id)
print(json.dumps(ids))
"""


def test_no_two_processes_or_threads_get_the_same_episode(tmp_path: Path) -> None:
    queue = filled(tmp_path, 300)
    other = subprocess.Popen([sys.executable, "-c", CLAIM_ALL, str(tmp_path)], stdout=subprocess.PIPE)
    mine: list[int] = []

    def claim() -> None:
        while (dispatch := queue.claim(ME)) is not None:
            mine.append(dispatch.id)
            time.sleep(0.005)

    threads = [threading.Thread(target=claim) for _ in range(4)]
    for thread in threads:
        thread.start()
    theirs = json.loads(other.communicate(timeout=60)[0])
    for thread in threads:
        thread.join()
    assert sorted(mine + theirs) == list(range(300))


def test_only_the_holder_of_a_claim_can_hand_in(tmp_path: Path, make_episode: Make) -> None:
    queue = filled(tmp_path, 1)
    queue.claim(DEAD)
    assert not queue.complete(ME, make_episode(0))
    assert not queue.fault(ME, 0, "no")
    assert not queue.store.has(0)
    assert list(queue.store.folder.iterdir()) == []  # nothing staged is left


def test_claims_of_the_dead_are_released_those_of_the_living_kept(tmp_path: Path) -> None:
    queue = filled(tmp_path, 3)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        living = Owner("child", child.pid, start_time(child.pid))
        queue.claim(living)
        queue.claim(DEAD)
        queue.claim(Owner("reused pid", living.pid, living.started - 1))
        assert queue.release_dead() == 2
        assert queue.states() == {0: State.CLAIMED, 1: State.DISPATCHED, 2: State.DISPATCHED}
        child.kill()
    assert queue.release_dead() == 1


def test_an_episode_that_was_in_place_when_its_worker_died_is_not_lost(tmp_path: Path, make_episode: Make) -> None:
    queue = filled(tmp_path, 2)
    queue.claim(DEAD)
    queue.claim(DEAD)
    queue.store.write(make_episode(0))  # killed between the rename and the commit
    queue.store.path(1).write_bytes(b"half")
    queue.release_dead()
    assert queue.states() == {0: State.COMPLETE, 1: State.DISPATCHED}


def test_an_episode_that_keeps_killing_its_worker_is_given_up(tmp_path: Path) -> None:
    queue = filled(tmp_path, 1, reruns=0)
    for _ in range(LOSSES):
        assert queue.claim(DEAD)
        queue.release_dead()
    assert queue.claim(DEAD) is None
    assert "died 10 times" in queue.faults()[0]


# ---------------------------------------------------------------- faults
def test_a_fault_is_rerun_twice_then_left_out_with_its_group(tmp_path: Path, make_episode: Make) -> None:
    queue = filled(tmp_path, 4, group_size=2)
    finish(queue, make_episode, 1)
    for again in (True, True, False):
        dispatch = queue.claim(ME)
        assert dispatch == schedule(2).entry(0)  # the same settings each time
        assert queue.fault(ME, 0, "judge unreachable") is again
    assert queue.states() == {0: State.FAULTED, 1: State.DROPPED, 2: State.DISPATCHED, 3: State.DISPATCHED}
    assert queue.faults() == {0: "judge unreachable"}
    assert queue.outstanding() == 2  # the dispatcher sees the gap and sends the next group
    assert queue.next_id() == 4


def test_a_member_of_a_dropped_group_that_still_runs_is_discarded(tmp_path: Path, make_episode: Make) -> None:
    queue = filled(tmp_path, 2, group_size=2, reruns=0)
    queue.claim(ME)
    queue.claim(ME)
    queue.fault(ME, 0, "gone")
    assert not queue.complete(ME, make_episode(1, group=0))
    assert queue.states()[1] == State.DROPPED


def test_an_outage_is_counted_until_something_completes(tmp_path: Path, make_episode: Make) -> None:
    queue = filled(tmp_path, 3)
    assert queue.outage() is None
    for _ in range(2):
        queue.claim(ME)
        queue.fault(ME, 0, "no sandbox")
    outage = queue.outage()
    assert outage
    assert (outage.faults, outage.error) == (2, "no sandbox")
    finish(queue, make_episode, 1)
    assert queue.outage() is None


# ---------------------------------------------------------------- resume
def test_the_checkpoint_is_the_truth_about_what_was_used(tmp_path: Path, make_episode: Make) -> None:
    queue = filled(tmp_path, 6)
    finish(queue, make_episode, 0, 1, 2, 3)
    queue.mark_used([0, 1, 2], update=1)
    assert queue.reconcile({0: 1, 1: 1, 3: 1}) == (1, 1)
    assert queue.states() == {
        0: State.USED,
        1: State.USED,
        2: State.COMPLETE,
        3: State.USED,
        4: State.DISPATCHED,
        5: State.DISPATCHED,
    }


def test_a_closed_queue_opens_as_it_was(tmp_path: Path, make_episode: Make) -> None:
    queue = filled(tmp_path, 4)
    finish(queue, make_episode, 0, 2)
    before = queue.states()
    queue.close()
    again = Queue(tmp_path)
    assert again.states() == before
    assert again.take(2) == [make_episode(0), make_episode(2)]


@pytest.mark.parametrize("damage", ["empty", "garbage", "truncated", "missing"])
def test_a_damaged_index_is_named_with_its_remedy_and_rebuilt(tmp_path: Path, make_episode: Make, damage: str) -> None:
    queue = filled(tmp_path, 200)
    finish(queue, make_episode, 0, 1, 2, 4)
    queue.mark_used([0, 1], update=1)
    queue.store.path(4).write_bytes(queue.store.path(4).read_bytes()[:-9])
    queue.close()
    index = tmp_path / "queue.db"
    size = index.stat().st_size
    match damage:
        case "empty":
            index.write_bytes(b"")
        case "garbage":
            index.write_bytes(b"\xff" * size)
        case "truncated":
            index.write_bytes(index.read_bytes()[: size // 2])
        case _:
            index.unlink()
    with pytest.raises(CorruptState, match=r"queue\.db.*\n.*--resume"):
        Queue(tmp_path).take(1)
    again, found = rebuild(tmp_path, schedule(), {0: 1, 1: 1}, reruns=2)
    assert (found.used, found.complete, found.rerun, found.damaged) == (2, 1, 2, 1)
    states = again.states()
    assert states == {0: State.USED, 1: State.USED, 2: State.COMPLETE, 3: State.DISPATCHED, 4: State.DISPATCHED}
    assert damage == "missing" or (found.aside is not None and found.aside.exists())
    assert "rebuilt the queue index" in str(found)


@pytest.mark.parametrize("damage", [b"", b"not gzip", "cut", "other"])
def test_a_damaged_episode_is_set_aside_counted_and_run_again(
    tmp_path: Path, make_episode: Make, damage: bytes | str
) -> None:
    queue = filled(tmp_path, 2)
    finish(queue, make_episode, 0, 1)
    path = queue.store.path(0)
    if damage == "cut":
        damage = path.read_bytes()[:-12]
    elif damage == "other":
        damage = queue.store.path(1).read_bytes()
    path.write_bytes(damage if isinstance(damage, bytes) else b"")
    assert queue.take(2) is None
    assert queue.damaged() == 1
    assert (tmp_path / "episodes" / "corrupt" / path.name).exists()
    finish(queue, make_episode, 0)
    assert [e.id for e in queue.take(2) or []] == [0, 1]


# ---------------------------------------------------------------- disk
def test_a_full_disk_loses_nothing(tmp_path: Path, make_episode: Make) -> None:
    """SQLite's own page limit raises what a full disk raises."""
    queue = filled(tmp_path, 5)
    finish(queue, make_episode, 0)
    pages = queue._database.read("PRAGMA page_count")[0][0]
    queue._database.read(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(BackendUnavailable, match=r"(?s)queue\.db.*--resume"):
        queue.enqueue(schedule().entries(5, 5000))
    assert queue.next_id() == 5
    assert queue.take(1) == [make_episode(0)]


def test_a_full_disk_under_the_episodes_is_named(tmp_path: Path, make_episode: Make) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting a tmpfs needs root")
    try:
        queue = filled(tmp_path / "cell", 2)
        shutil.rmtree(queue.store.folder)
        queue.store.folder.symlink_to(disk)
        dispatch = queue.claim(ME)
        assert dispatch
        with (disk / "filler").open("wb", buffering=0) as filler, contextlib.suppress(OSError):
            while True:
                filler.write(b"x" * 4096)
        with pytest.raises(BackendUnavailable, match="disk is full"):
            queue.complete(ME, make_episode(0))
        assert queue.states()[0] == State.CLAIMED
        (disk / "filler").unlink()
        assert queue.complete(ME, make_episode(0))
    finally:
        subprocess.run(["umount", str(disk)], check=True)


# ---------------------------------------------------------------- speed
def test_enqueue_and_claim_are_quick_in_a_long_run(tmp_path: Path, make_episode: Make) -> None:
    queue = filled(tmp_path, 20_000)
    plan = schedule()
    plan.entry(20_200)  # the schedule's own first look is no part of it
    with queue._database.change() as connection:
        connection.execute("UPDATE episodes SET state = 'used' WHERE id < 19000")

    def median(call: Callable[[int], object]) -> float:
        spent = []
        for i in range(100):
            began = time.perf_counter()
            call(i)
            spent.append(time.perf_counter() - began)
        return statistics.median(spent)

    assert median(lambda i: queue.enqueue([plan.entry(20_000 + i)])) < 2e-3
    assert median(lambda _: queue.claim(ME)) < 2e-3
    assert median(lambda _: queue.ready()) < 2e-3


# ---------------------------------------------------------------- invariants
class QueueMachine(RuleBasedStateMachine):
    """Any order of claims, completions, faults, losses, updates and resumes, against a model in plain Python."""

    GROUP = 2

    def __init__(self) -> None:
        super().__init__()
        from importlib import util

        spec = util.spec_from_file_location("rollout_conftest", Path(__file__).with_name("conftest.py"))
        assert spec
        assert spec.loader
        module = util.module_from_spec(spec)
        spec.loader.exec_module(module)
        self.make = module._episode
        self.folder = Path(tempfile.mkdtemp())
        self.queue = Queue(self.folder, reruns=1, create=True)
        self.schedule = schedule(self.GROUP)
        self.claimed: dict[int, Owner] = {}
        self.completed: set[int] = set()  # what the queue has ever accepted
        self.checkpoint: dict[int, int] = {}
        self.update = 0

    @rule(groups=st.integers(1, 3))
    def dispatch(self, groups: int) -> None:
        start = self.queue.next_id()
        self.queue.enqueue(self.schedule.entries(start, groups * self.GROUP))

    @rule(dead=st.booleans())
    def claim(self, dead: bool) -> None:
        waiting = sorted(i for i, s in self.queue.states().items() if s is State.DISPATCHED)
        owner = DEAD if dead else ME
        found = self.queue.claim(owner)
        assert (found.id if found else None) == (waiting[0] if waiting else None)
        if found:
            assert found == self.schedule.entry(found.id)
            self.claimed[found.id] = owner

    @rule(data=st.data())
    def complete(self, data: st.DataObject) -> None:
        if not self.claimed:
            return
        episode = data.draw(st.sampled_from(sorted(self.claimed)))
        owner = self.claimed.pop(episode)
        held = self.queue.states()[episode] is State.CLAIMED
        accepted = self.queue.complete(owner, self.make(episode, group=episode // self.GROUP))
        assert accepted is held
        if accepted:
            self.completed.add(episode)

    @rule(data=st.data())
    def fault(self, data: st.DataObject) -> None:
        if not self.claimed:
            return
        episode = data.draw(st.sampled_from(sorted(self.claimed)))
        self.queue.fault(self.claimed.pop(episode), episode, "broken")

    @rule()
    def lose_the_dead(self) -> None:
        self.queue.release_dead()
        self.claimed = {e: o for e, o in self.claimed.items() if o is not DEAD}

    @rule(groups=st.integers(1, 2), recorded=st.booleans())
    def learn(self, groups: int, recorded: bool) -> None:
        episodes = self.queue.take(groups * self.GROUP)
        if episodes is None:
            return
        ids = [e.id for e in episodes]
        assert ids == sorted(ids)
        assert not set(ids) & set(self.checkpoint)
        complete = [i for i, s in self.queue.states().items() if s is State.COMPLETE]
        whole = [i for i in complete if {i // 2 * 2, i // 2 * 2 + 1} <= set(complete)]
        assert ids == sorted(whole)[: len(ids)]
        self.update += 1
        if recorded:  # killed between the checkpoint and the mark otherwise
            self.queue.mark_used(ids, self.update)
        self.checkpoint |= dict.fromkeys(ids, self.update)
        if not recorded:
            self.resume()

    @rule()
    def kill_before_the_checkpoint(self) -> None:
        """The index says used, the checkpoint does not: complete again."""
        episodes = self.queue.take(self.GROUP)
        if episodes is not None:
            self.queue.mark_used([e.id for e in episodes], self.update + 1)
        self.resume()

    @rule()
    def resume(self) -> None:
        self.queue.close()
        self.queue = Queue(self.folder, reruns=1)
        self.queue.release_dead()
        self.queue.release(ME)
        self.claimed.clear()
        self.queue.reconcile(self.checkpoint)

    @invariant()
    def holds(self) -> None:
        states = self.queue.states()
        assert sorted(states) == list(range(len(states)))  # the schedule has no gap
        assert {i for i, s in states.items() if s is State.USED} == set(self.checkpoint)
        faulted = {i // 2 for i, s in states.items() if s is State.FAULTED}
        left_out = {i for i, s in states.items() if s in (State.FAULTED, State.DROPPED)}
        assert left_out == {i for i in states if i // 2 in faulted}
        kept = {i for i, s in states.items() if s in (State.COMPLETE, State.USED)}
        assert kept == {i for i in self.completed if i not in left_out}  # nothing complete is ever lost
        assert set(self.queue.faults()) == {i for i, s in states.items() if s is State.FAULTED}

    def teardown(self) -> None:
        self.queue.close()
        shutil.rmtree(self.folder)


QueueMachine.TestCase.settings = settings(
    max_examples=25, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
TestQueueInvariants = QueueMachine.TestCase


def test_a_foreign_database_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "queue.db") as connection:
        connection.execute("CREATE TABLE something (x)")
    with pytest.raises(CorruptState, match=r"queue\.db"):
        Queue(tmp_path)
