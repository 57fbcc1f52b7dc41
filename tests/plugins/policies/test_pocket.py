"""The embedded policy: the shipped artefact, its tokenizer in the real loop, and the warm start that makes it."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from pathlib import Path

import attrs
import pytest
import torch
from click.testing import CliRunner

from camg.errors import BackendUnavailable, CorruptState, UsageError
from camg.plugins import load_registry
from camg.testing import FolderSandbox, check_policy
from camg.types import Message, Sampling, TurnKind
from camg_policies import camg_validate_run
from camg_policies.config import POCKET_PROFILE, PocketConfig
from camg_policies.pocket.build import build
from camg_policies.pocket.commands import pocket
from camg_policies.pocket.corpus import Stage, examples_of, texts_of
from camg_policies.pocket.policy import PocketPolicy, load_codec
from camg_policies.pocket.recipe import Recipe
from camg_policies.pocket.warmed import ARTEFACT, FILES, artefact_folder, load_recipe, shipped
from camg_policies.pocket.warmstart import WarmStartFailed, batches, copying

torch.set_num_threads(1)

WARMED = [name for name in load_registry().names("memory") if load_registry().spec("memory", name).pocket]


@pytest.fixture(scope="module")
def policy() -> PocketPolicy:
    return PocketPolicy(PocketConfig())


@pytest.fixture(scope="module")
def stage() -> Stage:
    return Stage(load_registry(), FolderSandbox())


# ---------------------------------------------------------------- the artefacts
@pytest.mark.parametrize("name", shipped())
def test_the_artefacts_are_small_whole_and_as_recorded(name):
    folder = artefact_folder(name)
    assert sum(file.stat().st_size for file in folder.iterdir()) < 1_000_000
    record = load_recipe(folder)
    for file, expected in record["hashes"].items():
        assert hashlib.sha256((folder / file).read_bytes()).hexdigest() == expected, file
    chosen = {name: record["recipe"][name] for name in ("seed", "copy_loss")}
    assert record["recipe"] == attrs.asdict(Recipe(**chosen)), "the recipe has changed: run `camg pocket build`"
    profile = load_registry().spec("memory", record["memory"]).pocket_profile
    assert profile.get("pocket.artefact", "shell") == name
    for trial in record["trials"].values():
        assert 0.03 <= trial["complete"] <= 0.18
    assert record["gates"]["skill"] > Recipe().skill


def test_it_is_an_ordinary_qwen3(policy):
    config = json.loads((ARTEFACT / "config.json").read_text())
    assert config["architectures"] == ["Qwen3ForCausalLM"]
    assert (config["hidden_size"], config["num_hidden_layers"], config["tie_word_embeddings"]) == (64, 3, True)
    assert sum(parameter.numel() for parameter in policy.actor().parameters()) < 200_000


def test_it_conforms(policy):
    check_policy(policy, trainable=True)


def test_codec_is_append_only_and_ends_once(policy):
    """Lessons 1, 2, 6: the template's exact tokens between turns; a sampled end token is not doubled."""
    codec = policy.codec
    opening = codec.open([Message("system", "s"), Message("user", "Buy 1/3")], ())
    assert codec.decode(opening) == "<|s|>s<|u|>Buy 1/3<|a|>"
    answer = (*codec.encode("click[red mug]"), codec.eos_id)
    following = codec.extend([Message("tool", "red mug [Buy Now]")], ended=True)
    assert codec.decode([*opening, *answer, *following]) == (
        "<|s|>s<|u|>Buy 1/3<|a|>click[red mug]<|end|><|u|>red mug [Buy Now]<|a|>"
    )
    assert codec.extend([Message("tool", "x")], ended=False) == (
        codec.eos_id,
        *codec.extend([Message("tool", "x")], ended=True),
    )
    for text in ("", " a  b\n\n", "naïve ✓ \x00", "<|end|"):
        assert codec.decode(codec.encode(text)) == text
    assert codec.terse


def test_bad_artefacts_are_named(tmp_path):
    with pytest.raises(UsageError, match=r"config\.json"):
        PocketPolicy(PocketConfig(artefact=str(tmp_path)))
    copy = tmp_path / "copy"
    shutil.copytree(ARTEFACT, copy)
    (copy / "model.safetensors").write_bytes(b"x" * 100)
    with pytest.raises(CorruptState, match="weights"):
        PocketPolicy(PocketConfig(artefact=str(copy))).actor()
    (copy / "tokenizer.json").write_text("{")
    with pytest.raises(CorruptState, match="tokenizer"):
        PocketPolicy(PocketConfig(artefact=str(copy)))
    (copy / "recipe.json").write_text("{")
    with pytest.raises(CorruptState, match="recipe"):
        load_recipe(copy)


