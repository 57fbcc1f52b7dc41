"""What the hooks yield: a name, a sentence, a factory and a typed configuration. Nothing heavy is imported here.

A factory is a callable or ``"module:attribute"``, called with the validated config object (and nothing else), so
that ``camg --help`` never imports torch.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

import attrs
from attrs import field, frozen

Reference = Callable[..., Any] | str


def resolve(reference: Reference) -> Any:
    """``"package.module:attribute"`` -> the object; a callable is returned as it is."""
    if not isinstance(reference, str):
        return reference
    module, _, attribute = reference.partition(":")
    found: Any = importlib.import_module(module)
    for part in attribute.split("."):
        found = getattr(found, part)
    return found


def option(default: Any, help: str, *, validator: Any = None) -> Any:
    """One field of a config class: ``sessions: int = option(6, "purchases in an episode")``."""
    return field(default=default, validator=validator, metadata={"help": help})


@frozen
class NoConfig:
    """For components without options."""


def _is_config(instance: Any, attribute: Any, value: Any) -> None:
    if not (isinstance(value, type) and attrs.has(value)):
        raise TypeError(f"Expected an attrs class as config, got {value!r}.")


@frozen(kw_only=True)
class Spec:
    """Common to all. ``requires``: import names that must be there, e.g. ``("sglang",)``."""

    name: str
    summary: str
    factory: Reference
    config: type = field(default=NoConfig, validator=_is_config)
    requires: tuple[str, ...] = ()


@frozen(kw_only=True)
class EnvironmentSpec(Spec):
    """An environment. The commands are ``module:attribute`` of click commands, mounted under ``camg tasks``."""

    budget: int  # action slots of an episode
    suite: bool = True  # part of `camg run` without --env
    train_split: str = "train"
    eval_split: str = "eval"
    pocket_split: str | None = None  # tasks for the embedded policy
    pocket_eval_split: str | None = None  # held out from it
    pocket_drill_split: str | None = None  # where perfect play needs no memory: teaches acting on what is visible
    demonstrator: Reference | None = None  # (task, seed, dialect, habit=None) -> Script: imperfect demonstrations
    oracle: Reference | None = None  # the same: solves every task through memory; without a habit, through files
    build_command: Reference | None = None
    check_command: Reference | None = None


@frozen(kw_only=True)
class MemorySpec(Spec):
    """A memory. ``pocket``: the embedded policy was warm-started for it; otherwise the reason why not.

    ``pocket_profile``: settings that it brings for the embedded policy (dotted name -> value), below the baseline and
    above the policy's profile: ``{"pocket.artefact": "agemem"}`` names the warm start. ``habit``: how a demonstrator
    keeps and finds a note by it (a :class:`camg.protocols.Habit`, called without arguments).
    """

    pocket: bool = False
    pocket_reason: str = "the embedded policy has seen no demonstrations of it"
    pocket_profile: Mapping[str, Any] = field(factory=dict)
    habit: Reference | None = None


@frozen(kw_only=True)
class EstimatorSpec(Spec):
    """An estimator and the loss that belongs to it (method: Learning).

    ``group_option`` names the option of its config that holds the group size; ``group_size`` stands where there is
    none. ``clip`` (0: no clipping) and ``kl`` (the penalty against the policy at the start) are the defaults of
    ``learner.clip`` and ``learner.kl``.
    """

    group_size: int = 1
    group_option: str = ""
    needs_critic: bool = True
    ratio: str = "token"  # or "turn": one ratio per response
    pipeline: str = "paper"  # centre per environment, common scale, inverse token weights, standardise; or "none"
    clip: float = 0.2
    kl: float = 0.0


@frozen(kw_only=True)
class RewardSpec(Spec):
    """A reward that the learner trains on in place of the environment's own (shaping)."""


@frozen(kw_only=True)
class RecipeSpec(Spec):
    """A training recipe: stages of a run that differ in options of the memory."""


@frozen(kw_only=True)
class PolicySpec(Spec):
    """A policy. ``profile``: settings that it brings (dotted name -> value), below baseline in precedence."""

    trainable: bool = True
    embedded: bool = False
    profile: Mapping[str, Any] = field(factory=dict)


@frozen(kw_only=True)
class SandboxSpec(Spec):
    """A sandbox. ``probe``: () -> reason why it cannot run here, or None."""

    isolated: bool = True
    probe: Reference | None = None


@frozen(kw_only=True)
class ReporterSpec(Spec):
    """A reporter. ``default``: attached unless switched off."""

    default: bool = False


@frozen(kw_only=True)
class BaselineSpec:
    """A named, whole method that a paper's table compares against: components and only the settings that define it.

    ``table``: where it stands in the paper.
    """

    name: str
    summary: str
    table: str = ""
    components: Mapping[str, str] = field(factory=dict)  # e.g. {"memory": "shell", "estimator": "response-gae"}
    settings: Mapping[str, Any] = field(factory=dict)  # e.g. {"learner.no_memory_gradient": True}
