"""``camg replay``: one recorded episode, turn by turn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from camg.cli.group import BUILT_IN, registry_of
from camg.cli.options import RunName, cell_option, echo_json, find_cell, json_option
from camg.config.rundir import read_manifest, saved_configs
from camg.errors import DataError
from camg.types import Episode

STYLES: dict[str, dict[str, Any]] = {
    "title": {"bold": True},
    "said": {"fg": "cyan"},
    "seen": {},
    "good": {"fg": "green"},
    "bad": {"fg": "red"},
    "note": {"dim": True},
    "added": {"fg": "green"},
    "removed": {"fg": "red"},
    "plain": {},
}


@click.command("replay", help=BUILT_IN["replay"])
@click.argument("run", type=RunName())
@click.argument("episode", type=int)
@cell_option
@click.option("--evaluation", metavar="NAME", help="An episode of a held-out evaluation, e.g. initial or final.")
@click.option("--prompts", is_flag=True, help="Show every context as the policy read it.")
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    run: Path,
    episode: int,
    cell: str | None,
    evaluation: str | None,
    prompts: bool,
    as_json: bool,
) -> None:
    """EPISODE is its number in the schedule; RUN a folder, a name below runs/, or latest."""
    from camg.episode.recording import to_json
    from camg.report.replay import render

    digest = find_cell(run, cell, list(read_manifest(run)["cells"]))
    root = run / "cells" / digest
    found = read_episode(root, episode, evaluation)
    advantages = {} if evaluation else read_advantages(root, episode)
    if as_json:
        echo_json({**to_json(found), "advantages": advantages})
        return
    for style, text in render(found, advantages):
        click.echo(click.style(text, **STYLES[style]))
    if prompts:
        _print_prompts(ctx, run, digest, found)


def read_episode(cell: Path, number: int, evaluation: str | None) -> Episode:
    """Raises :class:`DataError` naming the episodes that there are, :class:`CorruptState` for a damaged file."""
    from camg.rollout.store import EpisodeStore

    folder = (cell / "evaluation" / evaluation if evaluation else cell) / "episodes"
    if evaluation and not folder.is_dir():
        names = [path.name for path in sorted((cell / "evaluation").glob("*"))]
        raise DataError(f"There is no evaluation {evaluation!r} here: Expected one of {', '.join(names) or 'none'}.")
    if not folder.is_dir():
        raise DataError(f"{cell} has no episodes yet.")
    store = EpisodeStore(folder)
    if not store.has(number):
        ids = list(store.ids())
        known = f"{len(ids)} from {ids[0]} to {ids[-1]}" if ids else "none"
        raise DataError(f"There is no episode {number} here: Expected one of those that are complete ({known}).")
    return store.read(number)


def read_advantages(cell: Path, number: int) -> dict[int, float]:
    """Turn -> mean advantage, from ``advantages/<update>.json``; empty where none were kept."""
    for path in sorted((cell / "advantages").glob("*.json")):
        try:
            kept = json.loads(path.read_text(encoding="utf-8")).get(str(number))
        except (OSError, ValueError, AttributeError):
            continue
        if isinstance(kept, dict):
            return {int(turn): float(value) for turn, value in kept.items()}
    return {}


def _print_prompts(ctx: click.Context, run: Path, digest: str, episode: Episode) -> None:
    """Every context as text, which needs the policy's tokenizer."""
    registry = registry_of(ctx)
    config = saved_configs(run, registry)[digest]
    codec = registry.build("policy", config.policy, config.component("policy", config.policy)).codec
    for number, segment in enumerate(episode.segments, 1):
        click.echo(click.style(f"\ncontext {number} as the policy read it, {len(segment.token_ids)} tokens", bold=True))
        click.echo(codec.decode(segment.token_ids))
