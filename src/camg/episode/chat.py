"""Messages -> token ids, append-only: what the policy sampled is never tokenised again.

``open`` renders a fresh context. ``extend`` gives the exact ids that the chat template puts between a response and the
next one, found by rendering a conversation around a marker; the ids before stay a byte-identical prefix whatever
the template would do to earlier turns (strip thoughts, merge roles).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from camg.errors import UsageError
from camg.protocols import Dialect
from camg.types import Message, Tool

_MARK = "\u27e6camg-response\u27e7"


def tool_schema(tool: Tool) -> dict[str, Any]:
    """The JSON schema that chat templates expect."""
    properties = {p.name: {"type": p.kind, "description": p.summary} for p in tool.parameters}
    required = [p.name for p in tool.parameters if p.required]
    parameters = {"type": "object", "properties": properties, "required": required}
    return {"type": "function", "function": {"name": tool.name, "description": tool.summary, "parameters": parameters}}


class TemplateCodec:
    """A transformers tokenizer and its chat template.

    Args:
        tokenizer: with a chat template.
        dialect: how calls are written.
        terse: texts in their short form (the embedded policy).
        template: more arguments of the template, e.g. ``{"enable_thinking": False}``.

    Raises:
        UsageError: the tokenizer has no usable chat template.
    """

    def __init__(
        self, tokenizer: Any, dialect: Dialect, *, terse: bool = False, template: Mapping[str, Any] | None = None
    ) -> None:
        self.tokenizer = tokenizer
        self._dialect = dialect
        self._terse = terse
        self._template = dict(template or {})
        if not getattr(tokenizer, "chat_template", None):
            raise UsageError(
                "Expected a tokenizer with a chat template, got one without.",
                hint="Use an instruction-tuned model, or put a chat_template.jinja beside its tokenizer.",
            )
        self._system = self._renders([Message("system", "s"), Message("user", "u")])
        self._tool_role = dialect.name == "native" and self._renders(
            [Message("user", "u"), Message("assistant", "a"), Message("tool", "t")]
        )
        self._eos_id = self._end_of_turn()
        self._frame = self._find_frame()

    @property
    def dialect(self) -> Dialect:
        """How calls are written."""
        return self._dialect

    def speaking(self, dialect: Dialect) -> TemplateCodec:
        """The same tokenizer, with calls written in ``dialect``."""
        return TemplateCodec(self.tokenizer, dialect, terse=self._terse, template=self._template)

    @property
    def terse(self) -> bool:
        """Texts in their short form?"""
        return self._terse

    @property
    def eos_id(self) -> int:
        """The token that ends a response: what the template puts after one."""
        return self._eos_id

    def _render(self, messages: Sequence[Message], tools: Sequence[Tool] = (), *, prompt: bool) -> str:
        rows = [{"role": message.role, "content": message.content} for message in messages]
        schemas = [tool_schema(tool) for tool in tools] if tools and self._dialect.name == "native" else None
        text = self.tokenizer.apply_chat_template(
            rows, tools=schemas, tokenize=False, add_generation_prompt=prompt, **self._template
        )
        return str(text)

    def _renders(self, messages: Sequence[Message]) -> bool:
        try:
            text = self._render(messages, prompt=False)
        except Exception:  # templates refuse roles by raising whatever their engine raises
            return False
        return all(message.content in text for message in messages)

    def _adapt(self, messages: Sequence[Message]) -> list[Message]:
        """Roles that the template does not know become user turns."""
        rows: list[Message] = []
        for message in messages:
            known = (message.role != "tool" or self._tool_role) and (message.role != "system" or self._system)
            role = message.role if known else "user"
            if rows and rows[-1].role == role == "user":
                rows[-1] = Message("user", rows[-1].content + "\n\n" + message.content)
            else:
                rows.append(Message(role, message.content))
        return rows

    def _after(self, messages: Sequence[Message], *, prompt: bool) -> str:
        history = [Message("user", "u"), Message("assistant", _MARK), *self._adapt(messages)]
        return self._render(history, prompt=prompt).rpartition(_MARK)[2]

    def _find_frame(self) -> tuple[str, str] | None:
        """What stands around one observation, when the template leaves its text alone: saves rendering each turn."""
        probe = " {camg} \n"
        head, found, tail = self._after([Message("tool", probe)], prompt=True).partition(probe)
        return (head, tail) if found else None

    def _end_of_turn(self) -> int:
        after = self.encode(self._after([], prompt=False))
        special = set(self.tokenizer.all_special_ids) | set(self.tokenizer.get_added_vocab().values())
        if after and after[0] in special:
            return int(after[0])
        if self.tokenizer.eos_token_id is None:
            raise UsageError("Expected a tokenizer with an end token, got neither eos_token nor an end-of-turn token.")
        return int(self.tokenizer.eos_token_id)

    def open(self, messages: Sequence[Message], tools: Sequence[Tool]) -> tuple[int, ...]:
        """The ids of a fresh context, with the generation prompt."""
        return self.encode(self._render(self._adapt(messages), tools, prompt=True))

    def extend(self, messages: Sequence[Message], *, ended: bool) -> tuple[int, ...]:
        """What stands between a response and the next one; the end token is not doubled when it was sampled."""
        if self._frame is not None and len(messages) == 1 and messages[0].role == "tool":
            text = self._frame[0] + messages[0].content + self._frame[1]
        else:
            text = self._after(messages, prompt=True)
        ids = self.encode(text)
        if ended and ids and ids[0] == self._eos_id:
            return ids[1:]
        return ids

    def encode(self, text: str) -> tuple[int, ...]:
        """Plain tokenisation; no special tokens are added."""
        return tuple(self.tokenizer.encode(text, add_special_tokens=False))

    def decode(self, ids: Sequence[int]) -> str:
        """The text, special tokens included."""
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False))


class ByteCodec:
    """One token per UTF-8 byte, and four specials: for scripted policies and tests. Vocabulary 260."""

    vocabulary = 260
    _roles: Mapping[str, int] = {"system": 257, "user": 258, "tool": 258, "assistant": 259}
    _names: Mapping[int, str] = {256: "<|end|>\n", 257: "<|system|>", 258: "<|user|>", 259: "<|assistant|>"}

    def __init__(self, dialect: Dialect, *, terse: bool = False) -> None:
        self._dialect = dialect
        self._terse = terse

    @property
    def dialect(self) -> Dialect:
        """How calls are written."""
        return self._dialect

    def speaking(self, dialect: Dialect) -> ByteCodec:
        """The same, with calls written in ``dialect``."""
        return ByteCodec(dialect, terse=self._terse)

    @property
    def terse(self) -> bool:
        """Texts in their short form?"""
        return self._terse

    @property
    def eos_id(self) -> int:
        """256."""
        return 256

    def open(self, messages: Sequence[Message], tools: Sequence[Tool]) -> tuple[int, ...]:
        """Role, text, end; then the assistant's role."""
        ids = [i for m in messages for i in (self._roles[m.role], *m.content.encode(errors="replace"), 256)]
        return (*ids, 259)

    def extend(self, messages: Sequence[Message], *, ended: bool) -> tuple[int, ...]:
        """As ``open``, behind the end of the last response."""
        return (*(() if ended else (256,)), *self.open(messages, ()))

    def encode(self, text: str) -> tuple[int, ...]:
        """The bytes."""
        return tuple(text.encode(errors="replace"))

    def decode(self, ids: Sequence[int]) -> str:
        """Bytes back to text; specials by name."""
        parts: list[str] = []
        run = bytearray()
        for token in ids:
            if token < 256:
                run.append(token)
                continue
            parts.append(run.decode(errors="replace"))
            parts.append(self._names.get(token, ""))
            run.clear()
        return "".join([*parts, run.decode(errors="replace")])
