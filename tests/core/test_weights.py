"""Versioned weights: whole or absent, checked, pruned, followed; a full disk, damage, lost races, tied tensors."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from camg import weights
from camg.errors import BackendUnavailable, CorruptState
from camg.weights import follow, latest, load, publish, read, whole, withdraw, write

torch.set_num_threads(1)


def state(value: float = 1.0) -> dict[str, torch.Tensor]:
    return {"a.weight": torch.full((3, 4), value), "b": torch.arange(5)}


def names(folder) -> list[str]:
    return sorted(os.listdir(folder))


def test_what_is_published_comes_back_bit_for_bit(tmp_path) -> None:
    tensors = {
        "fp32": torch.randn(3, 4),
        "bf16": torch.randn(7).bfloat16(),
        "ids": torch.tensor([-1, 2**40]),
        "flag": torch.tensor([True, False]),
        "scalar": torch.tensor(2.5, dtype=torch.float64),
        "nothing": torch.zeros(0, 3),
        "turned": torch.randn(4, 6).T,
        "grad": torch.randn(2, requires_grad=True),
    }
    publish(tmp_path, tensors, 7)
    found = load(tmp_path, 7)
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert found[name].dtype == tensor.dtype
        assert torch.equal(found[name], tensor)
    assert not found["grad"].requires_grad


def test_tied_tensors_are_stored_once_and_come_back_tied(tmp_path) -> None:
    table = torch.randn(100, 50)
    path = publish(tmp_path, {"embed": table, "head": table, "row": table[3], "half": table[:50]}, 1)
    assert path.stat().st_size < 1.7 * table.nbytes
    found = load(tmp_path, 1)
    assert found["head"].data_ptr() == found["embed"].data_ptr()
    assert torch.equal(found["row"], table[3])
    assert torch.equal(found["half"], table[:50])


def test_the_newest_version_is_the_highest_number(tmp_path) -> None:
    assert latest(tmp_path / "none") is None
    assert latest(tmp_path) is None
    for version in (9, 10, 100_000_000, 11):
        publish(tmp_path, state(version), version, keep=9)
    (tmp_path / "weights-99.safetensors").write_bytes(b"no name of ours")
    (tmp_path / ".weights-00000200.safetensors.1.tmp").write_bytes(b"half")
    assert latest(tmp_path) == 100_000_000


def test_only_the_newest_are_kept(tmp_path) -> None:
    for version in range(5):
        publish(tmp_path, state(version), version, keep=2)
    assert names(tmp_path) == ["weights-00000003.safetensors", "weights-00000004.safetensors"]
    publish(tmp_path, state(), 5, keep=0)
    assert names(tmp_path) == ["weights-00000005.safetensors"]


def test_withdrawn_versions_are_gone(tmp_path) -> None:
    for version in range(4):
        publish(tmp_path, state(version), version, keep=9)
    assert withdraw(tmp_path, newer_than=1) == 2
    assert latest(tmp_path) == 1
    assert withdraw(tmp_path / "none", newer_than=0) == 0


@pytest.fixture(scope="module")
def content(tmp_path_factory) -> bytes:
    return publish(tmp_path_factory.mktemp("whole"), state(), 1).read_bytes()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, 10_000), bit=st.integers(0, 7))
def test_any_flipped_bit_is_recognised(tmp_path, content, place, bit) -> None:
    damaged = bytearray(content)
    damaged[place % len(content)] ^= 1 << bit
    path = tmp_path / "weights-00000001.safetensors"
    path.write_bytes(damaged)
    with pytest.raises(CorruptState, match=r"weights-00000001\.safetensors"):
        load(tmp_path, 1)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(length=st.integers(0, 10_000))
def test_any_truncation_is_recognised_also_without_reading_the_tensors(tmp_path, content, length) -> None:
    path = tmp_path / "weights-00000001.safetensors"
    path.write_bytes(content[: length % len(content)])
    assert not whole(path)
    with pytest.raises(CorruptState, match=r"weights-00000001\.safetensors"):
        load(tmp_path, 1)
    path.write_bytes(content)
    assert whole(path)


@pytest.mark.parametrize("junk", [b"", b"\xff" * 64, b"PK\x03\x04" + b"x" * 100, (2).to_bytes(8, "little") + b"[]"])
def test_what_is_no_weight_file_is_named(tmp_path, junk) -> None:
    path = tmp_path / "weights-00000001.safetensors"
    path.write_bytes(junk)
    assert not whole(path)
    with pytest.raises(CorruptState, match=r"weights-00000001\.safetensors"):
        load(tmp_path, 1)


def test_a_foreign_safetensors_file_is_refused(tmp_path) -> None:
    from safetensors.torch import save_file

    save_file(state(), tmp_path / "weights-00000001.safetensors")
    with pytest.raises(CorruptState, match="expected SHA-256 None"):
        load(tmp_path, 1)


def test_a_missing_version_is_named(tmp_path) -> None:
    with pytest.raises(CorruptState, match=r"weights-00000003\.safetensors"):
        load(tmp_path, 3)


def test_a_full_disk_leaves_what_was_there(tmp_path) -> None:
    """The limit on file size stands for the disk: it refuses halfway."""
    publish(tmp_path, state(), 1)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(BackendUnavailable, match=r"Cannot write .*weights-00000002"):
            publish(tmp_path, {"large": torch.zeros(10_000)}, 2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert names(tmp_path) == ["weights-00000001.safetensors"]
    assert torch.equal(load(tmp_path, 1)["a.weight"], state()["a.weight"])


def test_rewriting_a_file_is_all_or_nothing(tmp_path) -> None:
    path = tmp_path / "x.safetensors"
    write(path, state(1), {"who": "one"})
    write(path, state(2), {"who": "two"})
    tensors, metadata = read(path)
    assert metadata == {"who": "two"}
    assert float(tensors["a.weight"][0, 0]) == 2
    assert names(tmp_path) == ["x.safetensors"]


def test_halves_of_dead_writers_are_swept_and_those_of_live_ones_stay(tmp_path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    (tmp_path / f".weights-00000001.safetensors.{dead.pid}.tmp").write_bytes(b"half")
    mine = tmp_path / f".weights-00000009.safetensors.{os.getpid()}.tmp"
    mine.write_bytes(b"half")
    publish(tmp_path, state(), 2)
    assert names(tmp_path) == [mine.name, "weights-00000002.safetensors"]


def test_following_gives_what_is_newer_and_nothing_else(tmp_path) -> None:
    assert follow(tmp_path) is None
    publish(tmp_path, state(3), 3)
    version, tensors = follow(tmp_path)
    assert version == 3
    assert float(tensors["a.weight"][0, 0]) == 3
    assert follow(tmp_path, newer_than=3) is None
    assert follow(tmp_path, newer_than=2)[0] == 3


def test_a_reader_that_loses_the_race_with_pruning_takes_the_newest(tmp_path, monkeypatch) -> None:
    publish(tmp_path, state(1), 1)
    inner = weights.load

    def late(folder, version):
        if version == 1:
            publish(tmp_path, state(2), 2, keep=1)
        return inner(folder, version)

    monkeypatch.setattr(weights, "load", late)
    assert follow(tmp_path)[0] == 2


def test_a_damaged_newest_version_is_no_race(tmp_path) -> None:
    publish(tmp_path, state(1), 1)
    publish(tmp_path, state(2), 2).write_bytes(b"rotten")
    with pytest.raises(CorruptState):
        follow(tmp_path)


def test_readers_beside_a_writer_see_whole_versions_in_order(tmp_path) -> None:
    publish(tmp_path, state(0), 0, keep=1)
    seen, faults = [0], []

    def reader() -> None:
        try:
            while seen[-1] < 60:
                found = follow(tmp_path, newer_than=seen[-1])
                if found:
                    assert float(found[1]["a.weight"][2, 3]) == found[0]
                    seen.append(found[0])
        except Exception as error:
            faults.append(error)

    thread = threading.Thread(target=reader, daemon=True)
    thread.start()
    for version in range(1, 61):
        publish(tmp_path, state(version), version, keep=1)
    thread.join(timeout=30)
    assert not faults
    assert seen == sorted(set(seen))
    assert seen[-1] == 60


def test_looking_for_the_newest_version_imports_no_torch(tmp_path) -> None:
    publish(tmp_path, state(), 4)
    code = """
import pathlib, sys
from camg.weights import latest
print(latest(pathlib.Path(sys.argv[1])), "torch" in sys.modules)
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "4 False\n"
