"""Checkpoints: exact resume, atomicity, damage, a full disk."""

from __future__ import annotations

import os
import random
import resource
import shutil
import subprocess
import sys
import textwrap

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from learn_tiny import networks, rollout

from camg.errors import BackendUnavailable, CorruptState
from camg.learn import checkpoint
from camg.learn.learner import Learner
from camg.settings import LearnerSettings
from camg.specs import EstimatorSpec
from camg.weights import publish
from camg_estimators.config import GaeConfig
from camg_estimators.response_gae import ResponseGae

torch.set_num_threads(1)


def make(*, needs_critic=True) -> Learner:
    spec = EstimatorSpec(name="response-gae", summary="", factory="", needs_critic=needs_critic)
    settings = LearnerSettings(actor_lr=1e-2, critic_lr=1e-2, minibatch_responses=8, micro_tokens=64)
    actor, critic = networks()
    return Learner(actor, critic, ResponseGae(GaeConfig()), spec=spec, settings=settings)


@pytest.fixture(scope="module")
def batches():
    actor, _ = networks()
    return [[rollout(actor, 10 * update + number) for number in range(3)] for update in range(5)]


def same(one: torch.nn.Module, two: torch.nn.Module) -> bool:
    theirs = two.state_dict()
    return all(torch.equal(tensor, theirs[name]) for name, tensor in one.state_dict().items())


def test_k_updates_save_load_m_updates_are_k_plus_m_updates(tmp_path, batches) -> None:
    through = make()
    expected = [through.update(batch) for batch in batches]
    first = make()
    for batch in batches[:2]:
        first.update(batch)
    path = checkpoint.save(tmp_path, first, {"schedule": 17})
    drawn = (random.random(), torch.rand(3).tolist())
    second = make()
    second.update(batches[4])  # anything but a fresh start: loading must overwrite all of it
    assert checkpoint.load(path, second) == {"schedule": 17}
    assert (random.random(), torch.rand(3).tolist()) == drawn
    assert second.used == {item.id for batch in batches[:2] for item in batch}
    resumed = [second.update(batch) for batch in batches[2:]]
    for mine, theirs in zip(resumed, expected[2:], strict=True):
        assert (mine.update, mine.version, mine.metrics) == (theirs.update, theirs.version, theirs.metrics)
    assert same(through.actor, second.actor)
    assert same(through.critic, second.critic)


def test_without_a_critic(tmp_path, batches) -> None:
    one = make(needs_critic=False)
    one.update(batches[0])
    two = make(needs_critic=False)
    checkpoint.load(checkpoint.save(tmp_path, one), two)
    assert one.update(batches[1]).metrics == two.update(batches[1]).metrics


def test_only_the_newest_are_kept_and_the_summary_tells_them_apart(tmp_path, batches) -> None:
    learner = make()
    assert checkpoint.latest(tmp_path / "none") is None
    for batch in batches:
        learner.update(batch)
        checkpoint.save(tmp_path, learner, {"at": learner.updates}, keep=2)
    assert sorted(os.listdir(tmp_path)) == ["update-00000004.safetensors", "update-00000005.safetensors"]
    found = checkpoint.summary(checkpoint.latest(tmp_path))
    assert (found["update"], found["version"], found["extra"]) == (5, 5, {"at": 5})
    assert found["used"] == [10 * update + number for update in range(5) for number in range(3)]


