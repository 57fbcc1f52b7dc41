"""The warm starts that the package carries: where they lie and what they have seen. No torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from camg.errors import BackendUnavailable, CamgError, CorruptState, UsageError

ARTEFACTS = Path(__file__).parent.parent / "artefacts"
ARTEFACT = ARTEFACTS / "shell"
FILES = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "recipe.json")
REBUILD = "Rebuild it with `camg pocket build`, or reinstall camg."


def shipped() -> tuple[str, ...]:
    """The names of the artefacts that the package carries."""
    return tuple(sorted(folder.name for folder in ARTEFACTS.iterdir())) if ARTEFACTS.is_dir() else ()


def artefact_folder(name: str = "") -> Path:
    """The folder of an artefact: one that the package carries, by its name, or one that was built; empty: for files.

    Raises :class:`BackendUnavailable` if the package carries none, :class:`UsageError` if the named one is incomplete.
    """
    folder = ARTEFACT if not name else ARTEFACTS / name if name in shipped() else Path(name).expanduser()
    missing = [file for file in FILES if not (folder / file).is_file()]
    if missing:
        error: type[CamgError] = UsageError if name else BackendUnavailable
        raise error(f"Expected the embedded policy in {folder}, but {', '.join(missing)} is missing.", hint=REBUILD)
    return folder


def load_recipe(folder: Path | None = None) -> dict[str, Any]:
    """How the artefact was made: environments, memory, seed, gates, measured rates, hashes."""
    path = (folder or artefact_folder()) / "recipe.json"
    try:
        recipe: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CorruptState(f"{path} cannot be read: {error}", hint=REBUILD) from error
    return recipe
