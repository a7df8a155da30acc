"""The official clients of Google and AWS send our payloads, and a server that validates what arrives accepts them."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from google import genai
from google.genai import types

from langgraph_portable_checkpoint.dialects.bedrock import Bedrock
from langgraph_portable_checkpoint.dialects.bedrock_blocks import with_bytes
from langgraph_portable_checkpoint.dialects.export import import_messages
from langgraph_portable_checkpoint.dialects.google import Google
from langgraph_portable_checkpoint.errors import IncompatibleHistoryError
from tests.dialects import oracle_bedrock, oracle_google
from tests.dialects.exporting import export
from tests.dialects.test_exports_are_accepted import histories, recorded

GEMINI_ANSWER = {"candidates": [{"content": {"role": "model", "parts": [{"text": "ok"}]}, "finishReason": "STOP"}]}
CONVERSE_ANSWER = {
    "output": {"message": {"role": "assistant", "content": [{"text": "ok"}]}},
    "stopReason": "end_turn",
    "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
    "metrics": {"latencyMs": 1},
}


class Stub(ThreadingHTTPServer):
    """Answers every POST like the provider, and keeps what arrived."""

    def __init__(self) -> None:
        self.arrived: list[dict[str, Any]] = []
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Stub

    def do_POST(self) -> None:
        self.server.arrived.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        body = json.dumps(GEMINI_ANSWER if "generateContent" in self.path else CONVERSE_ANSWER).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def stub() -> Iterator[Stub]:
    server = Stub()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()


def exports(corpus: Path, dialect: Any, **options: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    for path in recorded(corpus):
        for payload in histories(path)[:1]:
            try:
                exported, _ = export(dialect, import_messages(payload).envelopes, incomplete="trim", **options)
            except IncompatibleHistoryError:
                continue
            if exported.get("contents") or exported.get("messages"):
                yield path.name, exported


def camel(value: Any, key: str = "") -> Any:
    """Contents as the REST API spells them, for comparison; signatures and data as standard base64."""
    if isinstance(value, dict):
        return {
            spelled(one): item if spelled(one) in ("args", "response") else camel(item, spelled(one))
            for one, item in value.items()
        }
    if isinstance(value, list):
        return [camel(item) for item in value]
    return value.replace("-", "+").replace("_", "/") if key in ("data", "thoughtSignature") else value


def spelled(key: str) -> str:
    head, *rest = key.split("_")
    return head + "".join(word.title() for word in rest)


def test_google_genai_sends_every_recorded_history(corpus: Path, stub: Stub) -> None:
    client = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=stub.url))
    count = 0
    for name, payload in exports(corpus, Google(), model="gemini-3-pro-preview"):
        system = payload.get("system_instruction")
        config = types.GenerateContentConfig(system_instruction=system) if system else None
        answer = client.models.generate_content(
            model="gemini-3-pro-preview", contents=payload["contents"], config=config
        )
        sent = stub.arrived[-1]
        assert answer.text == "ok"
        assert oracle_google.complaints({"contents": sent["contents"]}) == [], name
        assert camel(sent["contents"]) == camel(payload["contents"]), name
        assert camel(sent.get("systemInstruction", {}).get("parts")) == camel((system or {}).get("parts")), name
        count += 1
    assert count > 45


def test_boto3_sends_every_recorded_history(corpus: Path, stub: Stub) -> None:
    client = boto3.client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=stub.url,
        aws_access_key_id="none",
        aws_secret_access_key="none",
        config=Config(retries={"max_attempts": 0}),
    )
    count = 0
    for name, payload in exports(corpus, Bedrock()):
        answer = client.converse(modelId="anthropic.claude-sonnet-4-5", **payload)
        sent = {key: with_bytes(value) for key, value in stub.arrived[-1].items() if key in ("messages", "system")}
        assert answer["stopReason"] == "end_turn"
        assert oracle_bedrock.complaints(sent) == [], name
        assert sent == payload, name
        count += 1
    assert count > 45


def test_the_clients_send_bytes_as_base64(stub: Stub) -> None:
    image: Any = {"v": 1, "role": "user", "content": [{"type": "image", "mime_type": "image/png", "data": b"\x89PNG"}]}
    payload, _ = export(Google(), [image])
    client = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=stub.url))
    client.models.generate_content(model="gemini-2.5-pro", contents=payload["contents"])
    (part,) = stub.arrived[-1]["contents"][0]["parts"]
    assert base64.b64decode(part["inlineData"]["data"]) == b"\x89PNG"
