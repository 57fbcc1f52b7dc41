"""Write a tiny chat model that knows the form of an action and nothing else: enough to run all of training in seconds.

    python make_tiny_model.py DIR

A Qwen3 decoder (2 layers, width 32) over UTF-8 bytes, with one more token for each action that makes sense in the
vault. A few seconds of imitation teach it to answer with one random action; what an action is good for is left
to the run. For a real model give ``torch.model`` its folder or hub id instead.
"""

import random
import sys
from pathlib import Path

import torch
from camg_example_env.scripts import PATH
from camg_example_env.vault import codes
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

TEMPLATE = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
SPECIALS = ["<|end|>", "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>"]
OPENS = [f"open[{code}]" for split in ("train", "eval") for code in codes(split)]
NOTES = [f"shell_command: mkdir -p .agent_memory; echo {day} done > {PATH}" for day in (1, 2, 3)]


def make(folder: Path, *, seed: int = 0, steps: int = 120) -> None:
    """Save model and tokenizer to ``folder``; the same files for the same seed."""
    torch.manual_seed(seed)
    tokenizer = build_tokenizer()
    model = build_model(tokenizer)
    teach_form(model, tokenizer, random.Random(seed), steps)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def build_tokenizer() -> PreTrainedTokenizerFast:
    """One token a byte, one an action."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    by_byte = Tokenizer(models.BPE(vocab={letter: i for i, letter in enumerate(letters)}, merges=[]))
    by_byte.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    by_byte.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=by_byte, eos_token="<|end|>", pad_token="<|end|>", additional_special_tokens=SPECIALS[1:]
    )
    tokenizer.add_tokens(OPENS + NOTES)
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def build_model(tokenizer: PreTrainedTokenizerFast) -> Qwen3ForCausalLM:
    """30,000 parameters, from the global random state."""
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        max_position_embeddings=4096,
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )
    return Qwen3ForCausalLM(config)


def teach_form(model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, draw: random.Random, steps: int) -> None:
    """Answer a prompt of any length and content with one random action, then stop."""
    optimiser = torch.optim.AdamW(model.parameters(), lr=5e-3)
    letters = [chr(code) for code in range(32, 127)]
    for _ in range(steps):
        rows, length = [], draw.randrange(8, 1024)
        for _ in range(8):
            action = draw.choice(OPENS if draw.random() < 0.8 else NOTES)
            noise = "".join(draw.choices(letters, k=length))
            rows.append(f"<|user|>{noise}<|end|>\n<|assistant|>{action}<|end|>")
        ids = torch.tensor([tokenizer.encode(row, add_special_tokens=False) for row in rows])
        labels = ids.clone()
        labels[:, :-2] = -100
        loss = model(input_ids=ids, labels=labels).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python make_tiny_model.py DIR")
    torch.set_num_threads(1)
    make(Path(sys.argv[1]))
