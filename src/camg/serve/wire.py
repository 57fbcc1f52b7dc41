"""Requests and replies in OpenAI's shape, as plain JSON values. Pure.

What cannot be honoured is refused with a sentence (streams, tools, several choices, schemas); what changes nothing
here is ignored (``store``, ``user``, penalties). ``response_format`` ``json_object`` is accepted and not enforced: the
policy is not constrained, whoever asked has to look at what it said.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from attrs import frozen

from camg.types import Message
from camg.workspace.encoders import Vectors

ROLES: Mapping[str, str] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
STOPS = 4
INPUTS = 2048
"""Most stop texts of a chat, and most texts of one request for embeddings: OpenAI's limits."""


class Refusal(Exception):
    """A request that is answered by an error in OpenAI's shape. ``status``: of HTTP."""

    def __init__(
        self, message: str, *, status: int = 400, kind: str = "invalid_request_error", code: str = "", param: str = ""
    ) -> None:
        super().__init__(message)
        self.message, self.status, self.kind, self.code, self.param = message, status, kind, code, param

    def body(self) -> dict[str, Any]:
        """The JSON of the answer."""
        error = {"message": self.message, "type": self.kind, "param": self.param or None, "code": self.code or None}
        return {"error": error}


@frozen
class ChatRequest:
    """What a chat completion asks for. None: the request does not say."""

    messages: tuple[Message, ...]
    limit: int | None = None  # tokens of the answer
    temperature: float | None = None
    top_p: float | None = None
    stop: tuple[str, ...] = ()  # the answer ends before the first of these
    seed: int | None = None


@frozen
class Completion:
    """An answer. ``ended``: by the policy itself, not by the limit. Tokens are the policy's."""

    text: str
    prompt_tokens: int
    completion_tokens: int
    ended: bool = True


class Completer(Protocol):
    """Answers a chat; called from a thread for each connection."""

    def __call__(self, request: ChatRequest) -> Completion:
        """Raises :class:`Refusal` for what has no answer, :class:`~camg.errors.CamgError` for a fault."""


# ---------------------------------------------------------------- chat
def chat_request(body: Any, model: str) -> ChatRequest:
    """Check and read the body of ``/v1/chat/completions``. Raises :class:`Refusal`."""
    fields = _object(body)
    check_model(fields, model)
    if fields.get("stream"):
        raise Refusal("Streams are not served: ask again without `stream`.", param="stream")
    for name in ("tools", "functions", "logprobs", "audio"):
        if fields.get(name):
            raise Refusal(f"`{name}` is not served here: Expected it to be absent.", param=name)
    if fields.get("n") not in (None, 1):
        raise Refusal(f"Expected one choice, got n={fields['n']!r}.", param="n")
    _check_format(fields.get("response_format"))
    rows = fields.get("messages")
    if not isinstance(rows, list) or not rows:
        raise Refusal("Expected `messages`, a list of at least one.", param="messages")
    limit = fields.get("max_completion_tokens", fields.get("max_tokens"))
    return ChatRequest(
        messages=tuple(_message(row, number) for number, row in enumerate(rows)),
        limit=None if limit is None else _integer(limit, "max_tokens", least=1),
        temperature=_number(fields, "temperature", 0.0, 2.0),
        top_p=_number(fields, "top_p", 0.0, 1.0),
        stop=_stops(fields.get("stop")),
        seed=None if fields.get("seed") is None else abs(_integer(fields["seed"], "seed")),
    )


def check_model(fields: Mapping[str, Any], model: str) -> None:
    """Raises :class:`Refusal` unless the request names the model that is served."""
    wanted = fields.get("model")
    if not isinstance(wanted, str):
        raise Refusal(f"Expected `model` to be {model!r}, got {_short(wanted)}.", param="model")
    if wanted != model:
        message = f"The model {_short(wanted)} does not exist here: Expected {model!r}."
        raise Refusal(message, status=404, code="model_not_found", param="model")


def _object(body: Any) -> Mapping[str, Any]:
    if not isinstance(body, dict):
        raise Refusal(f"Expected a JSON object, got {type(body).__name__}.")
    return body


def _message(row: Any, number: int) -> Message:
    where = f"messages[{number}]"
    if not isinstance(row, dict):
        raise Refusal(f"Expected {where} to be an object, got {_short(row)}.", param=where)
    role = row.get("role")
    if not isinstance(role, str) or role not in ROLES:
        raise Refusal(f"Expected {where}.role to be one of {', '.join(ROLES)}, got {_short(role)}.", param=where)
    content = row.get("content")
    if content is None and role == "assistant":
        content = ""
    if isinstance(content, list):
        content = "".join(_part(part, where) for part in content)
    if not isinstance(content, str):
        raise Refusal(f"Expected {where}.content to be text, got {_short(content)}.", param=where)
    return Message(ROLES[role], _valid(content, where))


