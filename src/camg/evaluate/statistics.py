"""Intervals and comparisons. Pure: no I/O, no clock; randomness only from an explicit seed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from attrs import frozen

from camg.errors import UsageError

_EPSILON = 1e-15
_TINY = 1e-300


@frozen
class Interval:
    """A two-sided interval for an estimate."""

    estimate: float
    low: float
    high: float


# ---------------------------------------------------------------- exact binomial
def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b), by Lentz's continued fraction (DLMF 8.17.22).

    ``a, b > 0`` and ``0 <= x <= 1``; relative error about 1e-13.
    """
    if not (a > 0 and b > 0 and 0 <= x <= 1):
        raise UsageError(f"Expected a, b > 0 and 0 <= x <= 1, got a={a}, b={b}, x={x}.")
    if x in (0.0, 1.0):
        return x
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast on the other side
        return 1.0 - incomplete_beta(b, a, 1.0 - x)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(log_front) / a * _fraction(a, b, x)


def _fraction(a: float, b: float, x: float) -> float:
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1)
    d = 1.0 / (d if abs(d) > _TINY else _TINY)
    value = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1.0 + term * d
            d = 1.0 / (d if abs(d) > _TINY else _TINY)
            c = 1.0 + term / c
            c = c if abs(c) > _TINY else _TINY
            value *= c * d
        if abs(c * d - 1.0) < _EPSILON:
            break
    return value


def beta_quantile(p: float, a: float, b: float) -> float:
    """The x with I_x(a, b) = p, by bisection to the last bit."""
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if incomplete_beta(a, b, middle) < p:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def clopper_pearson(successes: int, trials: int, level: float = 0.95) -> Interval:
    """The exact interval for a proportion (Clopper and Pearson 1934).

    low: B(alpha/2; k, n-k+1), high: B(1-alpha/2; k+1, n-k), with B the beta quantile. Coverage is at least ``level``.
    """
    if trials < 1 or not 0 <= successes <= trials or not 0 < level < 1:
        raise UsageError(f"Expected 0 <= successes <= trials and trials >= 1, got {successes} of {trials} at {level}.")
    tail = (1 - level) / 2
    low = 0.0 if successes == 0 else beta_quantile(tail, successes, trials - successes + 1)
    high = 1.0 if successes == trials else beta_quantile(1 - tail, successes + 1, trials - successes)
    return Interval(successes / trials, low, high)


# ---------------------------------------------------------------- bootstrap
def bootstrap_mean(
    strata: Mapping[str, Sequence[float]], *, resamples: int = 10_000, level: float = 0.95, seed: int = 0
) -> Interval:
    """Percentile interval for the unweighted mean over strata of the mean within each (paper C.1: Average).

    Every stratum (environment) is resampled with replacement at its own size. With one stratum: a plain mean.
    """
    _check(strata, level)
    generator = np.random.default_rng(seed)
    means = np.zeros(resamples)
    for name in sorted(strata):
        values = np.asarray(strata[name], dtype=np.float64)
        means += _resampled_means(values, resamples, generator)
    means /= len(strata)
    estimate = float(np.mean([np.mean(np.asarray(values, dtype=np.float64)) for values in strata.values()]))
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(estimate, float(low), float(high))


def paired_bootstrap(
    first: Mapping[str, Mapping[str, float]],
    second: Mapping[str, Mapping[str, float]],
    *,
    resamples: int = 10_000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Interval for the difference ``second - first`` of the average, paired by task, stratified by environment.

    ``first`` and ``second``: environment -> task -> success. A task's two results are resampled together, so that the
    difficulty of the tasks cancels. Raises :class:`UsageError` when the tasks differ.
    """
    differences: dict[str, list[float]] = {}
    if set(first) != set(second):
        raise UsageError(f"Expected the same environments on both sides, got {sorted(first)} and {sorted(second)}.")
    for env in first:
        if set(first[env]) != set(second[env]):
            odd = sorted(set(first[env]) ^ set(second[env]))
            raise UsageError(f"Expected the same tasks of {env!r} on both sides; only one has {odd[:3]}.")
        differences[env] = [second[env][task] - first[env][task] for task in sorted(first[env])]
    return bootstrap_mean(differences, resamples=resamples, level=level, seed=seed)


def _check(strata: Mapping[str, Sequence[float]], level: float) -> None:
    if not strata or not all(len(values) for values in strata.values()) or not 0 < level < 1:
        sizes = {name: len(values) for name, values in strata.items()}
        raise UsageError(f"Expected at least one value in each environment and 0 < level < 1, got {sizes}, {level}.")


def _resampled_means(values: np.ndarray, resamples: int, generator: np.random.Generator) -> np.ndarray:
    """Means of ``resamples`` draws of ``len(values)`` with replacement, float64 ``[resamples]``; bounded memory."""
    rows = max(1, 1_000_000 // len(values))
    parts = [
        values[generator.integers(0, len(values), size=(min(rows, resamples - start), len(values)))].mean(axis=1)
        for start in range(0, resamples, rows)
    ]
    return np.concatenate(parts)
