"""Can this combination run? Asked before anything is written."""

from __future__ import annotations

from collections.abc import Iterator

from camg.config.record import RunConfig
from camg.config.stages import stage_plan
from camg.errors import BackendUnavailable, ConfigError
from camg.plugins import Registry
from camg.specs import resolve

NOT_ISOLATED = "i_know_this_is_not_isolated"
"""The option by which a sandbox without isolation wants to be confirmed (``--i-know-this-is-not-isolated``)."""


def reasons_against(config: RunConfig, registry: Registry) -> list[str]:
    """Every reason why a cell cannot run, the core's first, then those of plugins (``camg_validate_run``)."""
    reasons = [*_policy(config, registry), *_numbers(config, registry), *_sandbox(config, registry)]
    reasons += _stages(config, registry)
    for found in registry.hook.camg_validate_run(config=config.flat()):
        reasons += [str(reason) for reason in found or ()]
    return reasons


def check_run(config: RunConfig, registry: Registry) -> None:
    """Is everything there that the cell needs, and does it go together? Nothing heavy is imported.

    Raises :class:`PluginError` for a component that is broken or lacks something, :class:`ConfigError` with every
    reason why the cell cannot run, :class:`BackendUnavailable` with the sandbox's reason why it cannot run here.
    """
    for kind, name in config.selected():
        registry.check(kind, name)
    reasons = reasons_against(config, registry)
    if reasons:
        several = f"{len(reasons)} reasons against this run: " if len(reasons) > 1 else "This cannot run: "
        raise ConfigError(several + "; ".join(reason.rstrip(".") for reason in reasons) + ".")
    spec = registry.spec("sandbox", config.sandbox)
    reason = resolve(spec.probe)() if spec.probe is not None else None
    if reason:
        raise BackendUnavailable(
            f"The sandbox '{config.sandbox}' cannot run here: {reason}", hint="`camg doctor` says what to do."
        )


def _policy(config: RunConfig, registry: Registry) -> Iterator[str]:
    policy = registry.spec("policy", config.policy)
    if config.run.updates > 0 and not policy.trainable:
        yield f"the policy '{config.policy}' cannot be trained: set --updates 0 or choose another --policy"
    if not policy.embedded:
        return
    memory = registry.spec("memory", config.memory)
    if not memory.pocket:
        yield f"the memory '{config.memory}' does not go with the policy '{config.policy}': {memory.pocket_reason}"
    for env in config.envs:
        spec = registry.spec("environment", env)
        lacking = not (config.run.split or spec.pocket_split)
        if lacking or (config.evaluation.tasks and not (config.evaluation.split or spec.pocket_eval_split)):
            yield (
                f"the environment '{env}' does not go with the policy '{config.policy}': it has no "
                f"{'training' if lacking else 'held-out'} tasks small enough for it"
            )


def _numbers(config: RunConfig, registry: Registry) -> Iterator[str]:
    rollout = config.rollout
    needed = rollout.response_tokens + rollout.reserve_tokens
    if rollout.prompt_tokens <= needed:
        yield (
            f"rollout.prompt_tokens: expected more than rollout.response_tokens + rollout.reserve_tokens = {needed}, "
            f"got {rollout.prompt_tokens}, which leaves no room for a prompt"
        )
    if config.learner.value_pretraining and not registry.spec("estimator", config.estimator).needs_critic:
        yield (
            f"learner.value_pretraining: the estimator '{config.estimator}' has no critic to train first, so "
            f"{config.learner.value_pretraining} updates would change nothing: set it to 0"
        )
    group = config.group_size(registry)
    if config.run.updates > 0 and config.run.episodes % group:
        yield (
            f"run.episodes: expected a multiple of {group}, the group size of the estimator '{config.estimator}', "
            f"got {config.run.episodes}"
        )


def _stages(config: RunConfig, registry: Registry) -> Iterator[str]:
    plan = stage_plan(config, registry)  # raises what is wrong with the recipe itself
    idle = [name for name, updates in zip(plan.names, plan.updates(), strict=True) if not updates]
    if config.run.updates > 0 and idle:
        yield (
            f"run.updates: expected at least one update for each stage of the recipe '{config.recipe}' "
            f"({', '.join(plan.names)}), got {config.run.updates}, which leaves none for {', '.join(idle)}"
        )


def _sandbox(config: RunConfig, registry: Registry) -> Iterator[str]:
    spec = registry.spec("sandbox", config.sandbox)
    if not spec.isolated and not getattr(config.component("sandbox", config.sandbox), NOT_ISOLATED, False):
        yield (
            f"the sandbox '{config.sandbox}' does not isolate what the policy runs: "
            "say --i-know-this-is-not-isolated, or choose another --sandbox"
        )
