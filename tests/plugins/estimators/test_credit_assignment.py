"""The estimators: hand-computed cases (field lessons 14 to 16), the GAE contract as properties, specs and options."""

from __future__ import annotations

import subprocess
import sys

import attrs
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from camg.learn.batch import build
from camg.protocols import Estimator
from camg.specs import resolve
from camg.testing import check_estimator
from camg.types import (
    Action,
    EndReason,
    Episode,
    Observation,
    Outcome,
    Segment,
    StopReason,
    Trajectory,
    Turn,
)
from camg_estimators import camg_estimators
from camg_estimators.config import GaeConfig, ReturnConfig
from camg_estimators.reinforce import Reinforce
from camg_estimators.response_gae import ResponseGae
from camg_estimators.scan import BLOCK, discounted
from camg_estimators.token_gae import TokenGae

torch.set_num_threads(1)


# ---------------------------------------------------------------- building blocks
def trajectory(rewards, lengths, values) -> Trajectory:
    return Trajectory(
        episode=0,
        env="maze",
        group=0,
        rewards=tuple(rewards),
        lengths=tuple(lengths),
        values=torch.tensor(values, dtype=torch.float32),
    )


def advantages(estimator, *args) -> list[float]:
    return estimator.estimate([trajectory(*args)])[0].advantages.tolist()


def returns(estimator, *args) -> list[float]:
    return estimator.estimate([trajectory(*args)])[0].returns.tolist()


def gae(gamma=1.0, lam=1.0) -> ResponseGae:
    return ResponseGae(GaeConfig(gamma=gamma, lam=lam))


def token_gae(gamma=1.0, lam=1.0) -> TokenGae:
    return TokenGae(GaeConfig(gamma=gamma, lam=lam))


def near(*values: float):
    return pytest.approx(list(values), abs=1e-6)


def recorded(segments, rewards, untrained=()) -> Episode:
    """An episode of the given masks: each run of ones in a segment is one turn; ids are of no account here."""
    parts, turns = [], []
    for number, mask in enumerate(segments):
        ids, mine = (0, *range(1, len(mask) + 1)), []  # one id before, so that the first token has a state
        start = 0
        while start < len(mask):
            stop = start + 1
            while stop < len(mask) and mask[stop] == mask[start]:
                stop += 1
            if mask[start]:
                index = len(turns)
                mine.append(index)
                turns.append(
                    Turn(
                        index=index,
                        segment=number,
                        prompt_length=start + 1,
                        token_ids=ids[start + 1 : stop + 1],
                        logprobs=(-1.0,) * (stop - start),
                        stop_reason=StopReason.EOS,
                        policy_version=0,
                        text="",
                        action=Action(tool="x"),
                        observation=Observation(shown=""),
                        reward=rewards[index],
                        trained=index not in untrained,
                    )
                )
            start = stop
        parts.append(Segment(ids, tuple(mine)))
    return Episode(
        id=0,
        task="t",
        env="maze",
        split="train",
        seed=0,
        segments=tuple(parts),
        turns=tuple(turns),
        outcome=Outcome(success=0.0, complete=False),
        end_reason=EndReason.TERMINATED,
    )


def placed(estimator, episode, values) -> list[list[float]]:
    """Advantages where they belong in the segments, 0 elsewhere; ``values`` stand before each token, as given."""
    batch = build([episode])
    table = torch.zeros(len(batch.behaviour))
    for sample, states, tokens in zip(batch.samples, batch.states, batch.tokens, strict=True):
        table[tokens] = torch.tensor(values[sample.segment], dtype=torch.float32)[states]
    (estimate,) = estimator.estimate(batch.with_values(table))
    out = [[0.0] * len(row) for row in values]
    for sample, states, tokens in zip(batch.samples, batch.states, batch.tokens, strict=True):
        for place, token in zip(states.tolist(), tokens.tolist(), strict=True):
            out[sample.segment][place] = float(estimate.advantages[token])
    return out


