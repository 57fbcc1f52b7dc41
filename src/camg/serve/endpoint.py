"""The HTTP side: one thread a connection, JSON in and out, every fault an error in OpenAI's shape."""

from __future__ import annotations

import hmac
import itertools
import json
import socket
import socketserver
import threading
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from camg.errors import BackendUnavailable, CamgError, UsageError
from camg.serve import wire
from camg.serve.wire import Completer, Refusal
from camg.workspace.encoders import Encoder, HashingEncoder

LOOPBACK = "127.0.0.1"
EMBEDDING = "hashing"
"""The name of the embedding model."""

BODY_BYTES = 64 << 20
IDLE_SECONDS = 60.0  # a connection that asks for nothing is closed


class Endpoint:
    """An OpenAI-compatible server in this process.

    Args:
        complete: answers a chat; called from several threads at once.
        model: the name that requests must give.
        encoder: of ``/v1/embeddings``, under the name :data:`EMBEDDING`; default a :class:`HashingEncoder`.
        host: the address to listen at (IPv4, IPv6 without brackets, or a name); the loopback is seen by this machine
            alone.
        port: 0: any free one (:attr:`address` says which).
        key: what requests must bring as a bearer token; empty: nothing.

    Raises :class:`BackendUnavailable` when the address cannot be had.
    """

    def __init__(
        self,
        complete: Completer,
        *,
        model: str,
        encoder: Encoder | None = None,
        host: str = LOOPBACK,
        port: int = 0,
        key: str = "",
    ) -> None:
        self.complete = complete
        self.model = model
        self.encoder = encoder or HashingEncoder()
        self.key = key
        self.created = int(time.time())
        self.numbers = itertools.count(1)
        try:
            self._server = _Server((host, port), self)
        except (OSError, OverflowError) as error:
            raise BackendUnavailable(
                f"Nothing can be served at {_place(host, port)}: {error}",
                hint="Choose another address, or another port (0: any free one).",
            ) from error
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, name="camg-endpoint", daemon=True
        )
        self._thread.start()

    @property
    def address(self) -> str:
        """The base URL that clients want, e.g. ``http://127.0.0.1:40001/v1``."""
        host, port = self._server.server_address[:2]
        return f"http://{_place(str(host), port)}/v1"

    def close(self) -> None:
        """Stop listening. Safe to call twice."""
        self._server.shutdown()
        self._thread.join(timeout=10)
        self._server.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ------------------------------------------------------------ what it answers
    def get(self, path: str) -> dict[str, Any]:
        """Answer a GET. Raises :class:`Refusal`."""
        models = [self.model, EMBEDDING]
        if path == "/v1/models":
            return wire.models_reply(models, self.created)
        name = path.removeprefix("/v1/models/")
        if name in models:
            return wire.model_reply(name, self.created)
        raise _nothing_at(path)

    def post(self, path: str, body: Any) -> dict[str, Any]:
        """Answer a POST. Raises :class:`Refusal`, and what the completer raises."""
        if path == "/v1/chat/completions":
            request = wire.chat_request(body, self.model)
            completion = self.complete(request)
            number, created = next(self.numbers), int(time.time())
            return wire.chat_reply(completion, request, model=self.model, number=number, created=created)
        if path == "/v1/embeddings":
            dimensions = int(getattr(self.encoder, "dimensions", 0))
            texts, packed = wire.embedding_texts(body, EMBEDDING, dimensions)
            return wire.embedding_reply(self.encoder.encode(texts), model=EMBEDDING, packed=packed)
        raise _nothing_at(path)


def _place(host: str, port: int) -> str:
    """``host:port`` as a URL has it: IPv6 addresses in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _nothing_at(path: str) -> Refusal:
    known = "POST /v1/chat/completions, POST /v1/embeddings, GET /v1/models"
    return Refusal(f"There is nothing at {path[:80]!r}: Expected {known}.", status=404, code="not_found")


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        """As TCPServer: HTTPServer would look up the host's name, which may ask the network."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "camg", int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS
    wbufsize = -1  # head and body leave in one packet
    disable_nagle_algorithm = True
    server: _Server

    def do_GET(self) -> None:
        """``/v1/models``."""
        self._answer(lambda: self.server.endpoint.get(self._path()))

    def do_POST(self) -> None:
        """Chats and embeddings."""
        self._answer(lambda: self.server.endpoint.post(self._path(), self._body()))

    def _path(self) -> str:
        return self.path.partition("?")[0].rstrip("/")

    def _answer(self, make: Any) -> None:
        try:
            self._check_key()
            status, body = 200, make()
        except Refusal as refusal:
            status, body = refusal.status, refusal.body()
        except UsageError as error:
            status, body = 400, Refusal(error.message).body()
        except CamgError as error:
            status, body = 503, Refusal(error.message, kind="server_error").body()
        except Exception as error:  # a bug must not leave the client waiting
            message = f"The server failed: {type(error).__name__}: {error}"
            status, body = 500, Refusal(message, kind="server_error").body()
        self._send(status, body)

    def _check_key(self) -> None:
        key = self.server.endpoint.key
        given = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        if key and not hmac.compare_digest(given.encode(errors="replace"), key.encode()):
            self.close_connection = True  # the body stays unread
            raise Refusal("Expected the server's key as a bearer token.", status=401, code="invalid_api_key")

    def _body(self) -> Any:
        length = self.headers.get("Content-Length") or ""
        if not (length.isascii() and length.isdigit()):
            self.close_connection = True
            raise Refusal("Expected a body with a Content-Length.", status=411)
        if len(length) > 15 or int(length) > BODY_BYTES:
            self.close_connection = True
            raise Refusal(f"Expected at most {BODY_BYTES} bytes, got {length[:40]}.", status=413)
        data = self.rfile.read(int(length))
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise Refusal(f"The body is no JSON: {str(error)[:200]}") from None

    def _send(self, status: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the HTTP parser refuses (methods, malformed requests), in the same shape."""
        self.close_connection = True
        text = message or HTTPStatus(code).phrase
        self._send(code, Refusal(text, status=code).body())

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing is printed for each request."""
