"""Does an estimator keep its promises?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from camg.protocols import Estimator
from camg.testing.expect import expect, expect_members
from camg.types import Trajectory


def check_estimator(estimator: Estimator, *, group_size: int = 1, seed: int = 0) -> None:
    """Check shapes, types, purity and independence of order, on random trajectories. Imports torch.

    Raises ``AssertionError`` with a sentence.
    """
    import torch

    expect_members(estimator, Estimator, "The estimator")
    trajectories = _random_trajectories(group_size, seed)
    values = [trajectory.values.clone() for trajectory in trajectories]
    first = _estimated(estimator, trajectories)
    for trajectory, kept in zip(trajectories, values, strict=True):
        expect(torch.equal(trajectory.values, kept), "Expected an estimator that leaves its input as it is.")
    second = _estimated(estimator, trajectories)
    for (advantages, returns), (again, returns_again) in zip(first, second, strict=True):
        same = torch.equal(advantages, again) and torch.equal(returns, returns_again)
        expect(same, "Expected the same estimate for the same input, got another the second time.")
    # whole groups change places; within a group the order stays
    order = [i for start in range(0, len(trajectories), group_size)[::-1] for i in range(start, start + group_size)]
    moved = _estimated(estimator, [trajectories[i] for i in order])
    for place, index in enumerate(order):
        expect(
            torch.allclose(moved[place][0], first[index][0], atol=1e-5),
            "Expected an episode's advantages not to depend on its place in the batch.",
        )
    expect(list(_estimated(estimator, [])) == [], "Expected no estimates for no trajectories.")


def _random_trajectories(group_size: int, seed: int) -> list[Trajectory]:
    import torch

    generator = torch.Generator().manual_seed(seed)

    def draw(low: int, high: int) -> int:
        return int(torch.randint(low, high, (1,), generator=generator))

    trajectories = []
    for group in range(3):
        for member in range(group_size):
            turns = draw(1, 5)
            lengths = tuple(draw(1, 6) for _ in range(turns))
            rewards = tuple(draw(-100, 100) / 100 for _ in range(turns))
            values = torch.randn(sum(lengths), generator=generator)
            number = group * group_size + member
            trajectories.append(Trajectory(number, f"env{group % 2}", group, rewards, lengths, values, member % 2 == 0))
    return trajectories


def _estimated(estimator: Estimator, trajectories: Sequence[Trajectory]) -> list[tuple[Any, Any]]:
    """The estimates as ``(advantages, returns)``, each checked for shape, type and finiteness."""
    import torch

    estimates = list(estimator.estimate(trajectories))
    expect(
        len(estimates) == len(trajectories),
        f"Expected one estimate for each of {len(trajectories)} trajectories, got {len(estimates)}.",
    )
    for trajectory, estimate in zip(trajectories, estimates, strict=True):
        tokens = sum(trajectory.lengths)
        for name in ("advantages", "returns"):
            tensor = getattr(estimate, name)
            shape = tuple(getattr(tensor, "shape", ()))
            expect(shape == (tokens,), f"Expected {name} of shape ({tokens},), one for each token, got {shape}.")
            expect(tensor.dtype == torch.float32, f"Expected float32 {name}, got {tensor.dtype}.")
            expect(bool(torch.isfinite(tensor).all()), f"Expected finite {name}, got {tensor.tolist()}.")
            expect(not tensor.requires_grad, f"Expected {name} without a gradient.")
    return [(estimate.advantages, estimate.returns) for estimate in estimates]
