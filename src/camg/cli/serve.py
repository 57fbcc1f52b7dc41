"""``camg serve``: a policy behind an OpenAI-compatible HTTP endpoint."""

from __future__ import annotations

import signal
import tempfile
import threading
from pathlib import Path
from typing import Any

import click

from camg.cli.execute import command_line_settings
from camg.cli.group import BUILT_IN, registry_of
from camg.cli.options import Assignment, ComponentName, RunName, cell_option, echo_json, find_cell, json_option
from camg.config import RunConfig, resolve_config
from camg.config.rundir import saved_configs
from camg.errors import UsageError
from camg.plugins import Registry

LOOPBACK = ("127.0.0.1", "localhost", "::1")

EPILOG = """\b
Examples:
  camg serve --policy torch --set torch.model=/models/Qwen3.5-4B --port 8000
  camg serve --checkpoint latest
  curl -s http://127.0.0.1:8000/v1/models

Prompts and answers are limited by rollout.prompt_tokens and rollout.response_tokens (--set changes them).
"""


@click.command("serve", help=BUILT_IN["serve"], epilog=EPILOG)
@click.option("--policy", type=ComponentName("policy"), help="Model and engine.")
@click.option("--checkpoint", metavar="RUN", type=RunName(), help="The policy of a run, as it was trained.")
@cell_option
@click.option("--version", type=click.IntRange(min=0), help="Published weights of the run (default: the newest).")
@click.option("--untrained", is_flag=True, help="The run's policy as it was before the first update.")
@click.option("--model", metavar="NAME", default="", help="The model's name in requests (default: the policy's).")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port (default: a free one, which is printed).")
@click.option("--key", default="", help="What requests must bring as a bearer token; needed beyond this machine.")
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the first answer.")
@click.option("--config", type=click.Path(path_type=Path, dir_okay=False), help="TOML file with settings.")
@click.option("--set", "settings", type=Assignment(), multiple=True, help="Any setting, e.g. rollout.temperature=0.7.")
@json_option
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Print the address, then answer until Ctrl-C."""
    if options["host"] not in LOOPBACK and not options["key"]:
        raise UsageError(f"--host {options['host']} is seen by other machines: give a --key that requests must bring.")
    registry = registry_of(ctx)
    config, cell = _chosen(registry, options)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    with tempfile.TemporaryDirectory(prefix="camg-serve-") as scratch:
        try:
            _serve(registry, config, cell, Path(scratch), options, stop)
        except KeyboardInterrupt:  # the usual end, not an accident
            click.echo("Stopped.", err=True)


def _chosen(registry: Registry, options: dict[str, Any]) -> tuple[RunConfig, Path | None]:
    """The settings, and the folder of the run's cell if it is one."""
    values = command_line_settings({**options, "env": ()})
    run = options["checkpoint"]
    if run is None:
        for name in ("cell", "version", "untrained"):
            if options[name] not in (None, False):
                raise UsageError(f"--{name} goes with --checkpoint RUN.")
        if options["policy"]:
            values["policy"] = options["policy"]
        return resolve_config(registry, command_line=values, file=options["config"]), None
    if options["policy"]:
        raise UsageError("Expected --policy or --checkpoint, got both: a run has a policy already.")
    configs = saved_configs(run, registry)
    digest = find_cell(run, options["cell"], list(configs))
    config = resolve_config(registry, command_line=values, file=options["config"], saved=configs[digest])
    return config, run / "cells" / digest


def _weights(cell: Path | None, options: dict[str, Any], scratch: Path) -> Path | None:
    """A folder with the one version that is served, or None for the policy's own weights."""
    if cell is None or options["untrained"] or not (cell / "weights").is_dir():
        return None
    from camg import weights as published
    from camg.evaluate.runner import pin

    version, there = options["version"], published.versions(cell / "weights")
    if version is not None and version not in there:
        listed = ", ".join(map(str, there)) or "some, and there are none yet"
        raise UsageError(f"There are no weights {version} in {cell / 'weights'}: Expected one of {listed}.")
    return pin(cell / "weights", version, scratch / "weights") if there else None


def _serve(
    registry: Registry,
    config: RunConfig,
    cell: Path | None,
    scratch: Path,
    options: dict[str, Any],
    stop: threading.Event,
) -> None:
    from camg.rollout.rig import rollout_sampling
    from camg.serve import Endpoint, Voice

    policy = registry.build("policy", config.policy, config.component("policy", config.policy))
    voice = Voice(
        policy,
        sampling=rollout_sampling(config),
        prompt_tokens=config.rollout.prompt_tokens,
        response_tokens=config.rollout.response_tokens,
        weights=_weights(cell, options, scratch),
        seed=config.run.seed,
    )
    model = options["model"] or config.policy
    try:
        endpoint = Endpoint(voice, model=model, host=options["host"], port=options["port"], key=options["key"])
        with endpoint:
            if options["as_json"]:
                echo_json({"address": endpoint.address, "model": model})
            else:
                click.echo(f"Serving {model} at {endpoint.address} (Ctrl-C ends it).")
            stop.wait()
    finally:
        voice.close()
