"""Codecs: exact inter-turn tokens, append-only, no doubled end (lessons 1, 2, 5, 6 of agent-RL systems)."""

from __future__ import annotations

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from camg.episode.actions import BRACKET, NATIVE
from camg.episode.chat import ByteCodec, TemplateCodec
from camg.errors import UsageError
from camg.types import Message, Parameter, Tool

# ruff: noqa: E501
CHATML = (
    "{%- if tools %}<|im_start|>system\n# Tools\n{% for t in tools %}{{ t | tojson }}\n{% endfor %}<|im_end|>\n{% endif %}"
    "{%- for m in messages %}"
    "{%- if m.role == 'assistant' %}<|im_start|>assistant\n{{ m.content.split('</think>')[-1].lstrip('\n') }}<|im_end|>\n"
    "{%- elif m.role == 'tool' %}<|im_start|>user\n<tool_response>\n{{ m.content }}\n</tool_response><|im_end|>\n"
    "{%- else %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{%- endif %}{%- endfor %}"
    "{%- if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TRIMMING = (
    "{%- for m in messages %}{%- if m.role in ('system', 'tool') %}{{ raise_exception('no such role') }}{% endif %}"
    "[{{ m.role }}]{{ m.content | trim }}</s>{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"
)
SEARCH = Tool("search", "Search.", (Parameter("keywords", "what"),))


def tokenizer(template: str | None) -> PreTrainedTokenizerFast:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    raw = Tokenizer(models.BPE({c: i for i, c in enumerate(alphabet)}, []))
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    made = PreTrainedTokenizerFast(tokenizer_object=raw, eos_token="</s>")
    made.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
    made.chat_template = template
    return made


def codecs():
    return [TemplateCodec(tokenizer(CHATML), NATIVE), TemplateCodec(tokenizer(CHATML), BRACKET), ByteCodec(BRACKET)]


@pytest.mark.parametrize("codec", codecs())
def test_a_conversation_is_append_only_and_equals_the_template(codec):
    opening = [Message("system", "be good"), Message("user", "task")]
    ids = list(codec.open(opening, ()))
    said = codec.encode("search[mug]")
    observation = Message("tool", "  found\n 3 mugs ")
    once = [*ids, *said, codec.eos_id, *codec.extend([observation], ended=True)]
    cut = [*ids, *said, *codec.extend([observation], ended=False)]
    assert once == cut, "the end token is neither doubled nor lost"
    whole = codec.open([*opening, Message("assistant", "search[mug]"), observation], ())
    assert list(whole) == once


def test_the_template_may_strip_thoughts_and_the_prefix_still_holds():
    codec = TemplateCodec(tokenizer(CHATML), NATIVE)
    ids = list(codec.open([Message("user", "task")], (SEARCH,)))
    said = [*codec.encode("<think>hm</think>x"), codec.eos_id]
    extended = [*ids, *said, *codec.extend([Message("tool", "o")], ended=True)]
    assert extended[: len(ids) + len(said)] == [*ids, *said]
    assert "<think>hm</think>" in codec.decode(extended)


def test_end_of_turn_is_what_the_template_says_not_what_the_tokenizer_says():
    codec = TemplateCodec(tokenizer(CHATML), NATIVE)
    assert codec.decode([codec.eos_id]) == "<|im_end|>"
    assert codec.tokenizer.eos_token == "</s>"


def test_native_tools_are_in_the_prompt_and_bracket_tools_are_not():
    assert "keywords" in codecs()[0].decode(codecs()[0].open([Message("user", "t")], (SEARCH,)))
    assert "keywords" not in codecs()[1].decode(codecs()[1].open([Message("user", "t")], (SEARCH,)))


def test_templates_without_system_and_tool_roles_get_user_turns():
    codec = TemplateCodec(tokenizer(TRIMMING), BRACKET)
    text = codec.decode(codec.open([Message("system", "s"), Message("user", "u")], ()))
    assert text == "[user]s\n\nu</s>[assistant]"
    assert codec.decode(codec.extend([Message("tool", " o ")], ended=True)) == "[user]o</s>[assistant]"


def test_a_tokenizer_without_template_is_refused():
    with pytest.raises(UsageError, match="chat template"):
        TemplateCodec(tokenizer(None), NATIVE)


def test_bytes_survive_any_text():
    codec = ByteCodec(BRACKET)
    assert codec.decode(codec.encode("naïve ✓")) == "naïve ✓"
    assert len(codec.encode("\ud800")) == 1
