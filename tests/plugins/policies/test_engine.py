"""The engine: exact log-probs over many turns, versions, determinism, deadlines, crashes."""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from tiny_models import BACKENDS, CODEC, TASK, VOCABULARY, actor, backend, reference

from camg import weights
from camg.errors import InfrastructureFault, UsageError
from camg.types import Response, Sampling, StopReason
from camg_policies.engine import Engine


def prompt_of(rng: random.Random, length: int) -> list[int]:
    return [rng.randrange(256) for _ in range(length)]


def converse(engine: Engine, seed: int, turns: int = 4, limit: int = 12) -> list[tuple[list[int], Response]]:
    """Several turns of growing context, one replaced context in the middle."""
    rng = random.Random(seed)
    speaker = engine.open(TASK, seed)
    system = [7] * 20
    context = system + prompt_of(rng, rng.randrange(1, 40))
    out = []
    for turn in range(turns):
        response = speaker.generate(context, limit=limit)
        out.append((list(context), response))
        context = context + list(response.token_ids) + prompt_of(rng, rng.randrange(1, 30))
        if turn == turns // 2:
            context = system + prompt_of(rng, 25)
    speaker.close()
    return out


def in_threads(engine: Engine, seeds: range, **options: int) -> list[list[tuple[list[int], Response]]]:
    with ThreadPoolExecutor(len(seeds)) as pool:
        return list(pool.map(lambda seed: converse(engine, seed, **options), seeds))


@pytest.fixture
def engines():
    made: list[Engine] = []

    def make(back, sampling=None, **options) -> Engine:
        engine = Engine(back, CODEC, sampling or Sampling(), deadline=60, **options)
        made.append(engine)
        return engine

    yield make
    for engine in made:
        engine.close()


@pytest.mark.parametrize(("kind", "static"), BACKENDS)
def test_logprobs_equal_a_fresh_forward_pass(engines, kind, static):
    """Mixed lengths, joining and leaving, several turns, a replaced context (tolerance 1e-4 in fp32)."""
    engine = engines(backend(kind, static=static))
    for dialogue in in_threads(engine, range(6)):
        for prompt, response in dialogue:
            assert len(response.token_ids) == len(response.logprobs) > 0  # lesson 6
            expected = reference(kind, 0, prompt, list(response.token_ids))
            assert response.logprobs == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(("kind", "static"), [("qwen3", True), ("qwen3_5", False)])
def test_logprobs_at_another_temperature(engines, kind, static):
    """Lesson 7: the log-prob is that of the tempered distribution."""
    engine = engines(backend(kind, static=static), Sampling(temperature=0.6))
    for prompt, response in converse(engine, 3):
        expected = reference(kind, 0, prompt, list(response.token_ids), 0.6)
        assert response.logprobs == pytest.approx(expected, abs=1e-4)


def test_the_cache_is_used(engines):
    """Only new suffixes are prefilled, and a shared system prefix only once."""
    back = backend("qwen3", static=True)
    engine = engines(back)
    speaker = engine.open(TASK, 0)
    context = [7] * 100
    for _ in range(5):
        response = speaker.generate(context, limit=5)
        context = [*context, *response.token_ids, 1, 2, 3]
    assert back.prefilled_tokens == 100 + 4 * 4  # the last sampled token and three new ones
    other = engine.open(TASK, 1)
    other.generate([7] * 99 + [8, 9], limit=1)
    assert back.prefilled_tokens <= 100 + 4 * 4 + 3
    general = backend("qwen3_5")
    speaker = engines(general).open(TASK, 0)
    speaker.generate([7] * 50, limit=1)
    response = speaker.generate([7] * 50, limit=3)  # a recurrent state cannot be cut back: afresh
    assert general.prefilled_tokens == 100
    speaker.generate([*[7] * 50, *response.token_ids, 5, 6], limit=1)
    assert general.prefilled_tokens == 103