# ---------------------------------------------------------------- by hand
@pytest.mark.parametrize("make", [gae, token_gae])
def test_a_masked_value_is_never_bootstrapped(make) -> None:
    """Lesson 14: r [0, 1, 0], V [0, 0, 100], mask [1, 1, 0], gamma 1, lambda .95 => [.95, 1, 0].

    As two responses of one token each, for both levels; the masked third is an observation.
    """
    assert advantages(make(lam=0.95), [0, 1], [1, 1], [0, 0]) == near(0.95, 1)


def test_observations_are_no_steps() -> None:
    """Lesson 15: mask [1, 1, 0, 0, 1, 1], V [.1, .2, 9, 9, .5, .6], last reward 1, gamma 1, lambda .5."""
    episode = recorded([[1, 1, 0, 0, 1, 1]], [0, 1])
    values = [[0.1, 0.2, 9, 9, 0.5, 0.6]]
    assert placed(token_gae(lam=0.5), episode, values)[0] == near(0.325, 0.45, 0, 0, 0.3, 0.4)
    # Over responses: A_2 = 1 - .5, A_1 = (.5 - .1) + .5 A_2; V of the tokens within a response is not asked.
    assert placed(gae(lam=0.5), episode, values)[0] == near(0.65, 0.65, 0, 0, 0.5, 0.5)


@pytest.mark.parametrize("make", [gae, token_gae])
def test_a_reward_on_a_masked_token_moves_to_the_action_token_before(make) -> None:
    """Lesson 16: the middle turn is an untrained summary that earned 1; the first trained turn gets it."""
    moved = recorded([[1, 0, 1, 0, 1]], [0, 1, 0], untrained=(1,))
    kept = recorded([[1, 0, 0, 0, 1]], [1, 0])
    values = [[0.1, 5, 7, 5, 0.3]]
    assert placed(make(lam=0.5), moved, values)[0] == placed(make(lam=0.5), kept, values)[0]
    # A_2 = 0 - .3, A_1 = 1 + .3 - .1 + .5 A_2
    assert placed(make(lam=0.5), moved, values)[0] == near(1.05, 0, 0, 0, -0.3)


@pytest.mark.parametrize("make", [gae, token_gae])
def test_a_replaced_context_does_not_cut_the_chain(make) -> None:
    one = placed(make(0.9, 0.8), recorded([[1, 1, 0, 1, 0, 1]], [0.5, -1, 2]), [[0.1, 0.2, 9, 0.4, 9, 0.6]])
    two = placed(make(0.9, 0.8), recorded([[1, 1, 0], [1], [0, 1]], [0.5, -1, 2]), [[0.1, 0.2, 9], [0.4], [9, 0.6]])
    assert [value for row in two for value in row] == pytest.approx(one[0], abs=1e-6)


def test_response_gae_by_hand() -> None:
    """Eq. 7 to 9 with gamma .9, lambda .5, r [1, 0, 2], V [.5, 1, .2] at the first tokens, lengths 2, 1, 3.

    delta = [1 + .9 - .5, .18 - 1, 2 - .2] = [1.4, -.82, 1.8]
    A     = [1.4 + .45 (-.01), -.82 + .45 1.8, 1.8] = [1.3955, -.01, 1.8];  G = A + V = [1.8955, .99, 2]
    """
    case = ([1, 0, 2], [2, 1, 3], [0.5, 8, 1, 0.2, 8, 8])
    assert advantages(gae(0.9, 0.5), *case) == near(1.3955, 1.3955, -0.01, 1.8, 1.8, 1.8)
    assert returns(gae(0.9, 0.5), *case) == near(1.8955, 1.8955, 0.99, 2, 2, 2)


def test_token_gae_by_hand() -> None:
    """gamma .5, lambda 1, r [1, 2] at the last tokens of lengths 2, 1, V [.1, .2, .4].

    delta = [.1 - .1, 1 + .2 - .2, 2 - .4] = [0, 1, 1.6];  A = [0 + .5 1.8, 1 + .5 1.6, 1.6];  G = A + V
    """
    case = ([1, 2], [2, 1], [0.1, 0.2, 0.4])
    assert advantages(token_gae(0.5), *case) == near(0.9, 1.8, 1.6)
    assert returns(token_gae(0.5), *case) == near(1.0, 2.0, 2.0)


