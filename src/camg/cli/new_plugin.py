"""``camg new-plugin``: a plugin of two files that works as it is."""

from __future__ import annotations

import re
import shutil
from importlib import resources
from pathlib import Path

import click

from camg.cli.group import BUILT_IN
from camg.config.toml import write_text
from camg.discovery import RESERVED
from camg.errors import BackendUnavailable, UsageError

TEMPLATES = ("environment", "memory", "estimator")


@click.command("new-plugin", help=BUILT_IN["new-plugin"])
@click.argument("name")
@click.option("--kind", type=click.Choice(TEMPLATES), default="environment", show_default=True, help="What it offers.")
@click.option("--dir", "folder", type=click.Path(path_type=Path), help="Where it goes (default: a new folder NAME).")
def command(name: str, kind: str, folder: Path | None) -> None:
    """Write NAME/pyproject.toml and NAME/<module>.py: an example to change, which passes its checks."""
    target = folder or Path(name)
    module = write_plugin(name, kind, target)
    click.echo(f"{target}/pyproject.toml and {target}/{module}.py are written. Next:")
    click.echo(f"  python {target}/{module}.py        # check it against CAMG's promises")
    click.echo(f"  pip install -e {target}            # then it shows in `camg plugins`")
    click.echo(f"  camg show {kind} {name}")


def write_plugin(name: str, kind: str, target: Path) -> str:
    """Write the two files and return the module's name. Raises :class:`UsageError` for a name or folder in the way."""
    if not re.fullmatch(r"[a-z][a-z0-9_-]*", name) or name in RESERVED:
        raise UsageError(f"Expected a name of lower-case letters, digits, '-' and '_', got {name!r}.")
    module = "camg_" + name.replace("-", "_")
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise UsageError(f"{target} exists already.", hint="Name another folder with --dir.")
    words = {
        "name": name,
        "module": module,
        "distribution": module.replace("_", "-"),
        "cls": "".join(part.capitalize() for part in re.split("[-_]", name)),
    }
    folder = resources.files("camg.cli") / "templates"
    beside = target.with_name(f".{target.name}.new")
    try:
        beside.mkdir(parents=True)
        for template, file in (("pyproject", "pyproject.toml"), (kind, f"{module}.py")):
            write_text(beside / file, (folder / f"{template}.txt").read_text(encoding="utf-8").format(**words))
        beside.rename(target)
    except OSError as cause:
        raise BackendUnavailable(f"Cannot write {target}: {cause.strerror}.") from cause
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return module
