"""Tokens per CPU second of the embedded policy's sampling: our static decoder against transformers' forward pass.

Run alone on a quiet machine: ``python benchmarks/bench_decode.py [--slots 32 64] [--seconds 3]``. One thread; prompts
of 110 tokens, responses of 13, as in pocket Shop; the rows are interleaved, medians and ratios are printed.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import time
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
import transformers

from camg.episode.actions import BRACKET
from camg.episode.chat import ByteCodec
from camg.types import Sampling, Task
from camg_policies.backends import Backend, StaticBackend, Track
from camg_policies.engine import Engine
from camg_policies.general import TransformersBackend
from camg_policies.models import Actor

PROMPT, RESPONSE = 110, 13


def pocket_sized() -> Actor:
    """The embedded policy's shape with random weights."""
    torch.manual_seed(0)
    config = transformers.Qwen3Config(
        vocab_size=546,
        hidden_size=64,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        intermediate_size=192,
        tie_word_embeddings=True,
    )
    return Actor(transformers.Qwen3ForCausalLM(config).eval())


def decoding(backend: Backend, slots: int) -> Callable[[], float]:
    """Rounds of prefill and decoding of ``slots`` sequences; sampled tokens a CPU second in each round."""
    rng = random.Random(0)
    tracks = [Track() for _ in range(slots)]

    def one() -> float:
        for track in tracks:
            track.prompt = [rng.randrange(256) for _ in range(PROMPT)]
        backend.prefill(tracks)
        began = time.process_time()
        for _ in range(RESPONSE):
            backend.decode(tracks, [rng.randrange(256) for _ in range(slots)])
        return slots * RESPONSE / (time.process_time() - began)

    return one


def generate(slots: int) -> Callable[[], float]:
    """transformers' own ``generate`` on a full batch of equal prompts: no joining, no cache across turns."""
    actor = pocket_sized()
    model = transformers.Qwen3ForCausalLM(actor.config).eval()
    ids = torch.randint(0, 256, (slots, PROMPT))

    def one() -> float:
        began = time.process_time()
        model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=RESPONSE,
            min_new_tokens=RESPONSE,
            do_sample=True,
            pad_token_id=0,
        )
        return slots * RESPONSE / (time.process_time() - began)

    return one


def engine(slots: int) -> Callable[[], float]:
    """The whole engine with ``slots`` threads: submit, prefill, decode, sample, answer; three turns a context."""
    from concurrent.futures import ThreadPoolExecutor

    codec = ByteCodec(BRACKET)
    served = Engine(StaticBackend(pocket_sized()), codec, Sampling())
    pool = ThreadPoolExecutor(slots)
    task = Task("t", "e", "s", 1)

    def talk(seed: int) -> int:
        rng = random.Random(seed)
        speaker, count = served.open(task, seed), 0
        context = [rng.randrange(256) for _ in range(70)]
        for _ in range(3):
            response = speaker.generate(context, limit=RESPONSE)
            count += len(response.token_ids)
            context = [*context, *response.token_ids, *(rng.randrange(256) for _ in range(12))]
        speaker.close()
        return count

    def one() -> float:
        began = time.process_time()
        count = sum(pool.map(talk, range(2 * slots)))
        return count / (time.process_time() - began)

    return one


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slots", type=int, nargs="+", default=[32, 64])
    parser.add_argument("--seconds", type=float, default=3.0, help="for each row")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{'slots':>5}  {'way':<28} {'tok / CPU s':>11}  ratio")
    for slots in arguments.slots:
        rows = {
            "transformers generate": generate(slots),
            "transformers backend": decoding(TransformersBackend(pocket_sized()), slots),
            "static backend, no sampling": decoding(StaticBackend(pocket_sized(), slots), slots),
            "engine, prefill and all": engine(slots),
        }
        figures: dict[str, list[float]] = {name: [] for name in rows}
        ends = time.monotonic() + arguments.seconds * len(rows)
        while time.monotonic() < ends or len(figures["engine, prefill and all"]) < 3:
            for name, row in rows.items():
                figures[name].append(row())
        base = statistics.median(figures["transformers generate"])
        for name, values in figures.items():
            median = statistics.median(values)
            print(f"{slots:5}  {name:<28} {median:11,.0f}  {median / base:4.1f}x")
    os._exit(0)  # the engines' and pools' threads wait for work that will not come


if __name__ == "__main__":
    main()
