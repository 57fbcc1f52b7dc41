"""The endpoint over real HTTP on the loopback: clients that behave, and clients that do not."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from camg.errors import BackendUnavailable, UsageError
from camg.serve import Completion, Endpoint, Refusal
from camg.workspace.encoders import HashingEncoder

HELLO = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}


def echo(request):
    text = request.messages[-1].content
    if text == "bug":
        raise KeyError("oops")
    if text == "usage":
        raise UsageError("asked wrongly")
    if text == "down":
        raise BackendUnavailable("no engine")
    if text == "refuse":
        raise Refusal("too long", code="context_length_exceeded", param="messages")
    return Completion(f"you said {text}", 1, 3)


@pytest.fixture
def endpoint():
    with Endpoint(echo, model="m") as found:
        yield found


def ask(endpoint, path="/chat/completions", body=HELLO, **headers):
    data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    request = urllib.request.Request(endpoint.address + path, data, {"Content-Type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def saying(text):
    return {**HELLO, "messages": [{"role": "user", "content": text}]}


def test_a_chat(endpoint):
    status, reply = ask(endpoint)
    assert status == 200
    assert reply["object"] == "chat.completion"
    assert reply["choices"][0]["message"] == {"role": "assistant", "content": "you said hello", "refusal": None}


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("/chat/completions", saying("bug"), 500, "KeyError"),
        ("/chat/completions", saying("usage"), 400, "asked wrongly"),
        ("/chat/completions", saying("down"), 503, "no engine"),
        ("/chat/completions", saying("refuse"), 400, "too long"),
        ("/chat/completions", {**HELLO, "model": "x"}, 404, "does not exist"),
        ("/chat/completions", b"{", 400, "no JSON"),
        ("/chat/completions", b"[" * 100_000, 400, "no JSON"),
        ("/chat/completions", b"\xff\xfe", 400, "no JSON"),
        ("/nowhere", {}, 404, "There is nothing at"),
        ("/nowhere", None, 404, "There is nothing at"),
        ("/models/other", None, 404, "There is nothing at"),
        ("/embeddings", {"model": "hashing"}, 400, "`input` to be a text"),
    ],
)
def test_faults_have_openais_shape(endpoint, path, body, status, message):
    found, reply = ask(endpoint, path, body)
    assert found == status
    assert message in reply["error"]["message"]
    assert ask(endpoint)[0] == 200  # it goes on


def test_models_and_embeddings(endpoint):
    status, reply = ask(endpoint, "/models", None)
    assert (status, [row["id"] for row in reply["data"]]) == (200, ["m", "hashing"])
    assert ask(endpoint, "/models/m", None)[1]["id"] == "m"
    _, reply = ask(endpoint, "/embeddings", {"model": "hashing", "input": ["red lamp", "blue"]})
    found = np.float32([row["embedding"] for row in reply["data"]])
    assert np.array_equal(found, HashingEncoder().encode(["red lamp", "blue"]))


def test_a_key_is_needed_where_there_is_one():
    with Endpoint(echo, model="m", key="sesam") as endpoint:
        for headers in ({}, {"Authorization": "Bearer other"}, {"Authorization": "sesam é"}):
            status, reply = ask(endpoint, **headers)
            assert (status, reply["error"]["code"]) == (401, "invalid_api_key")
        assert ask(endpoint, Authorization="Bearer sesam")[0] == 200


def connect(endpoint):
    host, port = endpoint.address.removeprefix("http://").removesuffix("/v1").split(":")
    return http.client.HTTPConnection(host, int(port), timeout=20)


def test_one_connection_serves_many_requests(endpoint):
    connection = connect(endpoint)
    for text in ("one", "bug", "two"):
        connection.request("POST", "/v1/chat/completions", json.dumps(saying(text)))
        answer = connection.getresponse()
        body = json.load(answer)
        assert answer.status == (500 if text == "bug" else 200), body
    connection.close()


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("PUT", {"Content-Length": "0"}, 501),
        ("POST", {"Content-Length": "many"}, 411),
        ("POST", {"Content-Length": "-1"}, 411),
        ("POST", {"Transfer-Encoding": "chunked"}, 411),
        ("POST", {"Content-Length": str(1 << 40)}, 413),
        ("POST", {"Content-Length": "9" * 5000}, 413),
    ],
)
def test_odd_requests_are_answered(endpoint, method, headers, status):
    connection = connect(endpoint)
    connection.putrequest(method, "/v1/chat/completions")
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    assert answer.status == status
    assert json.load(answer)["error"]["message"]
    connection.close()


def test_bytes_that_are_no_http_and_clients_that_leave(endpoint):
    host, port = endpoint.address.removeprefix("http://").removesuffix("/v1").split(":")
    for data in (b"\x00\x01\x02\r\n\r\n", b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 100\r\n\r\n{", b""):
        with socket.create_connection((host, int(port)), timeout=10) as client:
            client.sendall(data)
    assert ask(endpoint)[0] == 200


def test_many_at_a_time_and_two_endpoints():
    together = threading.Barrier(8, timeout=20)

    def wait(request):
        together.wait()  # passes only if eight are answered at once
        return echo(request)

    with Endpoint(wait, model="m") as one, Endpoint(wait, model="m") as two, ThreadPoolExecutor(16) as pool:
        replies = pool.map(lambda number: ask((one, two)[number % 2], body=saying(str(number))), range(16))
        texts = [reply["choices"][0]["message"]["content"] for _, reply in replies]
    assert texts == [f"you said {number}" for number in range(16)]


def test_ipv6_is_served_too():
    """Where this machine has it; the address is one that clients understand."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        with pytest.raises(BackendUnavailable):
            Endpoint(echo, model="m", host="::1")
        return
    with Endpoint(echo, model="m", host="::1") as endpoint:
        assert endpoint.address.startswith("http://[::1]:")
        with urllib.request.urlopen(f"{endpoint.address}/models", timeout=20) as reply:
            assert json.load(reply)["data"][0]["id"] == "m"


def test_closing_frees_the_port():
    endpoint = Endpoint(echo, model="m")
    port = int(endpoint.address.removesuffix("/v1").rpartition(":")[2])
    with pytest.raises(BackendUnavailable, match=f"Nothing can be served at 127.0.0.1:{port}"):
        Endpoint(echo, model="m", port=port)
    endpoint.close()
    endpoint.close()
    Endpoint(echo, model="m", port=port).close()
    with pytest.raises(BackendUnavailable):
        Endpoint(echo, model="m", host="host.invalid")


def test_the_openai_client_is_content(endpoint):
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(base_url=endpoint.address, api_key="none", max_retries=0)
    reply = client.chat.completions.create(model="m", messages=HELLO["messages"], stop=["hello"])
    assert reply.choices[0].message.content == "you said "
    assert client.embeddings.create(model="hashing", input="red lamp").data[0].embedding
    assert [model.id for model in client.models.list()] == ["m", "hashing"]
    with pytest.raises(openai.NotFoundError, match="does not exist here"):
        client.chat.completions.create(model="x", messages=HELLO["messages"])
    with pytest.raises(openai.BadRequestError, match="Streams are not served"):
        client.chat.completions.create(model="m", messages=HELLO["messages"], stream=True)
    client.close()
