"""The group ``camg``: commands are imported when they are used, plugins when they may be needed."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import click

from camg import __version__
from camg.errors import UsageError
from camg.plugins import Registry, did_you_mean, load_registry

SECTIONS: dict[str, dict[str, str]] = {
    "Train and evaluate": {
        "run": "Train a policy: one run, from warm start to summary.",
        "sweep": "Train a grid: every combination of components and settings.",
        "eval": "Evaluate a checkpoint on held-out tasks, with intervals.",
        "serve": "Serve a policy or a checkpoint over HTTP, as OpenAI's API.",
    },
    "Look at results": {
        "report": "Table and learning curve of one run or several.",
        "replay": "Print one episode turn by turn.",
    },
    "Know what is there": {
        "tasks": "Build, check and show the tasks of an environment.",
        "show": "Show components and settings, with defaults and help.",
        "plugins": "List plugins, their state and what they offer.",
        "doctor": "Check this machine, and say what to do about what fails.",
    },
    "Extend": {
        "new-plugin": "Write a plugin of two files that works.",
        "completion": "Print the completion script of your shell.",
    },
}
"""Command -> one line, by section. ``camg x-y`` lives in ``camg/cli/x_y.py`` as ``command``."""

BUILT_IN = {name: line for section in SECTIONS.values() for name, line in section.items()}

EXAMPLES = """\
Examples:
  camg run                              every environment, with a policy that needs no GPU and no download
  camg run --env shop --memory shell --estimator response-gae
  camg run --set learner.actor_lr=1e-4  any setting by its name; `camg show learner` lists some
  camg sweep --baseline camg-rl --baseline no-memory-gradient --seed 0 --seed 1
  camg report                           the latest run
"""


class CamgGroup(click.Group):
    """Lists the built-in commands by section without importing them, then those that plugins add."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Built-in commands in the order of the help, then those of plugins."""
        return [*BUILT_IN, *sorted(plugin_commands(ctx))]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A built-in command, else one of a plugin."""
        if cmd_name in BUILT_IN:
            command: click.Command = import_module(f"camg.cli.{cmd_name.replace('-', '_')}").command
            return command
        return plugin_commands(ctx).get(cmd_name)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """As click does, with a suggestion for a name that it does not know."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            ctx.fail(f"There is no command '{args[0]}'. {did_you_mean(args[0], self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """One line for each command, grouped."""
        width = max(map(len, BUILT_IN))
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), line) for name, line in commands.items()])
        added = plugin_commands(ctx)
        if added:
            with formatter.section("From plugins"):
                lines = [(name.ljust(width), command.get_short_help_str(80)) for name, command in sorted(added.items())]
                formatter.write_dl(lines)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The examples, as they are."""
        formatter.write_paragraph()
        formatter.write(EXAMPLES)


@click.group(
    cls=CamgGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    help="Train language-model agents to use ordinary files as memory.",
)
@click.version_option(__version__, "-V", "--version", message="camg %(version)s")
@click.option("--no-plugin", metavar="NAME", multiple=True, help="Leave out a plugin (or a distribution); repeatable.")
def cli(no_plugin: tuple[str, ...]) -> None:
    """The group; each command reads ``no_plugin`` through :func:`registry_of`."""


def registry_of(ctx: click.Context, no_plugin: tuple[str, ...] = ()) -> Registry:
    """The plugins of this process, loaded once; ``no_plugin``: what the command itself wants left out."""
    root = ctx.find_root()
    disabled = tuple(dict.fromkeys([*root.params.get("no_plugin", ()), *no_plugin]))
    loaded: dict[tuple[str, ...], Registry] = root.ensure_object(dict)
    if disabled not in loaded:
        completing = ctx.resilient_parsing  # no remarks between what the shell offers
        registry = load_registry(disabled=disabled, quiet=completing, strict=False if completing else None)
        _check_left_out(registry, disabled)
        loaded[disabled] = registry
    return loaded[disabled]


def _check_left_out(registry: Registry, names: tuple[str, ...]) -> None:
    """A misspelt ``--no-plugin`` must not leave the plugin in. Raises :class:`UsageError`."""
    known = {"external"}.union(*({info.name, info.distribution} for info in registry.plugins()))
    for name in names:
        if name.lower().replace("_", "-") not in {other.lower().replace("_", "-") for other in known}:
            raise UsageError(f"--no-plugin {name}: there is no such plugin. {did_you_mean(name, known)}".rstrip())


def plugin_commands(ctx: click.Context) -> dict[str, click.Command]:
    """Commands that plugins add. One that would replace another is refused, with a line on stderr."""
    root = ctx.find_root()
    if "camg.commands" in root.meta:
        kept: dict[str, click.Command] = root.meta["camg.commands"]
        return kept
    collector = click.Group("camg")
    offers: dict[str, list[tuple[str, click.Command]]] = {}
    for info, _ in registry_of(ctx).call_each("camg_commands", {"cli": collector}):
        for name, command in collector.commands.items():
            offers.setdefault(name, []).append((info.label, command))
        collector.commands.clear()
    commands: dict[str, click.Command] = {}
    for name, claims in offers.items():
        labels = " and ".join(label for label, _ in claims)
        if name not in BUILT_IN and len(claims) == 1:
            commands[name] = claims[0][1]
        elif not root.resilient_parsing:  # no remarks between what the shell offers
            why = "it is one of camg's own" if name in BUILT_IN else "neither may decide by being there first"
            print(f"camg: the command '{name}' of {labels} is left out: {why}", file=sys.stderr)
    root.meta["camg.commands"] = commands
    return commands
