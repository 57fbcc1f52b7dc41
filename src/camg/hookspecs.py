"""Every hook of CAMG. Hooks select and observe; the hot loops run plain typed objects.

A plugin is a module (or object) registered under the entry-point group ``camg``::

    # pyproject.toml
    [project.entry-points.camg]
    my-plugin = "my_package"
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pluggy

from camg import PROJECT
from camg.specs import (
    BaselineSpec,
    EnvironmentSpec,
    EstimatorSpec,
    MemorySpec,
    PolicySpec,
    RecipeSpec,
    ReporterSpec,
    RewardSpec,
    SandboxSpec,
)
from camg.types import Episode, HealthCheck, UpdateReport

if TYPE_CHECKING:
    import click

hookspec = pluggy.HookspecMarker(PROJECT)


@hookspec
def camg_environments() -> Iterable[EnvironmentSpec]:  # type: ignore[empty-body]
    """Called once, when names are resolved. Yield the environments that you offer::

    from camg import hookimpl
    from camg.specs import EnvironmentSpec

    @hookimpl
    def camg_environments():
        yield EnvironmentSpec(name="maze", summary="A maze.", factory="my_package.maze:Maze", budget=20)
    """


@hookspec
def camg_memories() -> Iterable[MemorySpec]:  # type: ignore[empty-body]
    """Called once, when names are resolved. Yield the memories that you offer::

    from camg import hookimpl
    from camg.specs import MemorySpec

    @hookimpl
    def camg_memories():
        yield MemorySpec(name="ring", summary="Keeps the last notes.", factory="my_package.ring:Ring")
    """


@hookspec
def camg_estimators() -> Iterable[EstimatorSpec]:  # type: ignore[empty-body]
    """Called once, when names are resolved. Yield the estimators that you offer::

    from camg import hookimpl
    from camg.specs import EstimatorSpec

    @hookimpl
    def camg_estimators():
        yield EstimatorSpec(name="constant", summary="One for all.", factory="my_package:Constant")
    """


@hookspec
def camg_rewards() -> Iterable[RewardSpec]:  # type: ignore[empty-body]
    """Called once, when names are resolved. Yield the rewards (shaping) that you offer::

    from camg import hookimpl
    from camg.specs import RewardSpec

    @hookimpl
    def camg_rewards():
        yield RewardSpec(name="terse", summary="Charges for length.", factory="my_package:Terse")
    """


@hookspec
def camg_recipes() -> Iterable[RecipeSpec]:  # type: ignore[empty-body]
    """Called once, when names are resolved. Yield the training recipes that you offer::

    from camg import hookimpl
    from camg.specs import RecipeSpec

    @hookimpl
    def camg_recipes():
        yield RecipeSpec(name="warm", summary="Help at first.", factory="my_package:Warm")
    """


@hookspec
def camg_baselines() -> Iterable[BaselineSpec]:  # type: ignore[empty-body]
    """Called once, when names are resolved. Yield whole named methods::

    from camg import hookimpl
    from camg.specs import BaselineSpec

    @hookimpl
    def camg_baselines():
        yield BaselineSpec(name="mine", summary="My method.", components={"estimator": "constant"})
    """


@hookspec
def camg_policies() -> Iterable[PolicySpec]:  # type: ignore[empty-body]
    """Called once, when names are resolved. Yield the policies that you offer::

    from camg import hookimpl
    from camg.specs import PolicySpec

    @hookimpl
    def camg_policies():
        yield PolicySpec(name="mine", summary="My engine.", factory="my_package:Mine", trainable=False)
    """


@hookspec
def camg_sandboxes() -> Iterable[SandboxSpec]:  # type: ignore[empty-body]
    """Called once, when names are resolved. Yield the sandboxes that you offer::

    from camg import hookimpl
    from camg.specs import SandboxSpec

    @hookimpl
    def camg_sandboxes():
        yield SandboxSpec(name="vm", summary="A virtual machine.", factory="my_package:VM")
    """


@hookspec
def camg_reporters() -> Iterable[ReporterSpec]:  # type: ignore[empty-body]
    """Called once, when names are resolved. Yield the reporters that you offer::

    from camg import hookimpl
    from camg.specs import ReporterSpec

    @hookimpl
    def camg_reporters():
        yield ReporterSpec(name="csv", summary="Writes a CSV.", factory="my_package:Csv")
    """


@hookspec
def camg_validate_run(config: Mapping[str, Any]) -> Iterable[str]:  # type: ignore[empty-body]
    """Called before a run starts, with every resolved setting by dotted name. Yield each reason why it cannot run::

    from camg import hookimpl

    @hookimpl
    def camg_validate_run(config):
        if config["env"] == ["maze"] and config["memory"] != "shell":
            yield "maze needs --memory shell, since its map is a file"
    """


@hookspec
def camg_commands(cli: click.Group) -> None:
    """Called when the command line is used. Add subcommands; replacing one is refused::

    import click
    from camg import hookimpl

    @hookimpl
    def camg_commands(cli):
        @cli.command("hello")
        def hello():
            click.echo("hello")
    """


@hookspec
def camg_health_checks() -> Iterable[HealthCheck]:  # type: ignore[empty-body]
    """Called by ``camg doctor``. Yield what a user should know about this machine::

    from camg import hookimpl
    from camg.types import HealthCheck

    @hookimpl
    def camg_health_checks():
        yield HealthCheck("maze data", ok=True, detail="found 12 mazes")
    """


@hookspec
def camg_run_start(run: Mapping[str, Any]) -> None:
    """Called once in the supervisor, when a cell starts, with its manifest. Observe only::

    from camg import hookimpl

    @hookimpl
    def camg_run_start(run):
        print(run["directory"])
    """


@hookspec
def camg_episode_end(run: Mapping[str, Any], episode: Episode) -> None:
    """Called in the rollout process, after an episode was enqueued. Observe only::

    from camg import hookimpl

    @hookimpl
    def camg_episode_end(run, episode):
        print(episode.id, episode.outcome.success)
    """


@hookspec
def camg_update_end(run: Mapping[str, Any], report: UpdateReport) -> None:
    """Called in the learner, after an update was checkpointed and published. Observe only::

    from camg import hookimpl

    @hookimpl
    def camg_update_end(run, report):
        print(report.update, report.metrics["loss/actor"])
    """


@hookspec
def camg_run_end(run: Mapping[str, Any], outcome: Mapping[str, Any]) -> None:
    """Called once in the supervisor, when a cell ended (finished, failed or interrupted). Observe only::

    from camg import hookimpl

    @hookimpl
    def camg_run_end(run, outcome):
        print(outcome["status"])
    """