def test_a_package_without_artefact_is_unavailable(monkeypatch, tmp_path):
    monkeypatch.setattr("camg_policies.pocket.warmed.ARTEFACT", tmp_path / "none")
    with pytest.raises(BackendUnavailable, match="camg pocket build"):
        PocketPolicy(PocketConfig())


# ---------------------------------------------------------------- in the real loop
@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_recorded_logprobs_are_the_actors(policy, stage, temperature):
    """Lessons 6 and 7: over whole recorded segments, each one forward pass, at the temperature used (1e-4)."""
    engine = policy.sampler(Sampling(temperature=temperature))
    episodes = stage.run("shop", engine, policy.codec, 12, seed=3, split="pocket")
    engine.close()
    actor, compared = policy.actor(), 0
    for episode in episodes:
        for segment in episode.segments:
            ids = torch.tensor([segment.token_ids])
            with torch.inference_mode():
                logprobs = (actor(ids)[0] / temperature).log_softmax(-1)
            for turn in (episode.turns[index] for index in segment.turns):
                span = range(turn.prompt_length, turn.prompt_length + len(turn.token_ids))
                assert tuple(segment.token_ids[position] for position in span) == turn.token_ids
                recomputed = [float(logprobs[position - 1, segment.token_ids[position]]) for position in span]
                assert list(turn.logprobs) == pytest.approx(recomputed, abs=1e-4)
                compared += len(span)
    assert compared > 300


def test_the_profile_has_room_for_every_demonstration(stage):
    codec = load_codec()
    for kind in ("demonstrator", "oracle"):
        for episode in stage.demonstrate("shop", kind, codec, 40, seed=11, first=9_000):
            assert all(len(turn.token_ids) <= POCKET_PROFILE["rollout.response_tokens"] for turn in episode.turns)
            assert not any(turn.observation.full for turn in episode.turns)
            assert all(len(s.token_ids) <= POCKET_PROFILE["rollout.prompt_tokens"] for s in episode.segments)
            assert kind == "demonstrator" or episode.outcome.complete


@pytest.mark.parametrize("memory", WARMED)
def test_a_warm_start_fits_its_memory(memory):
    """Perfect play through the memory solves every task within the window, in tokens that the artefact has seen."""
    stage = Stage(load_registry(), FolderSandbox(), memory)
    profile = load_registry().spec("memory", memory).pocket_profile
    codec = load_codec(artefact_folder(profile.get("pocket.artefact", "")))
    episodes = stage.demonstrate("shop", "oracle", codec, 20, seed=11, first=9_000)
    assert all(episode.outcome.complete for episode in episodes)
    turns = [turn for episode in episodes for turn in episode.turns]
    assert not any(turn.invalid or turn.observation.full for turn in turns)
    assert max(len(turn.token_ids) for turn in turns) < stage.rollout.response_tokens
    spoken = [turn for turn in turns if turn.memory_access or turn.kind is TurnKind.SUMMARY]
    assert len(spoken) >= 2 * len(episodes), "each boundary is crossed through the memory"
    assert all(codec.decode(turn.token_ids[:-1]).encode().isascii() for turn in spoken)


def test_a_warm_start_is_refused_where_it_has_seen_nothing():
    config = {"policy": "pocket", "pocket.artefact": "summary", "env": ["shop", "maze"]}
    (reason,) = camg_validate_run(config)
    assert "'summary'" in reason
    assert "'maze'" in reason
    assert not list(camg_validate_run({**config, "env": ["shop"]}))
    assert not list(camg_validate_run({**config, "pocket.artefact": "/some/folder"})), "whoever built it knows"
    assert not list(camg_validate_run({**config, "policy": "torch"}))


def test_a_memory_without_habit_demonstrates_nothing():
    stage = Stage(load_registry(), FolderSandbox(), "none")
    with pytest.raises(UsageError, match="no habit"):
        stage.habit()


def test_environments_whose_scripts_know_files_alone_are_left_out():
    def script(task, seed, dialect):
        raise NotImplementedError

    registry = load_registry()
    spec = attrs.evolve(registry.spec("environment", "shop"), demonstrator=script, oracle=None)
    assert Stage(registry, FolderSandbox())._speaks(spec)
    assert not Stage(registry, FolderSandbox(), "agemem")._speaks(spec)


@pytest.mark.slow
@pytest.mark.parametrize("memory", WARMED)
def test_the_warm_start_leaves_room_and_something_to_select(memory):
    stage = Stage(load_registry(), FolderSandbox(), memory)
    profile = load_registry().spec("memory", memory).pocket_profile
    policy = PocketPolicy(PocketConfig(artefact=profile.get("pocket.artefact", "")))
    engine = policy.sampler(Sampling())
    episodes = stage.run("shop", engine, policy.codec, 400, seed=1, split="pocket-eval")
    engine.close()
    assert 0.02 <= sum(episode.outcome.complete for episode in episodes) / 400 <= 0.2