@pytest.mark.parametrize(("kind", "static"), [("qwen3", True), ("qwen3_5", False), ("llama", False)])
def test_new_weights_between_responses_only(engines, tmp_path, kind, static):
    """Lessons 11, 12, 25: no response mixes versions, none is sampled from a stale cache."""
    for version in range(2):
        weights.publish(tmp_path, actor(kind, version).state_dict(), version)
        if version == 0:
            engine = engines(backend(kind, 9, static=static), weights=tmp_path)
            speaker = engine.open(TASK, 5)
            context = [7] * 30
            first = speaker.generate(context, limit=6)
            assert first.policy_version == engine.version == 0
            assert first.logprobs == pytest.approx(reference(kind, 0, context, list(first.token_ids)), abs=1e-4)
            stop = threading.Event()
            seen: list[tuple[list[int], Response]] = []

            def talk(seed: int, engine=engine, stop=stop, seen=seen) -> None:
                while not stop.is_set():
                    seen.extend(converse(engine, seed, turns=2))

            threads = [threading.Thread(target=talk, args=(seed,)) for seed in range(3)]
            for thread in threads:
                thread.start()
            time.sleep(0.3)
    deadline = time.monotonic() + 20
    while engine.version != 1 and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.2)
    stop.set()
    for thread in threads:
        thread.join()
    context = [*context, *first.token_ids, 1]
    second = speaker.generate(context, limit=6)
    assert second.policy_version == 1
    assert second.logprobs == pytest.approx(reference(kind, 1, context, list(second.token_ids)), abs=1e-4)
    versions = {response.policy_version for _, response in seen}
    assert versions == {0, 1}
    by_version = {v: [pair for pair in seen if pair[1].policy_version == v][-4:] for v in versions}
    for version, pairs in by_version.items():
        for prompt, response in pairs:
            expected = reference(kind, version, prompt, list(response.token_ids))
            assert response.logprobs == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(("kind", "static"), [("qwen3", True), ("qwen3_5", False)])
def test_lockstep_is_bitwise_deterministic(engines, kind, static):
    """Whatever the threads do, the same seeds give the same ids and the same bits."""

    def play(delay: float) -> list[list[tuple[list[int], Response]]]:
        engine = engines(backend(kind, static=static), lockstep=True)
        speakers = [engine.open(TASK, seed) for seed in range(5)]
        rng = random.Random(delay)

        def talk(seed: int) -> list[tuple[list[int], Response]]:
            context, out = [7] * (10 + 3 * seed), []
            for _ in range(2 + seed % 3):
                time.sleep(delay * rng.random())
                response = speakers[seed].generate(context, limit=8)
                out.append((list(context), response))
                context = [*context, *response.token_ids, seed]
            speakers[seed].close()
            return out

        with ThreadPoolExecutor(5) as pool:
            return list(pool.map(talk, range(5)))

    first, second = play(0.0), play(0.02)
    for left, right in zip(first, second, strict=True):
        for (prompt, a), (other, b) in zip(left, right, strict=True):
            assert prompt == other
            assert (a.token_ids, a.logprobs) == (b.token_ids, b.logprobs)


def test_a_response_does_not_depend_on_its_neighbours(engines):
    alone = converse(engines(backend("qwen3", static=True)), 4)
    crowd = in_threads(engines(backend("qwen3", static=True)), range(8))[4]
    assert [r.token_ids for _, r in alone] == [r.token_ids for _, r in crowd]
    rows = in_threads(engines(backend("qwen3", static=True)), range(8))
    assert len({row[0][1].token_ids for row in rows}) > 1  # and seeds matter


def test_greedy_is_the_argmax_with_untempered_logprobs(engines):
    engine = engines(backend("llama"), Sampling(temperature=0))
    for prompt, response in converse(engine, 1):
        assert response.logprobs == pytest.approx(reference("llama", 0, prompt, list(response.token_ids)), abs=1e-4)
    again = engine.open(TASK, 99).generate(prompt, limit=12)
    assert again.token_ids == response.token_ids


class _Fixed:
    """A backend that says one sequence; the real ones are tested above."""

    def __init__(self, ids: list[int], fail_at: int = -1, delay: float = 0.0) -> None:
        self.ids, self.fail_at, self.delay, self.steps = ids, fail_at, delay, 0

    def _logits(self, count: int) -> torch.Tensor:
        time.sleep(self.delay)
        if self.steps == self.fail_at:
            raise MemoryError("no room for the cache")
        logits = torch.full((count, VOCABULARY), -30.0)
        logits[:, self.ids[self.steps % len(self.ids)]] = 30.0
        self.steps += 1
        return logits

    def prefill(self, tracks):
        return self._logits(len(tracks))

    def decode(self, tracks, tokens):
        return self._logits(len(tracks))

    def release(self, track):
        pass

    def load(self, state):
        pass


