"""A policy behind an OpenAI-compatible HTTP endpoint: for ``camg serve``, and for packages that know no other way.

``POST /v1/chat/completions``, ``POST /v1/embeddings``, ``GET /v1/models``. A plugin gives :class:`Endpoint` a function
that completes a chat; ``camg serve`` gives it a :class:`Voice`, which asks a policy.
"""

from __future__ import annotations

from camg.serve.endpoint import Endpoint
from camg.serve.voice import Voice
from camg.serve.wire import ChatRequest, Completer, Completion, Refusal

__all__ = ["ChatRequest", "Completer", "Completion", "Endpoint", "Refusal", "Voice"]
