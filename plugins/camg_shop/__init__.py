"""Shop: six dependent purchases in WebShop, one cross-session dependency (paper A.1.1)."""

from __future__ import annotations

from collections.abc import Iterable

from camg import hookimpl
from camg.specs import EnvironmentSpec
from camg_shop.config import BUDGET, ShopConfig


@hookimpl
def camg_environments() -> Iterable[EnvironmentSpec]:
    """Shop with its pocket split, demonstrator, oracle and task commands."""
    yield EnvironmentSpec(
        name="shop",
        summary="Six dependent WebShop purchases; what a session reveals is needed after its transcript is cleared.",
        factory="camg_shop.environment:Shop",
        config=ShopConfig,
        budget=BUDGET,
        pocket_split="pocket",
        pocket_eval_split="pocket-eval",
        demonstrator="camg_shop.demonstrator:demonstrator",
        oracle="camg_shop.oracle:oracle",
        build_command="camg_shop.commands:build",
        check_command="camg_shop.commands:check",
    )