# ---------------------------------------------------------------- the warm start
def test_examples_mark_what_was_said_and_nothing_else(stage):
    codec = load_codec()
    (episode,) = stage.demonstrate("shop", "oracle", codec, 1, seed=5)
    for example, segment in zip(examples_of(episode), episode.segments, strict=True):
        assert example.ids == segment.token_ids
        said = [codec.decode(example.ids[start:stop]) for start, stop in example.spans]
        assert said == [codec.decode(episode.turns[index].token_ids) for index in segment.turns]
        assert sum(example.said) == sum(stop - start for start, stop in example.spans)
    native = examples_of(episode, task_only=True)
    spoken = [codec.decode(e.ids[start:stop]) for e in native for start, stop in e.spans]
    assert spoken
    assert all(text.startswith("click[") for text in spoken)


def test_the_order_of_demonstrations_does_not_depend_on_threads(stage):
    codec = load_codec()
    one, two = (
        [episode.segments for episode in stage.demonstrate("shop", "demonstrator", codec, 20, seed=8)] for _ in range(2)
    )
    assert one == two


def test_texts_come_without_marks(stage):
    texts = texts_of(stage.demonstrate("shop", "demonstrator", None, 3, seed=1))
    assert any(text.startswith("Buy 1/3: want=") for text in texts)
    assert not any("<|" in text for text in texts)


def test_copying_and_batches_are_seeded():
    codec = load_codec()
    rows = copying(codec, ["red", "mug"], random.Random(0), 5)
    assert rows == copying(codec, ["red", "mug"], random.Random(0), 5)
    for row in rows:
        ((start, stop),) = row.spans
        answer = codec.decode(row.ids[start : stop - 1])
        assert f"repeat: {answer}<|a|>" in codec.decode(row.ids[:start])
    source = batches(rows * 20, 2, random.Random(1))
    assert all(len(next(source)) == 2 for _ in range(60))


TINY = Recipe(
    text_episodes=6,
    demonstrations=90,
    perfect=60,
    held_out=4,
    batch=2,
    warmup_steps=4,
    check_every=10,
    copy_loss=50.0,
    skill=-1.0,
    demonstration_steps=10,
    demonstration_batch=2,
    perfect_batch=1,
    trial_episodes=4,
    complete_from=0.0,
    complete_to=1.0,
)


def test_a_rebuild_is_the_same_to_the_last_bit(stage, tmp_path):
    first = build(stage, ["shop"], TINY, tmp_path / "one", lambda text: None)
    second = build(stage, ["shop"], TINY, tmp_path / "two", lambda text: None)
    assert first["hashes"] == second["hashes"]
    assert first["gates"] == second["gates"]
    other = build(stage, ["shop"], attrs.evolve(TINY, seed=1), tmp_path / "two", lambda text: None)  # replaced
    assert other["hashes"]["model.safetensors"] != first["hashes"]["model.safetensors"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]
    assert set(FILES) <= {path.name for path in (tmp_path / "two").iterdir()}
    made = PocketPolicy(PocketConfig(artefact=str(tmp_path / "two")))
    assert made.recipe["recipe"]["seed"] == 1
    assert made.actor().output_weight.shape[1] == 64


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"copy_loss": 0.0, "copy_steps": 10}, "Copying"),
        ({"skill": 1.1, "skill_steps": 10}, "Perfect play"),
        ({"complete_from": 0.9}, "complete after the"),
    ],
)
def test_a_gate_that_is_not_passed_writes_nothing(stage, tmp_path, change, reason):
    with pytest.raises(WarmStartFailed, match=reason):
        build(stage, ["shop"], attrs.evolve(TINY, **change), tmp_path / "out", lambda text: None)
    assert list(tmp_path.iterdir()) == []


def test_environments_without_demonstrations_are_refused(stage):
    assert "shop" in stage.environments()
    with pytest.raises(UsageError):
        stage.environments(["no-such-environment"])


# ---------------------------------------------------------------- the command
def test_show_says_how_it_was_made():
    result = CliRunner().invoke(pocket, ["show"])
    assert result.exit_code == 0, result.output
    assert "Warm start" in result.output
    assert "shop" in result.output
    as_json = CliRunner().invoke(pocket, ["show", "--json"])
    assert json.loads(as_json.stdout) == load_recipe(Path(ARTEFACT))


@pytest.mark.slow
@pytest.mark.timeout(1300)  # seven minutes of two cores, more beside other load
def test_the_shipped_artefact_can_be_rebuilt():
    result = CliRunner().invoke(pocket, ["build", "--check"])
    assert result.exit_code == 0, result.output
