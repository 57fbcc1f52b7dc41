"""The grid of a sweep: every combination of the values on its axes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from camg.errors import ConfigError


def parse_axis(text: str) -> tuple[str, list[str]]:
    """``"learner.actor_lr=1e-4,3e-4"`` -> the dotted name and its values.

    On the axis ``env``, ``a+b`` is one joint run on both. Raises :class:`ConfigError`.
    """
    name, equals, values = text.partition("=")
    name, parts = name.strip(), [part.strip() for part in values.split(",") if part.strip()]
    if not name or not equals or not parts:
        raise ConfigError(f"--sweep: Expected PATH=VALUE,VALUE (such as run.seed=0,1,2), got {text!r}.")
    return name, parts


def expand(axes: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Every combination as dotted name -> value; the last axis varies fastest. No axis: one empty combination."""
    for values in itertools.product(*axes.values()):
        combination = dict(zip(axes, values, strict=True))
        if isinstance(combination.get("env"), str):
            combination["env"] = combination["env"].split("+")
        yield combination
