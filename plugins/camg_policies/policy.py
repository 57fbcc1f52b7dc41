"""``--policy torch``: any transformers causal language model, sampled by our own engine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from camg.episode.actions import DIALECTS
from camg.episode.chat import TemplateCodec
from camg.errors import BackendUnavailable, ConfigError, UsageError
from camg.protocols import ChatCodec, Dialect
from camg.types import Sampling
from camg_policies.backends import Backend, StaticBackend
from camg_policies.config import TorchConfig
from camg_policies.engine import Engine
from camg_policies.general import TransformersBackend
from camg_policies.models import Actor, ValueModel, is_plain

STATIC_PARAMETERS = 20_000_000
"""Above this, arithmetic outweighs what the static cache saves, and its preallocated room outweighs the caches."""


def template_arguments(text: str) -> dict[str, Any]:
    """The option ``template``. Raises :class:`ConfigError`."""
    if not text:
        return {}
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ConfigError(f"Expected a JSON object for torch.template, got {text!r}.")
    return value


def pick_dialect(wanted: str, tokenizer: Any) -> str:
    """``auto``: the model's own tool-call format if its chat template knows tools, else brackets."""
    if wanted != "auto":
        return wanted
    template = tokenizer.chat_template
    text = " ".join(template.values()) if isinstance(template, Mapping) else str(template or "")
    return "native" if "tools" in text else "bracket"


class TorchPolicy:
    """A :class:`camg.protocols.Policy`: tokenizer now, weights when they are asked for."""

    def __init__(self, config: TorchConfig) -> None:
        """Raises :class:`UsageError` without a model, :class:`BackendUnavailable` if it cannot be loaded."""
        if not config.model:
            raise UsageError(
                "Expected torch.model, got nothing.",
                hint="Name a folder or a hub id: --set torch.model=Qwen/Qwen3.5-4B",
            )
        torch.set_num_threads(config.threads)
        self._config = config
        tokenizer = self._load("AutoTokenizer")
        dialect = DIALECTS[pick_dialect(config.dialect, tokenizer)]
        self._codec: ChatCodec = TemplateCodec(tokenizer, dialect, template=template_arguments(config.template))

    def _load(self, loader: str, **options: Any) -> Any:
        import transformers

        source = self._config.model
        if source.startswith((".", "/", "~")) or Path(source).exists():
            folder = Path(source).expanduser()
            if not (folder / "config.json").is_file():
                raise UsageError(
                    f"Expected a folder with config.json, tokenizer and weights, got {source!r}.",
                    hint="torch.model takes what save_pretrained wrote, or a hub id.",
                )
            source = str(folder)
        try:
            return getattr(transformers, loader).from_pretrained(source, **options)
        except Exception as error:  # hub, safetensors and tokenizers each raise their own kinds
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise BackendUnavailable(
                f"The model {source!r} could not be loaded: {reason}",
                hint="Check torch.model, and the network or HF_HOME if it is a hub id.",
            ) from error

    @property
    def codec(self) -> ChatCodec:
        """The tokenizer with its chat template."""
        return self._codec

    def speak(self, dialect: Dialect) -> None:
        """Write calls in ``dialect`` from now on."""
        self._codec = self._codec.speaking(dialect)

    def actor(self) -> Actor:
        """A fresh copy of the weights, on the CPU; the learner moves it to its device."""
        dtype = self._config.dtype
        model: nn.Module = self._load("AutoModelForCausalLM", dtype=dtype if dtype == "auto" else getattr(torch, dtype))
        return Actor(model.eval())

    def critic(self) -> ValueModel:
        """The same backbone, loaded once more, with a zero scalar head."""
        return ValueModel(self.actor())

    def sampler(self, sampling: Sampling, *, weights: Path | None = None, lockstep: bool = False) -> Engine:
        """See :class:`camg.protocols.Policy`. Raises :class:`BackendUnavailable` if the device is not there."""
        config = self._config
        try:
            actor = self.actor().to(config.device)
        except (RuntimeError, AssertionError) as error:
            reason = str(error).splitlines()[0]
            raise BackendUnavailable(f"The device {config.device!r} cannot be used: {reason}") from error
        backend = make_backend(actor, config.engine)
        return Engine(backend, self._codec, sampling, weights=weights, lockstep=lockstep, deadline=config.deadline)


def make_backend(actor: Actor, engine: str = "auto") -> Backend:
    """The decoder for a model. Raises :class:`ConfigError` when ``static`` is asked of an architecture without it."""
    plain = is_plain(actor.config)
    if engine == "static" and not plain:
        raise ConfigError(
            f"Expected torch.engine=auto or transformers for {actor.config.model_type}, got static.",
            hint="The static decoder knows plain full-attention decoders: qwen3, qwen2, llama.",
        )
    small = sum(parameter.numel() for parameter in actor.parameters()) < STATIC_PARAMETERS
    if engine == "static" or (engine == "auto" and plain and small):
        return StaticBackend(actor)
    return TransformersBackend(actor)
