"""The embedded policy's tokenizer: byte-level BPE on the environments' own texts, and a chat template."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

PAD, END, SYSTEM, USER, ASSISTANT = "<|pad|>", "<|end|>", "<|s|>", "<|u|>", "<|a|>"
SPECIALS = (PAD, END, SYSTEM, USER, ASSISTANT)

TEMPLATE = (
    "{% for m in messages %}"
    "{% if m.role == 'assistant' %}<|a|>{{ m.content }}<|end|>"
    "{% elif m.role == 'system' %}<|s|>{{ m.content }}"
    "{% else %}<|u|>{{ m.content }}{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|a|>{% endif %}"
)


def train_tokenizer(texts: Iterable[str], vocabulary: int) -> Any:
    """A ``PreTrainedTokenizerFast`` of at most ``vocabulary`` tokens: 5 specials, 256 bytes, and merges.

    Deterministic: texts are counted, so that their order does not matter.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=list(SPECIALS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
        min_frequency=2,
    )
    tokenizer.train_from_iterator(sorted(texts), trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=END,
        additional_special_tokens=[SYSTEM, USER, ASSISTANT],
        chat_template=TEMPLATE,
        clean_up_tokenization_spaces=False,
    )
