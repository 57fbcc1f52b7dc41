"""Problem statements written by a model behind an OpenAI-compatible endpoint (``--statements-by``)."""

from __future__ import annotations

import http.client
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Sequence

from camg.errors import DataError
from camg_coding.build.admit import Write
from camg_coding.build.observe import Observation
from camg_coding.records import Instance

TRIES = 4
_SECONDS = 120.0
_RETRIED = (408, 409, 429, 500, 502, 503, 504)
_DIFF = 6_000  # characters of the patch that the model is shown
_LONGEST = 6_000  # characters of a statement
_TASK = """\
You write bug reports as users of a Python library write them. Below are a change that introduced a bug, which the
reader of your report does not know, and what some failing checks showed. Write the report in Markdown, 80 to 250 words:
a title line that begins with "# ", what happens, what should happen instead, and, if it helps, a short example of your
own that calls the public interface. Describe what a user sees. Do not say where in the source the cause lies, do not
quote the change, and mention no tests."""


def writer(url: str, model: str, *, pause: float = 1.0) -> Write:
    """A function that has ``model`` write a task's statement at ``url`` (with or without ``/chat/completions``).

    The key is CAMG_API_KEY, else OPENAI_API_KEY, if one is set. The function raises :class:`DataError` when the
    endpoint gives no text after some tries, ``pause`` seconds apart and doubling.
    """
    address = url.rstrip("/")
    if not address.startswith(("http://", "https://")):
        raise DataError(f"Expected an http(s) address for --statements-by, got {url!r}.")
    if not address.endswith("/chat/completions"):
        address += "/chat/completions" if address.endswith("/v1") else "/v1/chat/completions"

    def write(instance: Instance, seen: Sequence[Observation]) -> str:
        body = {"model": model, "temperature": 0.7, "max_tokens": 1_000, "messages": messages(instance, seen)}
        reason = ""
        for number in range(TRIES):
            if number:
                time.sleep(pause * 2 ** (number - 1))
            try:
                return _text(_post(address, body))
            except urllib.error.HTTPError as error:
                reason = f"status {error.code}"
                if error.code not in _RETRIED:
                    break
            except (OSError, ValueError, http.client.HTTPException) as error:
                reason = str(error) or type(error).__name__
        raise DataError(f"{address} wrote nothing: {reason}")

    return write


def messages(instance: Instance, seen: Sequence[Observation]) -> list[dict[str, str]]:
    """What the model reads."""
    lines = [f"Project: {instance.repo}", "", "The change:", instance.patch[:_DIFF], "", "What failing checks showed:"]
    for one in seen:
        where = one.entries[-1] if one.entries else "?"
        lines.append(f"- in {where}: {one.exception}: {' '.join(one.message.split())[:300]}")
    return [{"role": "system", "content": _TASK}, {"role": "user", "content": "\n".join(lines)}]


def _post(address: str, body: object) -> object:
    headers = {"Content-Type": "application/json"}
    key = os.environ.get("CAMG_API_KEY") or os.environ.get("OPENAI_API_KEY")
    if key:
        headers["Authorization"] = f"Bearer {key}"
    request = urllib.request.Request(address, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
        return json.loads(answer.read(1 << 20))


def _text(answer: object) -> str:
    """The message of a completion. Raises ``ValueError``."""
    try:
        text = answer["choices"][0]["message"]["content"]  # type: ignore[index]
    except (KeyError, IndexError, TypeError) as error:
        raise ValueError("the answer is no chat completion") from error
    if not isinstance(text, str) or not 20 <= len(text.strip()) <= _LONGEST:
        raise ValueError("the answer holds no text of a fitting length")
    return text.strip() + "\n"