def _part(part: Any, where: str) -> str:
    if not isinstance(part, dict) or part.get("type") != "text" or not isinstance(part.get("text"), str):
        raise Refusal(f"Expected {where}.content to be text or parts of type `text`, got {_short(part)}.", param=where)
    return str(part["text"])


def _check_format(wanted: Any) -> None:
    kind = wanted.get("type") if isinstance(wanted, dict) else wanted
    if kind not in (None, "text", "json_object"):
        message = f"Expected `response_format` text or json_object, which is not enforced, got {_short(kind)}."
        raise Refusal(message, param="response_format")


def _stops(value: Any) -> tuple[str, ...]:
    rows = [value] if isinstance(value, str) else value or []
    if not isinstance(rows, list) or len(rows) > STOPS or not all(isinstance(row, str) and row for row in rows):
        raise Refusal(f"Expected `stop` to be a text or a list of at most {STOPS}, got {_short(value)}.", param="stop")
    return tuple(rows)


def chat_reply(
    completion: Completion, request: ChatRequest, *, model: str, number: int, created: int
) -> dict[str, Any]:
    """The JSON of an answer, cut before the first stop text."""
    places = [place for place in (completion.text.find(stop) for stop in request.stop) if place >= 0]
    text = completion.text[: min(places)] if places else completion.text
    finish = "stop" if places or completion.ended else "length"
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text, "refusal": None},
        "logprobs": None,
        "finish_reason": finish,
    }
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": created,
        "model": model,
        "choices": [choice],
        "usage": _usage(completion.prompt_tokens, completion.completion_tokens),
    }


# ---------------------------------------------------------------- embeddings
def embedding_texts(body: Any, model: str, dimensions: int) -> tuple[list[str], bool]:
    """The texts of ``/v1/embeddings``, and whether base64 is wanted. Raises :class:`Refusal`."""
    fields = _object(body)
    check_model(fields, model)
    value = fields.get("input")
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        raise Refusal(f"Expected `input` to be a text or a list of texts, got {_short(value)}.", param="input")
    if len(texts) > INPUTS:
        raise Refusal(f"Expected at most {INPUTS} texts, got {len(texts)}.", param="input")
    if fields.get("dimensions") not in (None, dimensions):
        message = f"Expected {dimensions} dimensions or none named, got {_short(fields['dimensions'])}."
        raise Refusal(message, param="dimensions")
    encoding = fields.get("encoding_format", "float")
    if encoding not in ("float", "base64"):
        message = f"Expected `encoding_format` float or base64, got {_short(encoding)}."
        raise Refusal(message, param="encoding_format")
    return [_valid(text, "input") for text in texts], encoding == "base64"


def embedding_reply(rows: Vectors, *, model: str, packed: bool) -> dict[str, Any]:
    """The JSON of embeddings. ``packed``: little-endian float32 in base64."""
    data = [
        {
            "object": "embedding",
            "index": index,
            "embedding": base64.b64encode(row.astype("<f4").tobytes()).decode() if packed else row.tolist(),
        }
        for index, row in enumerate(rows)
    ]
    usage = {"prompt_tokens": 0, "total_tokens": 0}  # hashing knows no tokens
    return {"object": "list", "data": data, "model": model, "usage": usage}


# ---------------------------------------------------------------- models
def models_reply(models: Sequence[str], created: int) -> dict[str, Any]:
    """The JSON of ``/v1/models``."""
    return {"object": "list", "data": [model_reply(model, created) for model in models]}


def model_reply(model: str, created: int) -> dict[str, Any]:
    """The JSON of one model."""
    return {"id": model, "object": "model", "created": created, "owned_by": "camg"}


# ---------------------------------------------------------------- values
def _usage(prompt: int, completion: int) -> dict[str, int]:
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _integer(value: Any, name: str, *, least: int | None = None) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or (least is not None and value < least):
        more = "" if least is None else f" of at least {least}"
        raise Refusal(f"Expected `{name}` to be an integer{more}, got {_short(value)}.", param=name)
    return value


def _number(fields: Mapping[str, Any], name: str, low: float, high: float) -> float | None:
    value = fields.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise Refusal(f"Expected `{name}` from {low:g} to {high:g}, got {_short(value)}.", param=name)
    return float(value)


def _valid(text: str, where: str) -> str:
    """JSON may escape halves of surrogate pairs, which no tokenizer and no UTF-8 can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Refusal(f"Expected valid Unicode in {where}, got a lone surrogate.", param=where) from None
    return text


def _short(value: Any) -> str:
    """A printable piece of a value, for an error message."""
    text = repr(value)
    return (text if len(text) <= 60 else text[:57] + "...").encode(errors="replace").decode()
