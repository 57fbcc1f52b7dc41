"""Coding: software repair with hidden tests (paper A.1.2)."""

from __future__ import annotations

from collections.abc import Iterable

from camg import hookimpl
from camg.specs import EnvironmentSpec
from camg_coding.config import BUDGET, CodingConfig


@hookimpl
def camg_environments() -> Iterable[EnvironmentSpec]:
    """Coding with its pocket split, demonstrator, oracle and task commands."""
    yield EnvironmentSpec(
        name="coding",
        summary="Repair a repository until its hidden tests pass; the shell is the only tool.",
        factory="camg_coding.environment:Coding",
        config=CodingConfig,
        budget=BUDGET,
        pocket_split="pocket",
        pocket_eval_split="pocket-eval",
        pocket_drill_split="pocket-drill",
        demonstrator="camg_coding.demonstrator:demonstrator",
        oracle="camg_coding.oracle:oracle",
        build_command="camg_coding.commands:build",
        check_command="camg_coding.commands:check",
    )
