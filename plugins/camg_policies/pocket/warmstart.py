"""The warm start, gated by skill and counted in steps, so that the same seed gives the same bits.

1. *Copying*: ``repeat: …`` until the loss of the copied tokens is below a threshold. Demonstrations alone leave a
   small model on the induction plateau (copying at chance) for minutes.
2. *Skill*: the task's actions of perfect play (those that access memory are context only: nothing about memory is
   taught here), until the probability of a held-out segment's hardest action is above a threshold, on average.
3. *Demonstrations*: a fixed number of steps on imperfect play with decaying learning rate, with some perfect task
   actions among them, so that the skill stays. How often memory is written and read is what the demonstrator did.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence

import torch
from attrs import frozen
from torch import Tensor

from camg.errors import CamgError
from camg.protocols import ChatCodec
from camg.types import Message
from camg_policies.models import Actor
from camg_policies.pocket.corpus import Example
from camg_policies.pocket.recipe import Recipe

Report = Callable[[str], None]


class WarmStartFailed(CamgError):
    """A gate was not passed within its steps: another seed, or another recipe."""


@frozen
class Gates:
    """What the gates measured, for the recipe file."""

    copy_steps: int
    copy_loss: float
    skill_steps: int
    skill: float
    demonstration_steps: int
    demonstration_loss: float
    skill_kept: float  # after the demonstrations


def new_actor(recipe: Recipe, vocabulary: int, codec: ChatCodec) -> Actor:
    """The model with seeded random weights."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(recipe.seed)
    config = Qwen3Config(
        vocab_size=vocabulary,
        hidden_size=recipe.width,
        num_hidden_layers=recipe.layers,
        num_attention_heads=recipe.heads,
        num_key_value_heads=recipe.kv_heads,
        head_dim=recipe.width // recipe.heads,
        intermediate_size=recipe.feed_forward,
        max_position_embeddings=recipe.positions,
        tie_word_embeddings=True,
        eos_token_id=codec.eos_id,
        pad_token_id=0,
        bos_token_id=None,
        use_cache=False,
    )
    return Actor(Qwen3ForCausalLM(config))


def token_losses(actor: Actor, examples: Sequence[Example]) -> tuple[Tensor, Tensor, Tensor]:
    """Cross-entropy fp32 ``[B, T - 1]`` of each next token; masks of real and of said targets, bool ``[B, T - 1]``."""
    width = max(len(example.ids) for example in examples)
    ids = torch.zeros(len(examples), width, dtype=torch.long)
    real, said = torch.zeros_like(ids, dtype=torch.bool), torch.zeros_like(ids, dtype=torch.bool)
    for row, example in enumerate(examples):
        size = len(example.ids)
        ids[row, :size] = torch.tensor(example.ids)
        real[row, :size] = True
        said[row, :size] = torch.tensor(example.said)
    logits = actor(ids, real)[:, :-1]
    losses = torch.nn.functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")
    return losses, real[:, 1:], said[:, 1:]


class Trainer:
    """AdamW over batches of examples; context tokens count a little, what was said in full."""

    def __init__(self, actor: Actor, recipe: Recipe) -> None:
        self.actor = actor
        self._recipe = recipe
        self._optimizer = torch.optim.AdamW(
            actor.parameters(), lr=recipe.lr, betas=(0.9, 0.98), weight_decay=recipe.weight_decay
        )

    def step(self, examples: Sequence[Example], scale: float) -> float:
        """One step at ``scale`` times the learning rate; the mean loss of the said tokens."""
        losses, real, said = token_losses(self.actor, examples)
        weights = torch.where(said, 1.0, self._recipe.context_weight) * real
        loss = (losses * weights).sum() / weights.sum()
        self._optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.actor.parameters(), self._recipe.grad_norm)
        for group in self._optimizer.param_groups:
            group["lr"] = self._recipe.lr * scale
        self._optimizer.step()
        return float((losses.detach() * said).sum() / said.sum())


def copying(codec: ChatCodec, words: Sequence[str], rng: random.Random, count: int) -> list[Example]:
    """``repeat: WORDS`` -> WORDS, drawn anew each time: nothing can be learnt here but to copy."""
    examples = []
    for _ in range(count):
        text = " ".join(rng.choice(words) for _ in range(rng.randint(2, 10)))
        prompt = codec.open([Message("user", f"repeat: {text}")], ())
        answer = (*codec.encode(text), codec.eos_id)
        ids = (*prompt, *answer)
        examples.append(Example(ids, (False,) * len(prompt) + (True,) * len(answer), ((len(prompt), len(ids)),)))
    return examples


