"""``camg pocket``: rebuild or show the embedded policy. No torch until a command runs."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import click
from attrs import evolve

from camg_policies.pocket.recipe import Recipe


@click.group()
def pocket() -> None:
    """The embedded policy: how it was made, and making it again."""


@pocket.command()
@click.option("--memory", default="shell", show_default=True, help="What the demonstrations keep their notes by.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder to write; default: the package's own.")
@click.option("--seed", type=int, default=Recipe().seed, show_default=True, help="Seed of everything random.")
@click.option(
    "--copy-loss",
    type=float,
    default=Recipe().copy_loss,
    show_default=True,
    help="Loss that ends the copying stage; lower where calls of the memory are long.",
)
@click.option("--env", "envs", multiple=True, help="Environment to learn from (repeatable). Default: all that can.")
@click.option("--sandbox", default="bwrap", show_default=True, help="Where the demonstrations run.")
@click.option("--check", is_flag=True, help="Write nothing; rebuild and compare with the shipped artefact.")
@click.option("--json", "as_json", is_flag=True, help="The recipe record on stdout.")
def build(
    memory: str,
    out: Path | None,
    seed: int,
    copy_loss: float,
    envs: tuple[str, ...],
    sandbox: str,
    check: bool,
    as_json: bool,
) -> None:
    """Warm-start the embedded policy on the environments' demonstrations (a few minutes, one core)."""
    from camg.plugins import load_registry
    from camg_policies.pocket.build import build as make
    from camg_policies.pocket.corpus import Stage
    from camg_policies.pocket.warmed import ARTEFACT, ARTEFACTS, artefact_folder, load_recipe

    started = time.monotonic()

    def say(text: str) -> None:
        click.echo(f"[{time.monotonic() - started:6.1f} s] {text}", err=True)

    registry = load_registry()
    name = str(registry.spec("memory", memory).pocket_profile.get("pocket.artefact", ""))
    shipped = load_recipe(artefact_folder(name)) if check else None
    recipe = evolve(Recipe(), seed=seed, copy_loss=copy_loss)
    if shipped is not None:
        envs = envs or tuple(shipped["environments"])
        recipe, memory = Recipe(**shipped["recipe"]), shipped["memory"]
    out = out or (ARTEFACTS / name if name else ARTEFACT)
    box = registry.build("sandbox", sandbox)
    try:
        stage = Stage(registry, box, memory)
        if shipped is None:
            record = make(stage, envs, recipe, out.absolute(), say)
        else:
            with tempfile.TemporaryDirectory() as folder:
                record = make(stage, envs, recipe, Path(folder) / "pocket", say)
    finally:
        box.close()
    if as_json:
        click.echo(json.dumps(record, indent=1, sort_keys=True))
    if shipped is None:
        say(f"written to {out}")
        return
    different = [name for name, value in shipped["hashes"].items() if record["hashes"].get(name) != value]
    if different:
        click.echo(f"The rebuild differs from the shipped artefact in {', '.join(different)}.", err=True)
        click.echo(f"  shipped with {shipped['made_with']}, rebuilt with {record['made_with']}", err=True)
        sys.exit(1)
    say("the rebuild equals the shipped artefact")


@pocket.command()
@click.option("--artefact", default="", help="A shipped one by name, or a folder; default: shell.")
@click.option("--json", "as_json", is_flag=True, help="The recipe record on stdout.")
def show(artefact: str, as_json: bool) -> None:
    """What the embedded policy was warm-started on, and what it could do afterwards."""
    from camg_policies.pocket.warmed import artefact_folder, load_recipe

    record = load_recipe(artefact_folder(artefact))
    if as_json:
        click.echo(json.dumps(record, indent=1, sort_keys=True))
        return
    recipe, gates = record["recipe"], record["gates"]
    click.echo(
        f"{record['parameters']:,} parameters: {recipe['layers']} layers, width {recipe['width']}; "
        f"memory {record['memory']}, dialect {record['dialect']}, seed {recipe['seed']}"
    )
    click.echo("Warm start:")
    click.echo(f"  copying          {gates['copy_steps']:5} steps, to loss {gates['copy_loss']:.2f}")
    click.echo(f"  task actions     {gates['skill_steps']:5} steps, to probability {gates['skill']:.2f}")
    click.echo(f"  demonstrations   {gates['demonstration_steps']:5} steps, imperfect")
    click.echo("Afterwards, held out, at temperature 1:")
    for env, trial in record["trials"].items():
        complete, episodes, success = (trial[key] for key in ("complete", "episodes", "success"))
        click.echo(f"  {env}: {complete:.1%} of {episodes} episodes complete, success {success:.3f}")
    click.echo("Reinforcement learning selects and sharpens what these demonstrations hold; it does not discover it.")
