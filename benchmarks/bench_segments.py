"""Segments as samples against one sample per response: tokens and time of a whole update.

    python benchmarks/bench_segments.py [--runs 3] [--episodes 4] [--turns 20]

Episodes of 20 turns in a single context go through the learner twice: as they are, and cut so that each response is a
segment of its own (its prompt h_t, then the response), as the paper states the loss. Both give the same loss and
gradients; a test holds that. CPU time in one thread, interleaved runs, ratio of medians; target at least 6 for tokens
and for time. The network is a small Qwen2 with random weights; rows are packed in both cases.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from statistics import median

import attrs
import torch

from camg.learn.learner import Learner
from camg.settings import LearnerSettings
from camg.specs import EstimatorSpec
from camg.types import Action, EndReason, Episode, Observation, Outcome, Segment, StopReason, Turn, UpdateReport
from camg_estimators.config import GaeConfig
from camg_estimators.response_gae import ResponseGae
from camg_policies.models import Actor, ValueModel

TARGET = 6.0
VOCABULARY = 512


def episode(number: int, turns: int, brief: int, response: int, observation: int) -> Episode:
    """One context: ``brief`` ids, then ``turns`` times a response and an observation of about the given lengths."""
    rng = random.Random(number)
    ids = [rng.randrange(VOCABULARY) for _ in range(brief)]
    steps = []
    for index in range(turns):
        start = len(ids)
        ids += [rng.randrange(VOCABULARY) for _ in range(rng.randint(response // 2, 3 * response // 2))]
        steps.append(
            Turn(
                index=index,
                segment=0,
                prompt_length=start,
                token_ids=tuple(ids[start:]),
                logprobs=(-6.0,) * (len(ids) - start),
                stop_reason=StopReason.EOS,
                policy_version=0,
                text="",
                action=Action(tool="x"),
                observation=Observation(shown=""),
                reward=rng.random(),
            )
        )
        ids += [rng.randrange(VOCABULARY) for _ in range(rng.randint(observation // 2, 3 * observation // 2))]
    return Episode(
        id=number,
        task="t",
        env="bench",
        split="train",
        seed=number,
        segments=(Segment(tuple(ids), tuple(range(turns))),),
        turns=tuple(steps),
        outcome=Outcome(success=0.0, complete=False),
        end_reason=EndReason.TERMINATED,
    )


def cut(whole: Episode) -> Episode:
    """The same episode with one segment per response."""
    ids = whole.segments[0].token_ids
    return attrs.evolve(
        whole,
        segments=tuple(Segment(ids[: turn.prompt_length + len(turn.token_ids)], (turn.index,)) for turn in whole.turns),
        turns=tuple(attrs.evolve(turn, segment=turn.index) for turn in whole.turns),
    )


def learner() -> Learner:
    """A fresh learner with the paper's settings; the same weights each time."""
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=VOCABULARY,
        hidden_size=64,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        tie_word_embeddings=True,
    )
    return Learner(
        Actor(Qwen2ForCausalLM(config)),
        ValueModel(Actor(Qwen2ForCausalLM(config))),
        ResponseGae(GaeConfig()),
        spec=EstimatorSpec(name="response-gae", summary="", factory="", config=GaeConfig),
        settings=LearnerSettings(),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=4)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--brief", type=int, default=150, help="tokens before the first response")
    parser.add_argument("--response", type=int, default=30, help="tokens of a response, on average")
    parser.add_argument("--observation", type=int, default=45, help="tokens of an observation, on average")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)

    whole = [
        episode(number, options.turns, options.brief, options.response, options.observation)
        for number in range(options.episodes)
    ]
    variants = {"segments": whole, "responses": [cut(item) for item in whole]}
    learner().update(whole[:1])  # libraries
    seconds: dict[str, list[float]] = {name: [] for name in variants}
    reports: dict[str, UpdateReport] = {}
    for _ in range(options.runs):
        for name, given in variants.items():
            fresh, start = learner(), time.process_time()
            reports[name] = fresh.update(given)
            seconds[name].append(time.process_time() - start)

    tokens = {name: report.metrics["tokens/forward"] for name, report in reports.items()}
    result = {
        "episodes": options.episodes,
        "turns": options.turns,
        "tokens_of_an_episode": reports["segments"].metrics["tokens/context"] / options.episodes,
        "tokens_forward": tokens,
        "seconds": {name: median(values) for name, values in seconds.items()},
        "token_ratio": tokens["responses"] / tokens["segments"],
        "time_ratio": median(seconds["responses"]) / median(seconds["segments"]),
        "actor_gradient": {name: report.metrics["grad/actor"] for name, report in reports.items()},
    }
    print(json.dumps(result, indent=2))
    return int(min(result["token_ratio"], result["time_ratio"]) < TARGET)


if __name__ == "__main__":
    sys.exit(main())