def test_stops_at_the_first_end_token_or_the_limit(engines):
    """Lesson 6: a sampled end token is the last id, with its log-prob; the text comes without it."""
    text = list(b"ok")
    response = engines(_Fixed([*text, CODEC.eos_id, 65])).open(TASK, 0).generate([1], limit=10)
    assert response.token_ids == (*text, CODEC.eos_id)
    assert (response.stop_reason, response.text) == (StopReason.EOS, "ok")
    response = engines(_Fixed([65])).open(TASK, 0).generate([1], limit=3)
    assert (response.token_ids, response.stop_reason) == ((65, 65, 65), StopReason.LENGTH)
    response = engines(_Fixed([65, 65, CODEC.eos_id])).open(TASK, 0).generate([1], limit=3)
    assert response.stop_reason is StopReason.EOS  # at the very limit the end token still counts
    empty = engines(_Fixed([CODEC.eos_id])).open(TASK, 0).generate([1], limit=3)  # lesson 18
    assert (empty.token_ids, empty.text, len(empty.logprobs)) == ((CODEC.eos_id,), "", 1)


@pytest.mark.parametrize("lockstep", [False, True])
def test_a_crashed_engine_tells_everybody(engines, lockstep):
    engine = engines(_Fixed([65], fail_at=3, delay=0.05), lockstep=lockstep)
    speakers = [engine.open(TASK, seed) for seed in range(3)]

    def talk(speaker) -> str:
        with pytest.raises(InfrastructureFault) as caught:
            speaker.generate([1, 2], limit=50)
        return str(caught.value)

    with ThreadPoolExecutor(3) as pool:
        messages = list(pool.map(talk, speakers))
    assert all("no room for the cache" in message for message in messages)
    with pytest.raises(InfrastructureFault, match="MemoryError"):
        engine.open(TASK, 0)
    with pytest.raises(InfrastructureFault, match="MemoryError"):
        speakers[0].generate([1], limit=1)


def test_a_missed_deadline_is_an_infrastructure_fault():
    engine = Engine(_Fixed([65], delay=0.4), CODEC, Sampling(), deadline=0.5)
    with pytest.raises(InfrastructureFault, match="no response within"):
        engine.open(TASK, 0).generate([1], limit=1000)
    assert engine.open(TASK, 0).generate([1], limit=1).token_ids == (65,)  # the others go on
    engine.close()


def test_close_ends_the_thread_and_refuses_more():
    engine = Engine(_Fixed([65], delay=0.05), CODEC, Sampling())
    speaker = engine.open(TASK, 0)
    with ThreadPoolExecutor(1) as pool:
        pending = pool.submit(speaker.generate, [1], limit=10_000)
        time.sleep(0.2)
        engine.close()
        with pytest.raises(InfrastructureFault, match="closed"):
            pending.result(timeout=5)
    assert "camg-engine" not in {t.name for t in threading.enumerate() if t is engine._thread and t.is_alive()}
    with pytest.raises(InfrastructureFault, match="closed"):
        speaker.generate([1], limit=1)


def test_bad_requests(engines):
    speaker = engines(_Fixed([65])).open(TASK, 0)
    with pytest.raises(UsageError, match="Expected a prompt"):
        speaker.generate([], limit=1)
    with pytest.raises(UsageError, match="limit of at least 1"):
        speaker.generate([1], limit=0)


def test_weights_that_cannot_be_read_stop_the_engine(engines, tmp_path):
    path = weights.publish(tmp_path, actor("qwen3").state_dict(), 3)
    path.write_bytes(path.read_bytes()[:-7])
    engine = engines(backend("qwen3", static=True), weights=tmp_path)
    with pytest.raises(InfrastructureFault, match="CorruptState"):
        engine.open(TASK, 0).generate([1], limit=1)
