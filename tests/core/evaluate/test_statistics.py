"""Intervals against known values: Clopper-Pearson from tables, the beta function from identities, the bootstrap from
theory."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from camg.errors import UsageError
from camg.evaluate.statistics import (
    beta_quantile,
    bootstrap_mean,
    clopper_pearson,
    incomplete_beta,
    paired_bootstrap,
)


# ---------------------------------------------------------------- the incomplete beta function
@given(st.integers(1, 60), st.integers(0, 60), st.floats(0.001, 0.999))
def test_it_is_the_binomial_tail(n: int, k: int, p: float) -> None:
    """I_p(k, n-k+1) = P(X >= k) for X ~ Binomial(n, p)."""
    k = 1 + k % n
    tail = sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1))
    assert incomplete_beta(k, n - k + 1, p) == pytest.approx(tail, rel=1e-10, abs=1e-14)


@given(st.floats(0.1, 500), st.floats(0.1, 500), st.floats(0.001, 0.999))
def test_it_is_symmetric(a: float, b: float, x: float) -> None:
    assert incomplete_beta(a, b, x) == pytest.approx(1 - incomplete_beta(b, a, 1 - x), abs=1e-12)


@given(st.floats(0.3, 200), st.floats(0.3, 200), st.floats(0.001, 0.999))
def test_the_quantile_inverts_it(a: float, b: float, p: float) -> None:
    assert incomplete_beta(a, b, beta_quantile(p, a, b)) == pytest.approx(p, abs=1e-9)


def test_closed_forms() -> None:
    assert incomplete_beta(1, 1, 0.3) == pytest.approx(0.3, abs=1e-15)
    assert incomplete_beta(2, 1, 0.3) == pytest.approx(0.09, abs=1e-15)
    assert incomplete_beta(0.5, 0.5, 0.3) == pytest.approx(2 / math.pi * math.asin(math.sqrt(0.3)), abs=1e-13)


# ---------------------------------------------------------------- Clopper-Pearson
@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [
        (0, 10, 0.0, 0.3084971),
        (1, 10, 0.0025286, 0.4450161),
        (5, 10, 0.1870860, 0.8129140),
        (9, 10, 0.5549839, 0.9974714),
        (10, 10, 0.6915029, 1.0),
    ],
)
def test_known_intervals(k: int, n: int, low: float, high: float) -> None:
    found = clopper_pearson(k, n)
    assert (found.low, found.high) == (pytest.approx(low, abs=1e-6), pytest.approx(high, abs=1e-6))
    assert found.estimate == k / n


@pytest.mark.parametrize(("k", "n"), [(34, 128), (125, 128), (3, 1000)])
def test_the_ends_are_where_the_tails_hold_half_of_alpha(k: int, n: int) -> None:
    """By definition: P(X >= k | low) = P(X <= k | high) = 0.025."""
    found = clopper_pearson(k, n)
    upper = sum(math.comb(n, i) * found.low**i * (1 - found.low) ** (n - i) for i in range(k, n + 1))
    lower = sum(math.comb(n, i) * found.high**i * (1 - found.high) ** (n - i) for i in range(k + 1))
    assert (upper, lower) == (pytest.approx(0.025, rel=1e-9), pytest.approx(0.025, rel=1e-9))


def test_zero_successes_have_the_closed_form() -> None:
    """high = 1 - (alpha/2)^(1/n)."""
    for n in (1, 7, 128, 5000):
        assert clopper_pearson(0, n).high == pytest.approx(1 - 0.025 ** (1 / n), rel=1e-10)
        assert clopper_pearson(n, n).low == pytest.approx(0.025 ** (1 / n), rel=1e-10)


@given(st.integers(1, 300), st.integers(0, 300), st.floats(0.5, 0.99))
def test_it_holds_the_estimate_and_mirrors(n: int, k: int, level: float) -> None:
    k %= n + 1
    found, mirrored = clopper_pearson(k, n, level), clopper_pearson(n - k, n, level)
    assert found.low <= found.estimate <= found.high
    assert found.low == pytest.approx(1 - mirrored.high, abs=1e-9)


@pytest.mark.parametrize("p", [0.03, 0.2, 0.5, 0.9])
def test_coverage_is_at_least_nominal(p: float) -> None:
    """Exactly, by summing over all outcomes."""
    n = 40
    covered = 0.0
    for k in range(n + 1):
        found = clopper_pearson(k, n)
        if found.low <= p <= found.high:
            covered += math.comb(n, k) * p**k * (1 - p) ** (n - k)
    assert covered >= 0.95


# ---------------------------------------------------------------- bootstrap
def test_the_bootstrap_of_a_mean_agrees_with_theory() -> None:
    values = [float(i % 10 < 3) for i in range(400)]
    found = bootstrap_mean({"a": values})
    half = 1.96 * math.sqrt(0.3 * 0.7 / 400)
    assert found.estimate == pytest.approx(0.3)
    assert found.low == pytest.approx(0.3 - half, abs=0.004)
    assert found.high == pytest.approx(0.3 + half, abs=0.004)


def test_strata_count_alike_whatever_their_size() -> None:
    found = bootstrap_mean({"big": [1.0] * 1000, "small": [0.0] * 10})
    assert (found.estimate, found.low, found.high) == (0.5, 0.5, 0.5)


def test_it_is_a_function_of_its_seed() -> None:
    values = {"a": [math.sin(i) for i in range(50)], "b": [math.cos(i) for i in range(30)]}
    assert bootstrap_mean(values, seed=3) == bootstrap_mean(dict(reversed(values.items())), seed=3)
    assert bootstrap_mean(values, seed=3) != bootstrap_mean(values, seed=4)


def test_pairing_removes_the_difficulty_of_tasks() -> None:
    """Every task gains 0.1: paired, the interval is a point; the means alone would be uncertain."""
    first = {"a": {str(i): i / 20 for i in range(10)}, "b": {str(i): 0.5 * (i % 2) for i in range(6)}}
    second = {env: {task: value + 0.1 for task, value in tasks.items()} for env, tasks in first.items()}
    found = paired_bootstrap(first, second)
    assert found.estimate == pytest.approx(0.1)
    assert found.high - found.low < 1e-9
    swapped = paired_bootstrap(second, first)
    assert swapped.estimate == pytest.approx(-0.1)


def test_bad_input_is_named() -> None:
    with pytest.raises(UsageError, match="3 of 2"):
        clopper_pearson(3, 2)
    with pytest.raises(UsageError, match="trials >= 1"):
        clopper_pearson(0, 0)
    with pytest.raises(UsageError, match="at least one value"):
        bootstrap_mean({"a": []})
    with pytest.raises(UsageError, match="same environments"):
        paired_bootstrap({"a": {"x": 1}}, {"b": {"x": 1}})
    with pytest.raises(UsageError, match="'y'"):
        paired_bootstrap({"a": {"x": 1}}, {"a": {"x": 1, "y": 0}})
    with pytest.raises(UsageError, match="got a=0"):
        incomplete_beta(0, 1, 0.5)