def test_reinforce_by_hand() -> None:
    """gamma .5, r [1, 0, 4]: G = [2, 2, 4], minus V [.5, 1, 3] at the first tokens."""
    case = ([1, 0, 4], [1, 2, 1], [0.5, 1, 9, 3])
    assert advantages(Reinforce(ReturnConfig(gamma=0.5)), *case) == near(1.5, 1, 1, 1)
    assert returns(Reinforce(ReturnConfig(gamma=0.5)), *case) == near(2, 2, 2, 4)


def test_the_defaults_are_monte_carlo_returns_minus_value() -> None:
    """Table 5: gamma = lambda = 1."""
    case = ([1, -0.5, 2], [1, 2, 1], [0.5, 1, 7, 3])
    for estimator in (ResponseGae(GaeConfig()), Reinforce(ReturnConfig())):
        assert advantages(estimator, *case) == near(2.0, 0.5, 0.5, -1)
        assert returns(estimator, *case) == near(2.5, 1.5, 1.5, 2)


# ---------------------------------------------------------------- properties
NUMBER = st.floats(-3, 3, width=32)
RATE = st.sampled_from([0.0, 0.5, 0.95, 1.0]) | st.floats(0, 1)


@st.composite
def trajectories(draw, longest=5):
    lengths = draw(st.lists(st.integers(1, longest), min_size=1, max_size=8))
    rewards = draw(st.lists(NUMBER, min_size=len(lengths), max_size=len(lengths)))
    values = draw(st.lists(NUMBER, min_size=sum(lengths), max_size=sum(lengths)))
    return trajectory(rewards, lengths, values)


def recursion(rewards, values, gamma, lam) -> tuple[list[float], list[float]]:
    """Eq. 7 to 9 as they are written, one step after the other."""
    found, following, after = [], 0.0, 0.0
    for reward, value in zip(reversed(rewards), reversed(values), strict=True):
        following = reward + gamma * after - value + gamma * lam * following
        after = value
        found.append(following)
    found.reverse()
    return found, [one + value for one, value in zip(found, values, strict=True)]


def close(tensor, expected) -> None:
    assert tensor.dtype == torch.float32
    torch.testing.assert_close(tensor, torch.tensor(expected, dtype=torch.float32), rtol=1e-5, atol=1e-5)


@settings(max_examples=100, deadline=None)
@given(trajectories(), RATE, RATE)
def test_response_gae_is_the_recursion_over_responses(case, gamma, lam) -> None:
    firsts = [sum(case.lengths[:index]) for index in range(len(case.lengths))]
    found, targets = recursion(case.rewards, [float(case.values[first]) for first in firsts], gamma, lam)
    (estimate,) = gae(gamma, lam).estimate([case])
    close(estimate.advantages, [value for value, n in zip(found, case.lengths, strict=True) for _ in range(n)])
    close(estimate.returns, [value for value, n in zip(targets, case.lengths, strict=True) for _ in range(n)])


@settings(max_examples=100, deadline=None)
@given(trajectories(), RATE, RATE)
def test_token_gae_is_the_recursion_over_tokens(case, gamma, lam) -> None:
    rewards = [x for reward, n in zip(case.rewards, case.lengths, strict=True) for x in [0.0] * (n - 1) + [reward]]
    found, targets = recursion(rewards, case.values.tolist(), gamma, lam)
    (estimate,) = token_gae(gamma, lam).estimate([case])
    close(estimate.advantages, found)
    close(estimate.returns, targets)


@settings(max_examples=60, deadline=None)
@given(trajectories(), RATE)
def test_lambda_one_is_monte_carlo_return_minus_value(case, gamma) -> None:
    (one,) = gae(gamma, 1.0).estimate([case])
    (two,) = Reinforce(ReturnConfig(gamma=gamma)).estimate([case])
    close(one.advantages, two.advantages.tolist())
    close(one.returns, two.returns.tolist())


@settings(max_examples=60, deadline=None)
@given(trajectories(longest=1), RATE, RATE)
def test_both_levels_agree_on_responses_of_one_token(case, gamma, lam) -> None:
    (one,), (two,) = gae(gamma, lam).estimate([case]), token_gae(gamma, lam).estimate([case])
    close(one.advantages, two.advantages.tolist())


