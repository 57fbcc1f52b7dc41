"""The estimator ``leave-one-out``: REINFORCE with the mean of the other episodes as control variate.

For episode i of n with returns R:  A_i = R_i - (sum_j R_j - R_i) / (n - 1),  the same for each of its sampled tokens.
The control variate does not depend on episode i, hence the gradient stays unbiased (Kool, van Hoof, Welling 2019).
"""

from collections.abc import Sequence

import torch

from camg.specs import NoConfig
from camg.types import Estimate, Trajectory


class LeaveOneOut:
    """Stateless: an estimate is a function of the batch, so that a resumed run continues exactly."""

    def __init__(self, config: NoConfig) -> None:
        self.config = config

    def estimate(self, trajectories: Sequence[Trajectory]) -> Sequence[Estimate]:
        """One :class:`Estimate` per trajectory: float32 ``[sum(lengths)]``, in the same order."""
        returns = [sum(trajectory.rewards) for trajectory in trajectories]
        estimates = []
        for trajectory, own in zip(trajectories, returns, strict=True):
            others = (sum(returns) - own) / max(len(returns) - 1, 1)
            tokens = sum(trajectory.lengths)
            advantages = torch.full((tokens,), own - others, dtype=torch.float32)
            estimates.append(Estimate(advantages=advantages, returns=torch.full_like(advantages, own)))
        return estimates
