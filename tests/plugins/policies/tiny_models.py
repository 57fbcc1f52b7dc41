"""Tiny random models and the reference that the engine is held against: one fresh full forward pass."""

from __future__ import annotations

import torch
import transformers

from camg.episode.actions import BRACKET
from camg.episode.chat import ByteCodec
from camg.types import Task
from camg_policies.backends import StaticBackend
from camg_policies.general import TransformersBackend
from camg_policies.models import Actor

VOCABULARY = ByteCodec.vocabulary
CODEC = ByteCodec(BRACKET)
TASK = Task(id="t", env="e", split="s", budget=1)
KINDS = ("qwen3", "llama", "qwen3_5")


def model(kind: str, seed: int = 0) -> torch.nn.Module:
    """A random causal LM whose next-token distribution is far from uniform, so that errors show."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    shared = {
        "vocab_size": VOCABULARY,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "max_position_embeddings": 2048,
        "initializer_range": 0.3 if kind != "qwen3_5" else 0.15,  # its recurrent states amplify rounding
    }
    if kind == "qwen3":
        config = transformers.Qwen3Config(num_hidden_layers=3, tie_word_embeddings=True, **shared)
        return transformers.Qwen3ForCausalLM(config).eval()
    if kind == "llama":
        config = transformers.LlamaConfig(num_hidden_layers=2, tie_word_embeddings=False, **shared)
        return transformers.LlamaForCausalLM(config).eval()
    config = transformers.Qwen3_5TextConfig(
        num_hidden_layers=4,
        linear_num_key_heads=2,
        linear_num_value_heads=4,
        linear_key_head_dim=8,
        linear_value_head_dim=8,
        **shared,
    )
    return transformers.Qwen3_5ForCausalLM(config).eval()


def actor(kind: str, seed: int = 0) -> Actor:
    """As the policies build it."""
    return Actor(model(kind, seed))


def backend(kind: str, seed: int = 0, *, static: bool = False) -> StaticBackend | TransformersBackend:
    """A backend with a model of its own."""
    return StaticBackend(actor(kind, seed), slots=2) if static else TransformersBackend(actor(kind, seed))


BACKENDS = [("qwen3", True), ("llama", True), ("qwen3", False), ("llama", False), ("qwen3_5", False)]


@torch.inference_mode()
def reference(kind: str, seed: int, prompt: list[int], response: list[int], temperature: float = 1.0) -> list[float]:
    """Log-probs of a response from one full forward pass without a cache."""
    ids = torch.tensor([[*prompt, *response]])
    logits = model(kind, seed)(input_ids=ids).logits[0, len(prompt) - 1 : -1].float()
    rows = (logits / temperature).log_softmax(-1)
    return rows.gather(-1, torch.tensor(response)[:, None])[:, 0].tolist()
