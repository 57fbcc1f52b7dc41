"""``--policy pocket``: a small ordinary transformer that the package carries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from camg.episode.actions import BRACKET
from camg.episode.chat import TemplateCodec
from camg.errors import CorruptState
from camg.protocols import ChatCodec, Dialect
from camg.types import Sampling
from camg_policies.backends import StaticBackend
from camg_policies.config import PocketConfig
from camg_policies.engine import Engine
from camg_policies.models import Actor, ValueModel
from camg_policies.pocket.warmed import REBUILD, artefact_folder, load_recipe


def load_codec(folder: Path | None = None, dialect: Dialect = BRACKET) -> ChatCodec:
    """The embedded policy's tokenizer and chat template, with texts in their short form."""
    from transformers import PreTrainedTokenizerFast

    folder = folder or artefact_folder()
    try:
        tokenizer = PreTrainedTokenizerFast.from_pretrained(str(folder))
    except Exception as error:  # tokenizers raises bare Exceptions for a damaged file
        raise CorruptState(f"The tokenizer in {folder} cannot be read: {error}", hint=REBUILD) from error
    return TemplateCodec(tokenizer, dialect, terse=True)


class PocketPolicy:
    """A :class:`camg.protocols.Policy` of 0.2 M parameters (Qwen3 architecture), on the CPU in fp32."""

    def __init__(self, config: PocketConfig) -> None:
        """Raises as :func:`artefact_folder` and :func:`load_codec` do."""
        torch.set_num_threads(config.threads)
        self._config = config
        self._folder = artefact_folder(config.artefact)
        self._codec = load_codec(self._folder)

    @property
    def codec(self) -> ChatCodec:
        """Byte-level BPE, bracket dialect, short texts."""
        return self._codec

    def speak(self, dialect: Dialect) -> None:
        """Write calls in ``dialect`` from now on; the demonstrations were in brackets."""
        self._codec = self._codec.speaking(dialect)

    @property
    def recipe(self) -> dict[str, Any]:
        """The warm start, for reports: see :func:`load_recipe`."""
        return load_recipe(self._folder)

    def actor(self) -> Actor:
        """A fresh copy of the warm-started weights."""
        from transformers import Qwen3ForCausalLM

        try:
            model = Qwen3ForCausalLM.from_pretrained(str(self._folder), dtype=torch.float32)
        except Exception as error:  # safetensors has its own exception types
            raise CorruptState(f"The weights in {self._folder} cannot be read: {error}", hint=REBUILD) from error
        return Actor(model.eval())

    def critic(self) -> ValueModel:
        """A backbone of its own with a zero head: a trunk shared with the actor learned worse."""
        return ValueModel(self.actor())

    def sampler(self, sampling: Sampling, *, weights: Path | None = None, lockstep: bool = False) -> Engine:
        """See :class:`camg.protocols.Policy`."""
        backend = StaticBackend(self.actor())
        return Engine(
            backend, self._codec, sampling, weights=weights, lockstep=lockstep, deadline=self._config.deadline
        )
