"""Policies: the embedded one, any local transformers model, and scripts; all sampled in one process.

A remote engine (SGLang, vLLM) is a policy of its own and has its place in a plugin of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from camg import hookimpl
from camg.specs import PolicySpec
from camg_policies.config import POCKET_PROFILE, PocketConfig, ScriptedConfig, TorchConfig

if TYPE_CHECKING:
    import click


@hookimpl
def camg_policies() -> Iterable[PolicySpec]:
    """Offer ``pocket``, ``torch`` and ``scripted``."""
    yield PolicySpec(
        name="pocket",
        summary="A 0.2 M transformer that the package carries, warm-started on imperfect demonstrations.",
        factory="camg_policies.pocket.policy:PocketPolicy",
        config=PocketConfig,
        embedded=True,
        profile=POCKET_PROFILE,
    )
    yield PolicySpec(
        name="torch",
        summary="Any transformers causal LM with a chat template, from a folder or the hub.",
        factory="camg_policies.policy:TorchPolicy",
        config=TorchConfig,
    )
    yield PolicySpec(
        name="scripted",
        summary="A Python function; by default the environment's oracle. Cannot be trained.",
        factory="camg_policies.scripted:ScriptedPolicy",
        config=ScriptedConfig,
        trainable=False,
    )


@hookimpl
def camg_validate_run(config: Mapping[str, Any]) -> Iterable[str]:
    """A warm start that the package carries knows its own environments only."""
    from camg_policies.pocket.warmed import artefact_folder, load_recipe, shipped

    name = config["pocket.artefact"] if config["policy"] == "pocket" else ""
    if name not in shipped():
        return
    known = load_recipe(artefact_folder(name))["environments"]
    for env in config["env"]:
        if env not in known:
            yield f"the embedded policy's warm start '{name}' has seen {', '.join(known)} alone, not '{env}'"


@hookimpl
def camg_commands(cli: click.Group) -> None:
    """Add ``camg pocket``."""
    from camg_policies.pocket.commands import pocket

    cli.add_command(pocket)
