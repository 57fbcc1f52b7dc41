"""``camg tasks``: build, check and show the tasks of an environment."""

from __future__ import annotations

import json
from typing import Any

import click
from click.shell_completion import CompletionItem

from camg.cli.group import BUILT_IN, registry_of
from camg.cli.options import Assignment, ComponentName, echo_json, json_option
from camg.config.convert import convert, make, option_types
from camg.errors import ConfigError, UsageError
from camg.plugins import did_you_mean
from camg.specs import resolve


class EnvironmentCommands(click.Group):
    """Subcommands by environment: the commands that the specs name, imported when they are used."""

    def __init__(self, field: str, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._field = field

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The environments that offer this."""
        registry = registry_of(ctx)
        specs = [registry.spec("environment", name) for name in registry.names("environment")]
        return [spec.name for spec in specs if getattr(spec, self._field) is not None]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of one environment. Raises :class:`UsageError` if it offers none."""
        reference = getattr(registry_of(ctx).spec("environment", cmd_name), self._field)
        if reference is None:
            others = ", ".join(self.list_commands(ctx)) or "none does"
            raise UsageError(f"The environment '{cmd_name}' has nothing to {self.name}. Those that have: {others}.")
        command: click.Command = resolve(reference)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Names and summaries, without importing the commands."""
        registry = registry_of(ctx)
        names = self.list_commands(ctx)
        if names:
            with formatter.section("Environments"):
                formatter.write_dl([(name, registry.spec("environment", name).summary) for name in names])


@click.group("tasks", help=BUILT_IN["tasks"])
def command() -> None:
    """The group."""


command.add_command(
    EnvironmentCommands("build_command", name="build", help="Prepare the data that an environment's tasks are made of.")
)
command.add_command(
    EnvironmentCommands("check_command", name="check", help="Prove what an environment promises about its tasks.")
)


class TaskId(click.ParamType):  # type: ignore[type-arg]
    """The id of a task; the shell completes the first ones."""

    name = "id"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Some ids of the default splits."""
        registry, env = registry_of(ctx), str(ctx.params.get("env"))
        spec = registry.spec("environment", env)
        environment = registry.build("environment", env)
        splits = [spec.pocket_eval_split or spec.eval_split, spec.eval_split]
        ids = [task for split in dict.fromkeys(splits) for task in environment.task_ids(split)[:200]]
        return [CompletionItem(task) for task in ids if task.startswith(incomplete)][:50]


@command.command("show")
@click.argument("env", type=ComponentName("environment"))
@click.argument("task_id", metavar="[ID]", required=False, type=TaskId())
@click.option("--split", help="List the ids of this split.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Ids to list.")
@click.option("--set", "settings", type=Assignment(), multiple=True, help="An option of the environment.")
@json_option
@click.pass_context
def show(
    ctx: click.Context,
    env: str,
    task_id: str | None,
    split: str | None,
    limit: int,
    settings: tuple[tuple[str, str], ...],
    as_json: bool,
) -> None:
    """Show the task ID as the policy meets it, or list the ids of a split."""
    registry = registry_of(ctx)
    spec = registry.spec("environment", env)
    environment = registry.build("environment", env, _configured(spec, env, settings))
    if task_id is None:
        chosen = split or spec.eval_split
        ids = list(environment.task_ids(chosen))
        if as_json:
            echo_json({"env": env, "split": chosen, "count": len(ids), "ids": ids[:limit]})
            return
        click.echo("\n".join(ids[:limit]))
        click.echo(f"{len(ids)} tasks in the split {chosen}", err=True)
        return
    task = environment.task(task_id)
    brief = _brief(environment, task)
    if as_json:
        about = {"id": task.id, "env": task.env, "split": task.split, "budget": task.budget}
        echo_json({**about, "brief": brief, "payload": dict(task.payload)})
        return
    click.secho(f"{task.id}: split {task.split}, {task.budget} action slots\n", bold=True)
    click.echo(brief)
    click.secho("\nprivate to the environment:", dim=True)
    click.echo(json.dumps(dict(task.payload), indent=2, ensure_ascii=False))


def _configured(spec: Any, env: str, settings: tuple[tuple[str, str], ...]) -> Any:
    """The environment's config object with ``--set`` applied."""
    kinds = option_types(spec.config)
    values = {}
    for name, text in settings:
        option = name.removeprefix(f"{env}.")
        if option not in kinds:
            raise ConfigError(f"Unknown setting '{name}'. {did_you_mean(option, kinds)}".rstrip())
        values[option] = convert(f"{env}.{option}", text, kinds[option], "command line")
    return make(spec.config, values, env, {f"{env}.{option}": "command line" for option in values})


def _brief(environment: Any, task: Any) -> str:
    """What opens the task's first context."""
    from camg.testing.parts import FolderBox

    box = FolderBox(workspace=environment.workspace(task))
    try:
        session = environment.open(task, box, lambda workspace, limits=None: FolderBox(limits, workspace))
        try:
            return str(session.brief())
        finally:
            session.close()
    finally:
        box.close()
