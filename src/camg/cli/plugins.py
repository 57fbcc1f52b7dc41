"""``camg plugins``: what is installed, its state, and what it offers."""

from __future__ import annotations

from typing import Any

import click

from camg.cli.group import BUILT_IN, registry_of
from camg.cli.options import echo_json, json_option
from camg.cli.summary import print_table
from camg.plugins import Status


@click.command("plugins", help=BUILT_IN["plugins"])
@click.option("--no-plugin", metavar="NAME", multiple=True, help="Leave out a plugin; repeatable.")
@json_option
@click.pass_context
def command(ctx: click.Context, no_plugin: tuple[str, ...], as_json: bool) -> None:
    """Print the plugins."""
    registry = registry_of(ctx, no_plugin)
    plugins = registry.plugins()
    if as_json:
        rows = [info.to_json() for info in plugins]
        echo_json({"plugins": rows, "problems": registry.problems, "fingerprint": registry.fingerprint()})
        return
    table = [["plugin", "distribution", "state", "offers"]]
    for info in plugins:
        state = str(info.status)
        table.append([info.name, f"{info.distribution} {info.version}".strip(), state, _offers(info.offers)])
    print_table(table)
    for info in plugins:
        if info.status not in (Status.LOADED, Status.DISABLED):
            click.echo(f"\n{info.name}: {info.error}")


def _offers(offers: dict[str, dict[str, Any]]) -> str:
    return "; ".join(f"{kind}: {', '.join(sorted(specs))}" for kind, specs in offers.items() if specs)