def batches(examples: Sequence[Example], size: int, rng: random.Random) -> Iterator[list[Example]]:
    """Endless shuffled passes; examples of similar length go together, so that little is padding."""
    window = 16 * size
    while True:
        order = list(examples)
        rng.shuffle(order)
        for start in range(0, len(order) - window + 1, window):
            near = sorted(order[start : start + window], key=lambda example: len(example.ids))
            parts = [near[i : i + size] for i in range(0, window, size)]
            rng.shuffle(parts)
            yield from parts


@torch.inference_mode()
def skill(actor: Actor, examples: Sequence[Example]) -> float:
    """Mean over segments of the least probability that one of its task actions has, given its context."""
    hardest = []
    for start in range(0, len(examples), 32):
        part = examples[start : start + 32]
        losses, _, _ = token_losses(actor, part)
        for row, example in enumerate(part):
            worst = max(float(losses[row, begin - 1 : end - 1].sum()) for begin, end in example.spans)
            hardest.append(math.exp(-worst))
    return sum(hardest) / len(hardest)


def warm_start(
    actor: Actor,
    codec: ChatCodec,
    recipe: Recipe,
    *,
    words: Sequence[str],
    perfect: Sequence[Example],
    held_out: Sequence[Example],
    imperfect: Sequence[Example],
    say: Report,
) -> Gates:
    """Train ``actor`` in place through the three stages. Raises :class:`WarmStartFailed`."""
    trainer = Trainer(actor, recipe)
    copy_steps, copy_loss = _learn_to_copy(trainer, codec, recipe, words, say)
    skill_steps, reached = _learn_skill(trainer, recipe, perfect, held_out, say)
    loss = _imitate(trainer, recipe, perfect, imperfect, say)
    return Gates(copy_steps, copy_loss, skill_steps, reached, recipe.demonstration_steps, loss, skill(actor, held_out))


def _imitate(
    trainer: Trainer, recipe: Recipe, perfect: Sequence[Example], imperfect: Sequence[Example], say: Report
) -> float:
    rng = random.Random(f"{recipe.seed}:demonstrations")
    shown = batches(imperfect, recipe.demonstration_batch, rng)
    kept = batches(perfect, recipe.perfect_batch, rng)
    total, recent = recipe.demonstration_steps, 0.0
    for step in range(total):
        scale = recipe.demonstration_lr * max(0.02, 1 - step / total)
        loss = trainer.step(next(shown) + next(kept), scale)
        recent = loss if not step else 0.98 * recent + 0.02 * loss
        if (step + 1) % 200 == 0:
            say(f"demonstrations: step {step + 1} of {total}, loss {recent:.3f}")
    return recent


def _ramp(recipe: Recipe, step: int) -> float:
    return min(1.0, (step + 1) / recipe.warmup_steps)


def _learn_to_copy(
    trainer: Trainer, codec: ChatCodec, recipe: Recipe, words: Sequence[str], say: Report
) -> tuple[int, float]:
    rng = random.Random(f"{recipe.seed}:copying")
    losses: list[float] = []
    for step in range(recipe.copy_steps):
        losses.append(trainer.step(copying(codec, words, rng, recipe.batch), _ramp(recipe, step)))
        if (step + 1) % recipe.check_every == 0:
            recent = sum(losses[-recipe.check_every :]) / recipe.check_every
            say(f"copying: step {step + 1}, loss {recent:.3f}")
            if recent < recipe.copy_loss:
                return step + 1, recent
    raise WarmStartFailed(
        f"Copying was not learned in {recipe.copy_steps} steps (loss {recent:.2f}).", hint="Try another --seed."
    )


def _learn_skill(
    trainer: Trainer, recipe: Recipe, perfect: Sequence[Example], held_out: Sequence[Example], say: Report
) -> tuple[int, float]:
    source = batches(perfect, recipe.batch, random.Random(f"{recipe.seed}:skill"))
    for step in range(recipe.skill_steps):
        loss = trainer.step(next(source), 1.0)
        if (step + 1) % recipe.check_every == 0:
            reached = skill(trainer.actor, held_out)
            say(f"skill: step {step + 1}, loss {loss:.3f}, probability of the hardest perfect action {reached:.3f}")
            if reached > recipe.skill:
                return step + 1, reached
    raise WarmStartFailed(
        f"Perfect play was not learned in {recipe.skill_steps} steps (probability {reached:.2f}).",
        hint="Try another --seed.",
    )