def test_a_torn_file_is_passed_over_and_a_damaged_one_is_named(tmp_path, batches) -> None:
    learner = make()
    for batch in batches[:2]:
        learner.update(batch)
        checkpoint.save(tmp_path, learner, keep=3)
    whole = checkpoint.latest(tmp_path)
    torn = tmp_path / "update-00000003.safetensors"
    torn.write_bytes(whole.read_bytes()[:-1])
    (tmp_path / ".update-00000009.safetensors.1.tmp").write_bytes(b"half")
    assert checkpoint.latest(tmp_path) == whole
    with pytest.raises(CorruptState, match=torn.name):
        checkpoint.load(torn, make())
    with pytest.raises(CorruptState, match=rf"{torn.name}[^$]*after update 2"):
        checkpoint.refuse_torn(tmp_path)
    torn.unlink()
    checkpoint.refuse_torn(tmp_path)
    for place in (40, whole.stat().st_size // 2, whole.stat().st_size - 1):
        data = bytearray(whole.read_bytes())
        data[place] ^= 1
        damaged = tmp_path / "damaged.safetensors"
        damaged.write_bytes(data)
        target = make()
        with pytest.raises(CorruptState, match=r"damaged\.safetensors"):
            checkpoint.load(damaged, target)
        assert target.updates == 0
        assert same(target.actor, make().actor)


def test_a_checkpoint_of_another_model_is_refused(tmp_path) -> None:
    path = checkpoint.save(tmp_path, make())
    other = make()
    other.actor.bias = torch.nn.Parameter(torch.zeros(7))
    with pytest.raises(CorruptState, match=r"another model.*'bias'"):
        checkpoint.load(path, other)


def test_a_critic_too_many_or_too_few_is_refused(tmp_path) -> None:
    with pytest.raises(CorruptState, match="expected no critic, got one"):
        checkpoint.load(checkpoint.save(tmp_path / "one", make()), make(needs_critic=False))
    with pytest.raises(CorruptState, match="another model: expected the critic's"):
        checkpoint.load(checkpoint.save(tmp_path / "none", make(needs_critic=False)), make())


def test_a_file_size_limit_leaves_the_old_checkpoint(tmp_path) -> None:
    """A disk that refuses halfway, where no small file system can be mounted: the limit on file size."""
    learner = make()
    old = checkpoint.save(tmp_path, learner)
    content = old.read_bytes()
    learner.updates = 1
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(content) // 2, limits[1]))
    try:
        with pytest.raises(BackendUnavailable, match="Cannot write"):
            checkpoint.save(tmp_path, learner)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [path.name for path in tmp_path.iterdir()] == [old.name]
    assert old.read_bytes() == content
    checkpoint.load(checkpoint.latest(tmp_path), make())


def test_weights_are_no_checkpoint(tmp_path) -> None:
    with pytest.raises(CorruptState, match="is no checkpoint"):
        checkpoint.load(publish(tmp_path, make().weights(), 3), make())


FULL = """
import pathlib, sys
sys.path.insert(0, {tests!r})
from test_learner_checkpoint import make
from camg.errors import BackendUnavailable
from camg.learn import checkpoint

folder = pathlib.Path({folder!r})
learner = make()
old = checkpoint.save(folder, learner)
content = old.read_bytes()
(folder / "filler").write_bytes(b"x" * (400 * 1024 - 2 * len(content)))
learner.updates = 1
try:
    checkpoint.save(folder, learner)
except BackendUnavailable as error:
    if "Cannot write" in error.message and old.read_bytes() == content and checkpoint.latest(folder) == old:
        print("refused", sorted(path.name for path in folder.iterdir()))
"""


def test_a_full_disk_leaves_the_old_checkpoint(tmp_path) -> None:
    """On a really full file system, mounted in a namespace of its own."""
    mountable = "mount -t tmpfs -o size=400k tmpfs"
    small = tmp_path / "small"
    small.mkdir()
    unshare = shutil.which("unshare")
    if (
        not unshare
        or subprocess.run([unshare, "-rm", "sh", "-c", f"{mountable} {small}"], capture_output=True).returncode
    ):
        pytest.skip("this machine lets us mount no small file system")
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(FULL.format(tests=os.path.dirname(__file__), folder=str(small))))
    command = f"{mountable} {small} && exec {sys.executable} {script}"
    done = subprocess.run([unshare, "-rm", "sh", "-c", command], capture_output=True, text=True, timeout=120)
    assert done.stdout == "refused ['filler', 'update-00000000.safetensors']\n", done.stdout + done.stderr


def test_a_folder_that_cannot_be_written_is_a_backend_error(tmp_path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("not a folder")
    with pytest.raises(BackendUnavailable, match="Cannot write"):
        checkpoint.save(blocker, make())


@given(st.sets(st.integers(0, 300)))
def test_ids_survive_their_short_form(numbers) -> None:
    assert set(checkpoint._numbers(checkpoint._ranges(numbers))) == numbers


def test_ids_are_short() -> None:
    assert checkpoint._ranges({0, 1, 2, 5, 7, 8}) == "0-2,5,7-8"
