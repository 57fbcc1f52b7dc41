"""A tiny actor and critic that keep the learner's contract, and episodes sampled from them. Shared by the tests."""

from __future__ import annotations

import random

import torch
from torch import Tensor, nn

from camg.types import (
    Action,
    EndReason,
    Episode,
    Observation,
    Outcome,
    Segment,
    StopReason,
    Turn,
    TurnKind,
)

VOCABULARY, WIDTH = 23, 16
torch.set_num_threads(1)


class Block(nn.Module):
    """One causal attention layer; segments of a row are told apart by restarting positions."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.place = nn.Embedding(512, WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, ids: Tensor, mask: Tensor, positions: Tensor) -> Tensor:
        x = self.embed(ids) + self.place(positions)
        query, key, value = self.qkv(torch.tanh(x)).chunk(3, dim=-1)
        segment = (positions == 0).cumsum(1)
        same = segment[:, :, None] == segment[:, None, :]
        causal = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).tril()
        scores = (query @ key.transpose(1, 2)) / WIDTH**0.5
        scores = scores.masked_fill(~(same & causal), -torch.inf)
        return x + self.out(scores.softmax(-1) @ value)


class Actor(nn.Module):
    """Tied output weight, with a bias."""

    def __init__(self, *, pack_safe: bool = True) -> None:
        super().__init__()
        self.block = Block()
        self.bias = nn.Parameter(torch.randn(VOCABULARY) * 0.1)
        self.pack_safe = pack_safe

    @property
    def output_weight(self) -> Tensor:
        return self.block.embed.weight

    @property
    def output_bias(self) -> Tensor:
        return self.bias

    def hidden(self, ids: Tensor, mask: Tensor, positions: Tensor) -> Tensor:
        return self.block(ids, mask, positions)


class Critic(nn.Module):
    """A trunk of its own with a scalar head."""

    def __init__(self, *, pack_safe: bool = True) -> None:
        super().__init__()
        self.block = Block()
        self.head = nn.Linear(WIDTH, 1)
        self.pack_safe = pack_safe

    def values(self, ids: Tensor, mask: Tensor, positions: Tensor) -> Tensor:
        return self.head(self.block(ids, mask, positions)).squeeze(-1).float()


def networks(seed: int = 0, *, pack_safe: bool = True) -> tuple[Actor, Critic]:
    torch.manual_seed(seed)
    return Actor(pack_safe=pack_safe), Critic(pack_safe=pack_safe)


@torch.no_grad()
def sample(actor: Actor, context: list[int], length: int, temperature: float, rng: random.Random) -> list[float]:
    """Append ``length`` sampled ids to ``context`` one at a time; returns their log-probs."""
    logprobs = []
    for _ in range(length):
        ids = torch.tensor([context])
        hidden = actor.hidden(ids, torch.ones_like(ids, dtype=torch.bool), torch.arange(len(context))[None])
        table = torch.log_softmax((hidden[0, -1] @ actor.output_weight.T + actor.output_bias) / temperature, -1)
        token = rng.choices(range(VOCABULARY), weights=table.exp().tolist())[0]
        context.append(token)
        logprobs.append(float(table[token]))
    return logprobs


def turn(
    index: int,
    segment: int,
    prompt_length: int,
    ids: list[int],
    logprobs: list[float],
    *,
    reward: float = 0.0,
    trained: bool = True,
    access: bool = False,
    version: int = 0,
    stop: StopReason = StopReason.EOS,
) -> Turn:
    return Turn(
        index=index,
        segment=segment,
        prompt_length=prompt_length,
        token_ids=tuple(ids),
        logprobs=tuple(logprobs),
        stop_reason=stop,
        policy_version=version,
        text="",
        action=Action(tool="x"),
        observation=Observation(shown=""),
        reward=reward,
        trained=trained,
        memory_access=access,
        kind=TurnKind.RESPONSE if trained else TurnKind.SUMMARY,
    )


def episode(
    number: int,
    segments: list[tuple[list[int], list[Turn]]],
    *,
    env: str = "maze",
    end: EndReason = EndReason.TERMINATED,
    fault: str | None = None,
    group: int = 0,
    success: float = 0.0,
) -> Episode:
    turns = sorted((turn for _, turns in segments for turn in turns), key=lambda turn: turn.index)
    return Episode(
        id=number,
        task="t",
        env=env,
        split="train",
        seed=number,
        segments=tuple(Segment(tuple(ids), tuple(turn.index for turn in turns)) for ids, turns in segments),
        turns=tuple(turns),
        outcome=Outcome(success=success, complete=success >= 1),
        end_reason=end,
        fault=fault,
        group=group,
    )


def rollout(
    actor: Actor,
    number: int,
    *,
    env: str = "maze",
    temperature: float = 1.0,
    segments: int = 2,
    turns: int = 3,
    version: int = 0,
    access_every: int = 0,
) -> Episode:
    """An episode sampled from the actor: random prompts and observations, random rewards, lengths 1 to 4."""
    rng = random.Random(f"{env}/{number}")
    built, index = [], 0
    for part in range(segments):
        context = [rng.randrange(VOCABULARY) for _ in range(rng.randint(2, 9))]
        mine = []
        for _ in range(turns):
            start = len(context)
            logprobs = sample(actor, context, rng.randint(1, 4), temperature, rng)
            access = bool(access_every) and index % access_every == 0
            reward = rng.choice([-0.1, 0.0, 0.25, 1.0])
            ids = context[start:]
            mine.append(turn(index, part, start, ids, logprobs, reward=reward, access=access, version=version))
            context += [rng.randrange(VOCABULARY) for _ in range(rng.randint(0, 5))]
            index += 1
        built.append((context, mine))
    return episode(number, built, env=env, success=rng.choice([0.0, 0.5, 1.0]))
