"""A local HTTP server that stands in for providers: it keeps what arrives, checks it, and gives a minimal answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

from tests.dialects import oracle_mistral, oracle_shapes

ANSWERS: dict[str, Any] = {
    "/v1/messages": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "ok"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
    "/v1/chat/completions": {
        "id": "c_1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "ok"}}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    },
    "/v1/responses": {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "completed",
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    },
}


def _refused(path: str, body: dict[str, Any], mistral: bool) -> list[str]:
    """What a strict provider says against a body that arrived."""
    if path.startswith("/v1/messages"):
        return oracle_shapes.breaches("anthropic", body["messages"])
    if path == "/v1/responses":
        return oracle_shapes.breaches("openai-responses", body["input"])
    if mistral:
        return oracle_mistral.breaches(body["messages"], "v13")
    return oracle_shapes.breaches("openai-chat", body["messages"])


@dataclass
class Stub:
    """A running server: its URL and the bodies that arrived."""

    url: str
    bodies: list[dict[str, Any]] = field(default_factory=list)
    mistral: bool = False


@contextmanager
def serve(*, mistral: bool = False) -> Iterator[Stub]:
    """Run a stub on a free port of loopback."""
    stub = Stub("", mistral=mistral)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            stub.bodies.append(body)
            path = self.path.partition("?")[0]
            refused = _refused(path, body, stub.mistral)
            answer = json.dumps({"error": {"message": refused}} if refused else ANSWERS[path]).encode()
            self.send_response(400 if refused else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *args: Any) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    stub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield stub
    finally:
        server.shutdown()
        server.server_close()