@settings(max_examples=60, deadline=None)
@given(trajectories(), st.integers(1, 4), RATE, RATE)
def test_the_length_of_a_response_changes_no_advantage_of_response_gae(case, more, gamma, lam) -> None:
    """gamma and lambda decay once per response, and only the value before its first token is asked."""
    firsts = [sum(case.lengths[:index]) for index in range(len(case.lengths))]
    values = [x for first in firsts for x in [float(case.values[first])] + [77.0] * more]
    longer = trajectory(case.rewards, [1 + more] * len(firsts), values)
    (one,), (two,) = gae(gamma, lam).estimate([case]), gae(gamma, lam).estimate([longer])
    close(two.advantages[:: 1 + more], one.advantages[firsts].tolist())


@settings(max_examples=40, deadline=None)
@given(st.lists(trajectories(), min_size=1, max_size=5), st.sampled_from([gae(0.9, 0.7), token_gae(0.9, 0.7), gae()]))
def test_a_trajectory_is_estimated_for_itself(cases, estimator) -> None:
    together = estimator.estimate(cases)
    for case, estimate in zip(cases, together, strict=True):
        (alone,) = estimator.estimate([case])
        assert torch.equal(alone.advantages, estimate.advantages)
        assert torch.equal(alone.returns, estimate.returns)
        assert estimate.advantages.shape == estimate.returns.shape == case.values.shape


@settings(max_examples=80, deadline=None)
@given(st.lists(st.integers(0, 3 * BLOCK + 5), max_size=6), RATE, st.integers(0, 99))
def test_the_scan_is_the_loop_in_each_sequence(sizes, rate, seed) -> None:
    steps = torch.randn(sum(sizes), dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    expected = []
    for part in torch.split(steps, sizes):
        mine, carry = [], 0.0
        for value in reversed(part.tolist()):
            carry = value + rate * carry
            mine.append(carry)
        expected += mine[::-1]
    found = discounted(steps, sizes, rate)
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))
    for part, alone, size in zip(torch.split(found, sizes), torch.split(steps, sizes), sizes, strict=True):
        assert torch.equal(part, discounted(alone, [size], rate))  # to the last bit


@pytest.mark.parametrize("rate", [0.0, 0.5, 1.0])
def test_the_scan_leaves_its_input(rate) -> None:
    steps = torch.ones(3, dtype=torch.float64)
    discounted(steps, [3], rate).add_(1)
    assert steps.tolist() == [1, 1, 1]


def test_a_long_episode_is_exact() -> None:
    """20,000 responses of reward .1: the first return is 2,000 in float32, not a drifted sum."""
    steps = 20_000
    (estimate,) = gae().estimate([trajectory([0.1] * steps, [1] * steps, [0.0] * steps)])
    assert float(estimate.returns[0]) == pytest.approx(2_000, rel=1e-6)


# ---------------------------------------------------------------- specs and options
def test_each_spec_builds_its_estimator_from_its_default_options() -> None:
    specs = {spec.name: spec for spec in camg_estimators()}
    assert {"response-gae", "token-gae", "reinforce"} <= specs.keys()
    for name in ("response-gae", "token-gae", "reinforce"):
        spec = specs[name]
        assert (spec.group_size, spec.needs_critic, spec.ratio, spec.pipeline) == (1, True, "token", "paper")
        assert (spec.clip, spec.kl) == (0.2, 0.0)
        built = resolve(spec.factory)(spec.config())
        assert isinstance(built, Estimator)
        assert list(built.estimate([])) == []
        assert set(attrs.asdict(spec.config()).values()) == {1.0}


@pytest.mark.parametrize("estimator", [gae(0.9, 0.5), token_gae(0.9, 0.5), Reinforce(ReturnConfig(0.9))])
def test_conformance(estimator) -> None:
    check_estimator(estimator)


@pytest.mark.parametrize("options", [{"gamma": 1.01}, {"gamma": -0.1}, {"lam": 2.0}, {"lam": -1.0}])
def test_rates_outside_the_unit_interval_are_refused(options) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        GaeConfig(**options)


def test_the_package_imports_no_torch() -> None:
    code = "import sys, camg_estimators; list(camg_estimators.camg_estimators()); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "False\n"
