"""Make the embedded policy's artefact: texts, tokenizer, warm start, trial; written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import platform
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import torch
import transformers

from camg.episode.actions import BRACKET
from camg.episode.chat import TemplateCodec
from camg.protocols import ChatCodec
from camg.types import Sampling
from camg_policies.backends import StaticBackend
from camg_policies.engine import Engine
from camg_policies.models import Actor
from camg_policies.pocket.corpus import Example, Stage, examples_of, texts_of
from camg_policies.pocket.recipe import Recipe
from camg_policies.pocket.tokenizer import train_tokenizer
from camg_policies.pocket.warmstart import Gates, Report, WarmStartFailed, new_actor, warm_start

_HELD_OUT_FIRST = 15_000  # tasks from here on are for the skill gate, never for training
_HASHED = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")


def build(stage: Stage, envs: Sequence[str], recipe: Recipe, out: Path, say: Report) -> dict[str, Any]:
    """Build into the folder ``out`` (replaced at the end) and return the record that ``recipe.json`` holds.

    Raises :class:`camg.errors.UsageError` for environments that cannot demonstrate and
    :class:`WarmStartFailed` when a gate is not passed.
    """
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    envs = stage.environments(envs)
    tokenizer, words = _tokenizer(stage, envs, recipe, say)
    codec = TemplateCodec(tokenizer, BRACKET, terse=True)
    perfect, held_out, imperfect = _examples(stage, envs, codec, recipe, say)
    actor = new_actor(recipe, len(tokenizer), codec)
    gates = warm_start(
        actor, codec, recipe, words=words, perfect=perfect, held_out=held_out, imperfect=imperfect, say=say
    )
    actor.eval()
    trials = {env: _trial(stage, env, actor, codec, recipe, say) for env in envs}
    _third_gate(trials, recipe)
    return _write(out, actor, tokenizer, envs, stage.memory, recipe, gates, trials)


def _tokenizer(stage: Stage, envs: Sequence[str], recipe: Recipe, say: Report) -> tuple[Any, list[str]]:
    """The tokenizer, and the words that the copying curriculum draws from."""
    texts: list[str] = []
    for env in envs:
        texts += texts_of(stage.demonstrate(env, "demonstrator", None, recipe.text_episodes, seed=recipe.seed))
    tokenizer = train_tokenizer(texts, recipe.vocabulary)
    words = sorted({word for text in texts for word in re.findall(r"\S+", text)})
    say(f"tokenizer: {len(tokenizer)} tokens from {len(texts)} texts")
    return tokenizer, words


def _examples(
    stage: Stage, envs: Sequence[str], codec: ChatCodec, recipe: Recipe, say: Report
) -> tuple[list[Example], list[Example], list[Example]]:
    perfect: list[Example] = []
    held_out: list[Example] = []
    imperfect: list[Example] = []
    for env in envs:
        seed, spec = recipe.seed, stage.registry.spec("environment", env)
        expert = "oracle" if spec.oracle else "demonstrator"
        for split in filter(None, (spec.pocket_split, spec.pocket_drill_split)):
            for episode in stage.demonstrate(env, expert, codec, recipe.perfect, seed=seed + 1, split=split):
                perfect += examples_of(episode, task_only=True)
            unseen = {"seed": seed + 2, "first": _HELD_OUT_FIRST, "split": split}
            for episode in stage.demonstrate(env, expert, codec, recipe.held_out, **unseen):
                held_out += examples_of(episode, task_only=True)
        demonstrations = stage.demonstrate(env, "demonstrator", codec, recipe.demonstrations, seed=seed + 3)
        for episode in demonstrations:
            imperfect += examples_of(episode)
        rate = sum(episode.outcome.complete for episode in demonstrations) / len(demonstrations)
        say(f"{env}: {len(demonstrations)} demonstrations, {rate:.1%} of them complete")
    return perfect, held_out, imperfect


def _trial(stage: Stage, env: str, actor: Actor, codec: ChatCodec, recipe: Recipe, say: Report) -> dict[str, float]:
    """What the policy itself does, held out, at temperature 1."""
    spec = stage.registry.spec("environment", env)
    split = spec.pocket_eval_split or spec.pocket_split
    engine = Engine(StaticBackend(actor), codec, Sampling())
    try:
        episodes = stage.run(env, engine, codec, recipe.trial_episodes, seed=recipe.seed + 4, split=split)
    finally:
        engine.close()
    count = len(episodes)
    trial = {
        "episodes": count,
        "success": sum(episode.outcome.success for episode in episodes) / count,
        "complete": sum(episode.outcome.complete for episode in episodes) / count,
        "invalid": sum(turn.invalid for e in episodes for turn in e.turns) / sum(len(e.turns) for e in episodes),
        "turns": sum(len(episode.turns) for episode in episodes) / count,
    }
    known = sum(episode.outcome.metrics.get("known_total", 0) for episode in episodes)
    if known:  # where the environment says which choices were made with the evidence in sight
        trial["right_when_known"] = sum(e.outcome.metrics["known_right"] for e in episodes) / known
    say(f"{env}: {trial['complete']:.1%} complete, success {trial['success']:.3f}, invalid {trial['invalid']:.1%}")
    return trial


def _third_gate(trials: dict[str, dict[str, float]], recipe: Recipe) -> None:
    for env, trial in trials.items():
        if not recipe.complete_from <= trial["complete"] <= recipe.complete_to:
            raise WarmStartFailed(
                f"Expected {recipe.complete_from:.0%} to {recipe.complete_to:.0%} of {env} episodes complete after the "
                f"warm start, got {trial['complete']:.1%}: nothing to select from, or little left to learn.",
                hint="Try another --seed.",
            )


def _write(
    out: Path,
    actor: Actor,
    tokenizer: Any,
    envs: Sequence[str],
    memory: str,
    recipe: Recipe,
    gates: Gates,
    trials: dict[str, dict[str, float]],
) -> dict[str, Any]:
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".pocket-") as scratch:
        folder = Path(scratch) / "artefact"
        _causal_lm(actor).save_pretrained(str(folder))
        tokenizer.save_pretrained(str(folder))
        hashes = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in _HASHED}
        record = {
            "environments": list(envs),
            "memory": memory,
            "dialect": BRACKET.name,
            "parameters": sum(parameter.numel() for parameter in actor.parameters()),
            "recipe": attrs.asdict(recipe),
            "gates": attrs.asdict(gates),
            "trials": trials,
            "hashes": hashes,
            "made_with": {
                "torch": torch.__version__,
                "transformers": transformers.__version__,
                "machine": platform.machine(),
            },
        }
        (folder / "recipe.json").write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        (folder / "generation_config.json").unlink(missing_ok=True)
        for file in folder.iterdir():
            file.chmod(0o644)  # safetensors writes for its owner alone
        if out.exists():
            out.rename(Path(scratch) / "replaced")
        folder.rename(out)
    return record


def _causal_lm(actor: Actor) -> Any:
    """The backbone back in a causal LM: what ``from_pretrained`` reads."""
    model = transformers.Qwen3ForCausalLM(actor.config)
    model.model = actor.backbone
    model.tie_weights()
    return model.eval()
