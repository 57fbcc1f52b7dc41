"""Every installed estimator: what stands between responses, and beside an episode in the batch, moves no estimate."""

from __future__ import annotations

import random

import pytest
import torch
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from camg.learn.batch import build
from camg.plugins import load_registry
from camg.types import Action, EndReason, Episode, Observation, Outcome, Segment, StopReason, Turn

torch.set_num_threads(1)
REGISTRY = load_registry(quiet=True)
NAMES = REGISTRY.names("estimator")
GROUP = 3


def recorded(number: int, seed: int, gaps: int) -> Episode:
    """An episode whose responses and rewards follow the seed alone; observations have up to ``gaps`` ids."""
    rng, filler = random.Random(seed), random.Random(seed + 1_000_003 * (gaps + 1))
    turns, segments = [], []
    for segment in range(rng.randint(1, 3)):
        ids, mine = [0], []
        for _ in range(rng.randint(1, 3)):
            ids += [1] * filler.randint(0, gaps)
            sampled = tuple(rng.randrange(2, 9) for _ in range(rng.randint(1, 5)))
            mine.append(len(turns))
            turns.append(
                Turn(
                    index=len(turns),
                    segment=segment,
                    prompt_length=len(ids),
                    token_ids=sampled,
                    logprobs=(-1.0,) * len(sampled),
                    stop_reason=StopReason.EOS,
                    policy_version=0,
                    text="",
                    action=Action(tool="x"),
                    observation=Observation(shown=""),
                    reward=rng.choice([-0.1, 0.0, 0.25, 1.0]),
                )
            )
            ids += sampled
        segments.append(Segment((*ids, *[1] * filler.randint(0, gaps)), tuple(mine)))
    return Episode(
        id=number,
        task="t",
        env="maze",
        split="train",
        seed=seed,
        segments=tuple(segments),
        turns=tuple(turns),
        outcome=Outcome(success=0.0, complete=False),
        end_reason=EndReason.TERMINATED,
        group=number // GROUP,
    )


def estimated(name: str, episodes: list[Episode]) -> dict[int, tuple[torch.Tensor, torch.Tensor]]:
    """Episode -> advantages and returns; values follow episode and place alone."""
    batch = build(episodes)
    values = [
        torch.randn(sum(item.lengths), generator=torch.Generator().manual_seed(item.episode))
        for item in batch.trajectories
    ]
    items = batch.with_values(torch.cat(values))
    found = REGISTRY.build("estimator", name).estimate(items)
    return {item.episode: (one.advantages, one.returns) for item, one in zip(items, found, strict=True)}


def alike(one: tuple[torch.Tensor, torch.Tensor], two: tuple[torch.Tensor, torch.Tensor]) -> bool:
    return all(torch.allclose(a, b, rtol=1e-5, atol=1e-6) for a, b in zip(one, two, strict=True))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), gaps=st.integers(1, 7))
def test_inserted_observations_move_nothing(name, seed, gaps) -> None:
    plain = estimated(name, [recorded(number, seed + number, 0) for number in range(GROUP)])
    spread = estimated(name, [recorded(number, seed + number, gaps) for number in range(GROUP)])
    assert all(torch.equal(a, b) for number in plain for a, b in zip(plain[number], spread[number], strict=True))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), order=st.permutations(range(2 * GROUP)))
def test_neighbours_and_their_order_move_nothing(name, seed, order) -> None:
    """Also when the episodes of two groups are mixed: a group is told by its number, not by its place."""
    both = [recorded(number, seed + number, 2) for number in range(2 * GROUP)]
    mixed = estimated(name, [both[place] for place in order])
    for half in (both[:GROUP], both[GROUP:]):
        alone = estimated(name, half)
        assert all(alike(alone[number], mixed[number]) for number in alone)


@pytest.mark.parametrize("name", [name for name in NAMES if REGISTRY.spec("estimator", name).group_option])
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), shift=st.sampled_from([-2.0, 0.5, 3.0]))
def test_what_a_task_pays_every_episode_teaches_nothing(name, seed, shift) -> None:
    """A constant added to each return of a group leaves the advantages; the returns carry it."""
    plain = [recorded(number, seed + number, 0) for number in range(GROUP)]
    paid = [
        evolve(item, turns=(*item.turns[:-1], evolve(item.turns[-1], reward=item.turns[-1].reward + shift)))
        for item in plain
    ]
    one, two = estimated(name, plain), estimated(name, paid)
    for number in one:
        torch.testing.assert_close(two[number][0], one[number][0], rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(two[number][1], one[number][1] + shift, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", [name for name in NAMES if REGISTRY.spec("estimator", name).group_option])
def test_group_estimators_tell_better_from_worse(name) -> None:
    """The counterpart of the invariances: the estimate does depend on what they hold fixed."""
    found = estimated(name, [recorded(number, number, 0) for number in range(GROUP)])
    pay = {number: sum(turn.reward for turn in recorded(number, number, 0).turns) for number in found}
    best, worst = max(pay, key=pay.__getitem__), min(pay, key=pay.__getitem__)
    assert pay[best] > pay[worst]
    assert float(found[best][0][0]) > 0 > float(found[worst][0][0])
