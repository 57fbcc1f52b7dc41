"""Requests in OpenAI's shape: what is read, what is refused, and that nothing else ever comes of a body."""

from __future__ import annotations

import base64

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from camg.serve import wire
from camg.serve.wire import ChatRequest, Completion, Refusal
from camg.types import Message
from camg.workspace.encoders import HashingEncoder

HELLO = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}


def read(**fields):
    return wire.chat_request({**HELLO, **fields}, "m")


def test_what_a_request_says_is_read():
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    rows = [{"role": "developer", "content": "be brief"}, {"role": "user", "content": parts}, {"role": "assistant"}]
    found = read(messages=rows, max_tokens=5, temperature=0, top_p=1, stop="x", seed=-3, user="me", store=True)
    messages = (Message("system", "be brief"), Message("user", "ab"), Message("assistant", ""))
    assert found == ChatRequest(messages, 5, 0.0, 1.0, ("x",), 3)
    assert read() == ChatRequest((Message("user", "hello"),))
    assert read(max_completion_tokens=7, max_tokens=5).limit == 7
    assert read(response_format={"type": "json_object"}, n=1, stream=False, tools=[]) == read()


REFUSED = {
    "no object": ([], "a JSON object, got list"),
    "no model": ({"messages": HELLO["messages"]}, "`model` to be 'm', got None"),
    "another model": ({**HELLO, "model": "gpt"}, "'gpt' does not exist here"),
    "no messages": ({"model": "m"}, "`messages`, a list of at least one"),
    "empty messages": ({**HELLO, "messages": []}, "a list of at least one"),
    "a message that is none": ({**HELLO, "messages": ["hi"]}, r"messages\[0\] to be an object"),
    "a role": ({**HELLO, "messages": [{"role": "king", "content": "x"}]}, r"messages\[0\]\.role"),
    "a content": ({**HELLO, "messages": [{"role": "user", "content": 3}]}, r"messages\[0\]\.content to be text"),
    "an image": ({**HELLO, "messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "parts of type `text`"),
    "a surrogate": ({**HELLO, "messages": [{"role": "user", "content": "\ud800"}]}, "lone surrogate"),
    "stream": ({**HELLO, "stream": True}, "Streams are not served"),
    "tools": ({**HELLO, "tools": [{}]}, "`tools` is not served"),
    "choices": ({**HELLO, "n": 2}, "one choice, got n=2"),
    "schema": ({**HELLO, "response_format": {"type": "json_schema"}}, "not enforced, got 'json_schema'"),
    "limit": ({**HELLO, "max_tokens": 0}, "`max_tokens` to be an integer of at least 1, got 0"),
    "fraction": ({**HELLO, "max_tokens": 1.5}, "to be an integer"),
    "truth": ({**HELLO, "seed": True}, "`seed` to be an integer, got True"),
    "hot": ({**HELLO, "temperature": 2.5}, "`temperature` from 0 to 2, got 2.5"),
    "not a number": ({**HELLO, "top_p": float("nan")}, "`top_p` from 0 to 1"),
    "stops": ({**HELLO, "stop": ["a"] * 5}, "a list of at most 4"),
    "empty stop": ({**HELLO, "stop": [""]}, "`stop` to be a text"),
}


@pytest.mark.parametrize(("body", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_honoured_is_named(body, reason):
    with pytest.raises(Refusal, match=reason) as refused:
        wire.chat_request(body, "m")
    error = refused.value.body()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert refused.value.status in (400, 404)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
NAMES = ("messages", "n", "stop", "seed", "max_tokens", "temperature", "top_p", "response_format", "tools", "stream")


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(NAMES), JSON, max_size=4), JSON)
def test_any_json_is_a_request_or_a_refusal(fields, whole):
    for body in ({**HELLO, **fields}, whole):
        try:
            found = wire.chat_request(body, "m")
        except Refusal as refusal:
            refusal.body()["error"]["message"].encode()
        else:
            assert found.messages


@settings(deadline=None)
@given(JSON)
def test_any_json_is_embedded_or_refused(value):
    try:
        texts, _ = wire.embedding_texts({"model": "e", "input": value}, "e", 8)
    except Refusal:
        return
    assert texts == ([value] if isinstance(value, str) else value)


def test_an_answer_ends_before_the_first_stop():
    request = read(stop=["##", "!"])
    reply = wire.chat_reply(Completion("a! b ## c", 3, 9, ended=False), request, model="m", number=1, created=0)
    (choice,) = reply["choices"]
    assert choice["message"]["content"] == "a"
    assert choice["finish_reason"] == "stop"
    assert reply["usage"] == {"prompt_tokens": 3, "completion_tokens": 9, "total_tokens": 12}
    cut = wire.chat_reply(Completion("a", 3, 1, ended=False), read(), model="m", number=1, created=0)
    assert cut["choices"][0]["finish_reason"] == "length"


def test_embeddings_as_numbers_and_packed():
    rows = HashingEncoder(16).encode(["red lamp", ""])
    plain = wire.embedding_reply(rows, model="e", packed=False)["data"]
    packed = wire.embedding_reply(rows, model="e", packed=True)["data"]
    for row, one, two in zip(rows, plain, packed, strict=True):
        assert np.array_equal(np.float32(one["embedding"]), row)
        assert np.array_equal(np.frombuffer(base64.b64decode(two["embedding"]), "<f4"), row)
