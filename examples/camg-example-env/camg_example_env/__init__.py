"""A third-party plugin for CAMG: the environment ``vault`` and the estimator ``leave-one-out``.

Hooks only name what there is. Factories are strings, so that ``camg --help`` imports neither of the modules behind
them (nor torch).
"""

from collections.abc import Iterable

from camg import hookimpl
from camg.specs import EnvironmentSpec, EstimatorSpec
from camg_example_env.config import BUDGET, VaultConfig


@hookimpl
def camg_environments() -> Iterable[EnvironmentSpec]:
    """Offer the vault."""
    yield EnvironmentSpec(
        name="vault",
        summary="A code is told on day 1 and needed again on every later day.",
        factory="camg_example_env.vault:Vault",
        config=VaultConfig,
        budget=BUDGET,
        suite=False,  # only where it is asked for by name, not in a plain `camg run`
        pocket_split="train",  # all its tasks are small enough for the embedded policy
        pocket_eval_split="eval",
        demonstrator="camg_example_env.scripts:demonstrator",
        oracle="camg_example_env.scripts:oracle",
    )


@hookimpl
def camg_estimators() -> Iterable[EstimatorSpec]:
    """Offer the estimator."""
    yield EstimatorSpec(
        name="leave-one-out",
        summary="REINFORCE; the other episodes' mean return is the control variate.",
        factory="camg_example_env.leave_one_out:LeaveOneOut",
        needs_critic=False,
    )
