"""``camg show``: a component or a section of settings, with defaults and help."""

from __future__ import annotations

from typing import Any

import attrs
import click
from click.shell_completion import CompletionItem

from camg.cli.group import BUILT_IN, registry_of
from camg.cli.options import echo_json, json_option
from camg.cli.summary import print_table
from camg.config import SECTIONS
from camg.config.convert import option_types, plain, type_name
from camg.config.toml import format_value
from camg.errors import UsageError
from camg.plugins import KINDS, Registry, did_you_mean
from camg.specs import MemorySpec


class Subject(click.ParamType):  # type: ignore[type-arg]
    """The name of a component, a kind or a section."""

    name = "name"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Everything that can be shown."""
        return [CompletionItem(name) for name in subjects(registry_of(ctx)) if name.startswith(incomplete)]


@click.command("show", help=BUILT_IN["show"])
@click.argument("names", metavar="[KIND] [NAME]", nargs=-1, type=Subject())
@json_option
@click.pass_context
def command(ctx: click.Context, names: tuple[str, ...], as_json: bool) -> None:
    """Without NAME: all components. NAME: a component, a kind (memory) or a section (learner)."""
    registry = registry_of(ctx)
    if len(names) > 2 or (len(names) == 2 and names[0] not in KINDS):
        raise UsageError(f"Expected a name, or a kind and a name, got {' '.join(names)}.")
    name = names[-1] if names else None
    found = describe(registry, name)
    if len(names) == 2:
        registry.spec(*names)  # names what is wrong, if something is
        found = [item for item in found if item["kind"] == names[0]]
    if as_json:
        echo_json(found)
    elif name is None or name in KINDS:
        _print_overview(found)
    else:
        for number, item in enumerate(found):
            if number:
                click.echo()
            _print_item(item)


def subjects(registry: Registry) -> list[str]:
    """Every name that ``camg show`` knows."""
    return sorted({*SECTIONS, *KINDS, *(name for kind in KINDS for name in registry.names(kind))})


def describe(registry: Registry, name: str | None) -> list[dict[str, Any]]:
    """What is to be shown, as plain values. Raises :class:`UsageError` for an unknown name."""
    if name is not None and name in SECTIONS:
        about = {"kind": "section", "name": name, "summary": (SECTIONS[name].__doc__ or "").splitlines()[0]}
        return [{**about, "options": describe_options(SECTIONS[name])}]
    wanted = [(kind, found) for kind in KINDS for found in registry.names(kind) if name in (None, kind, found)]
    if not wanted and name is not None and name not in KINDS:
        raise UsageError(f"There is no component or section '{name}'. {did_you_mean(name, subjects(registry))}")
    return [_component(registry, kind, found) for kind, found in wanted]


def _component(registry: Registry, kind: str, name: str) -> dict[str, Any]:
    spec = registry.spec(kind, name)
    item = {"kind": kind, "name": name, "summary": spec.summary, "plugin": registry.provider(kind, name).name}
    hidden = {"name", "summary", "factory", "config"}
    if isinstance(spec, MemorySpec) and spec.pocket:
        hidden.add("pocket_reason")  # it says why the embedded policy does not go with a memory
    facts = {a.name: getattr(spec, a.name) for a in attrs.fields(type(spec)) if a.name not in hidden}
    item["facts"] = {key: _fact(value) for key, value in facts.items() if value not in (None, (), {})}
    item["options"] = describe_options(spec.config) if hasattr(spec, "config") else []
    if kind == "baseline":
        item["facts"].pop("settings", None)
        item["settings"] = [_setting(registry, spec, name, value) for name, value in spec.settings.items()]
    return item


def _setting(registry: Registry, baseline: Any, name: str, value: Any) -> dict[str, Any]:
    """One setting of a baseline, beside its default and what it is."""
    prefix, _, option = name.rpartition(".")
    kinds = [kind for kind, component in baseline.components.items() if component == prefix]
    config = SECTIONS[prefix] if prefix in SECTIONS else registry.spec(kinds[0], prefix).config if kinds else None
    rows = {} if config is None else {row["name"]: row for row in describe_options(config)}
    row = rows.get(option, {"default": None, "help": "of a component that is not selected"})
    return {"name": name, "value": plain(value), "default": row["default"], "help": row["help"]}


def _fact(value: Any) -> Any:
    """A field of a spec as JSON; callables by name."""
    if callable(value):
        return f"{value.__module__}:{value.__qualname__}"
    return {key: plain(inner) for key, inner in value.items()} if hasattr(value, "items") else plain(value)


def describe_options(config: type) -> list[dict[str, Any]]:
    """Name, type, default and help of every option of a config class."""
    kinds = option_types(config)
    rows = []
    for attribute in attrs.fields(config):
        if attribute.name in kinds:
            required = attribute.default is attrs.NOTHING
            default = attribute.default
            if isinstance(default, attrs.Factory):  # type: ignore[arg-type]
                default = default.factory() if not default.takes_self else None
            rows.append(
                {
                    "name": attribute.name,
                    "type": type_name(kinds[attribute.name]),
                    "default": None if required else plain(default),
                    "required": required,
                    "help": attribute.metadata.get("help", ""),
                }
            )
    return rows


def _print_overview(found: list[dict[str, Any]]) -> None:
    rows = [["kind", "name", "what it is"]]
    rows += [[item["kind"], item["name"], item["summary"]] for item in found]
    print_table(rows)
    click.echo(f"\nSections of settings: {', '.join(SECTIONS)}. `camg show NAME` shows the options of any of these.")


def _print_item(item: dict[str, Any]) -> None:
    click.echo(click.style(f"{item['kind']} {item['name']}", bold=True) + f": {item['summary']}")
    for key, value in item.get("facts", {}).items():
        if isinstance(value, dict):
            click.echo(f"  {key}:")
            for name, inner in value.items():
                click.echo(f"    {name} = {format_value(inner)}")
        else:
            click.echo(f"  {key}: {format_value(value).strip(chr(34))}")
    if "settings" in item:
        click.echo()
        rows = [["setting", "to", "default", "what it is"]]
        for row in item["settings"]:
            rows.append([row["name"], format_value(row["value"]), format_value(row["default"]), row["help"]])
        print_table(rows)
        return
    if not item["options"]:
        click.echo("  no options")
        return
    click.echo()
    rows = [["setting", "default", "what it is"]]
    for option in item["options"]:
        default = "(required)" if option["required"] else format_value(option["default"])
        text = option["help"] or option["type"]
        rows.append([f"{item['name']}.{option['name']}", default, text])
    print_table(rows)
