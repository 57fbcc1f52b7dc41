"""Slots: results are handed over exactly once, a hang is evicted with its stack, one error harms nobody else."""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import Any

import pytest

from camg.errors import InfrastructureFault
from camg.rollout.pool import Pool


def finish(pool: Pool[Any, Any], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while pool.busy:
        assert time.monotonic() < deadline
        pool.wait(0.05)
        pool.evict()


def test_every_result_is_handed_over_once_and_slots_bound_the_work() -> None:
    running, most = [0], [0]
    lock = threading.Lock()
    seen: Counter[int] = Counter()

    def run(job: int) -> int:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.002)
        with lock:
            running[0] -= 1
        if job % 5 == 0:
            raise ValueError(job)
        return job * job

    def done(job: int, result: Any) -> None:
        seen[job] += 1
        assert isinstance(result, ValueError) if job % 5 == 0 else result == job * job

    pool: Pool[int, int] = Pool(4, run, done, deadline=60)
    for job in range(60):
        while not pool.free:
            pool.wait(0.1)
        pool.submit(job)
    finish(pool)
    pool.check()
    assert seen == Counter(range(60))
    assert most[0] <= 4


def test_a_hang_is_evicted_refilled_and_diagnosed() -> None:
    release = threading.Event()
    results: dict[str, Any] = {}

    def hang_here() -> None:
        release.wait()

    def run(job: str) -> str:
        if job == "hangs":
            hang_here()
        return job

    pool: Pool[str, str] = Pool(1, run, results.__setitem__, deadline=0.1)
    pool.submit("hangs")
    while not pool.free:
        pool.wait(0.02)
        pool.evict()
    pool.submit("next")
    finish(pool)
    assert isinstance(results["hangs"], InfrastructureFault)
    assert "0.1 s" in str(results["hangs"])
    assert "hang_here" in str(results["hangs"])
    assert results["next"] == "next"
    assert pool.stuck == 1
    fault = results["hangs"]
    release.set()  # what the thread returns at last is discarded
    deadline = time.monotonic() + 5
    while pool.stuck:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert results["hangs"] is fault


def test_an_error_of_the_receiver_is_kept_and_stops_nothing() -> None:
    received = []

    def done(job: int, result: Any) -> None:
        received.append(job)
        if job == 1:
            raise OSError("disk full")

    pool: Pool[int, int] = Pool(2, lambda job: job, done, deadline=60)
    for job in range(4):
        while not pool.free:
            pool.wait(0.1)
        pool.submit(job)
    finish(pool)
    assert sorted(received) == [0, 1, 2, 3]
    with pytest.raises(OSError, match="disk full"):
        pool.check()


def test_what_is_abandoned_is_never_handed_over() -> None:
    release, received = threading.Event(), []
    pool: Pool[int, bool] = Pool(2, lambda job: release.wait(), lambda job, result: received.append(job), deadline=60)
    pool.submit(7)
    assert pool.abandon() == [7]
    assert not pool.busy
    release.set()
    time.sleep(0.05)
    assert received == []
