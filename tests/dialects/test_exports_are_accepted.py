"""Whatever a history is, its exports to Google, Vertex, Bedrock, OpenTelemetry and agent-checkpoint are valid there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from langgraph_portable_checkpoint.dialects.agent_checkpoint import AgentCheckpoint
from langgraph_portable_checkpoint.dialects.base import ExportOptions
from langgraph_portable_checkpoint.dialects.bedrock import Bedrock
from langgraph_portable_checkpoint.dialects.export import import_messages
from langgraph_portable_checkpoint.dialects.google import Google
from langgraph_portable_checkpoint.dialects.langchain import LangChain
from langgraph_portable_checkpoint.dialects.otel import OTel
from langgraph_portable_checkpoint.errors import IncompatibleHistoryError
from tests.dialects import oracle_bedrock, oracle_google, oracle_otel
from tests.dialects.exporting import export
from tests.dialects.made import HISTORIES, ODD_ARGS

GOOGLE, BEDROCK, OTEL, CHECKPOINT, LANGCHAIN = Google(), Bedrock(), OTel(), AgentCheckpoint(), LangChain()
TARGETS: list[tuple[str, Any, dict[str, Any]]] = [
    ("gemini", GOOGLE, {}),
    ("gemini 3", GOOGLE, {"model": "gemini-3-pro-preview"}),
    ("gemini 2.5", GOOGLE, {"model": "gemini-2.5-flash"}),
    ("vertex", GOOGLE, {"profile": "vertex", "model": "gemini-3-pro-preview"}),
    ("bedrock", BEDROCK, {}),
    ("bedrock llama", BEDROCK, {"model": "meta.llama4-maverick-17b-instruct-v1:0"}),
    ("otel", OTEL, {}),
    ("agent-checkpoint", CHECKPOINT, {}),
    ("langchain", LANGCHAIN, {}),
]
ORACLES: dict[str, Any] = {
    "google": oracle_google.complaints,
    "bedrock": oracle_bedrock.complaints,
    "otel": lambda payload: oracle_otel.complaints(payload["messages"]),
    "agent-checkpoint": lambda payload: [],
    "langchain": lambda payload: [],
}
FAMILIES = (
    "claude_code",
    "codex",
    "gemini",
    "langchain",
    "gemini_cli_sessions",
    "openai_chat",
    "openai_responses",
    "anthropic",
)
NO_HISTORY = ("exchanges.json", "trace.json", "INDEX.md")
"""Recordings of whole HTTP exchanges and of a tracer are no histories."""
NOTHING_TO_SEND = {
    "acidicsoil_session_meta_only.jsonl",
    "jn_record_event-agent-reasoning.jsonl",
    "jn_record_event-token-count.jsonl",
    "jn_record_event-turn-aborted.jsonl",
}
"""Files without a message that a provider could answer."""


def recorded(corpus: Path) -> list[Path]:
    files = [path for family in FAMILIES for path in sorted((corpus / family).iterdir())]
    return [path for path in files if not path.name.endswith(NO_HISTORY)]


def histories(path: Path) -> list[Any]:
    """The histories of a file; one of a benchmark's records holds several."""
    if path.name.startswith("taubench"):
        return [record["traj"] for record in json.loads(path.read_text())]
    return [path.read_bytes()]


def check(dialect: Any, payload: dict[str, Any], options: dict[str, Any], name: str) -> None:
    plain = {key: value for key, value in options.items() if key in ("model", "profile")}
    assert ORACLES[dialect.name](payload) == [], name
    if payload.get("lines") == []:
        return
    assert dialect.lint(payload, ExportOptions(**plain)) == [], name


def test_every_recorded_history_is_recognised_and_imports(corpus: Path) -> None:
    wanted = {
        "gemini": "google",
        "gemini_cli_sessions": "google",
        "claude_code": "claude-code",
        "openai_chat": "openai-chat",
        "openai_responses": "openai-responses",
    }
    paths = recorded(corpus)
    assert len(paths) > 60
    for path in paths:
        for payload in histories(path):
            expected = "mistral" if "mistral" in path.name else wanted.get(path.parent.name, path.parent.name)
            assert import_messages(payload).dialect == expected, path.name


@pytest.mark.parametrize(("name", "dialect", "options"), TARGETS, ids=[target[0] for target in TARGETS])
def test_every_recorded_history_exports_to_what_the_target_accepts(
    corpus: Path, name: str, dialect: Any, options: dict[str, Any]
) -> None:
    refused = set()
    for path in recorded(corpus):
        for payload in histories(path):
            envelopes = import_messages(payload).envelopes
            if not any(one["role"] != "system" for one in envelopes):
                continue
            try:
                exported, _ = export(dialect, envelopes, incomplete="trim", **options)
            except IncompatibleHistoryError:
                refused.add(path.name)
                continue
            check(dialect, exported, options, f"{path.name} to {name}")
    if dialect not in (OTEL, LANGCHAIN):
        assert refused <= ONLY_UNFINISHED, name


ONLY_UNFINISHED = {
    "jn_record_function-shell.jsonl",
    "jn_record_function-update_plan.jsonl",
    "jn_record_response-reasoning.jsonl",
    "vercel_openai-apply-patch-tool.1.response.json",
    "vercel_openai-custom-tool.1.response.json",
    "langgraphjs_supervisor_chunks.json",
    "geminicli_persistent_session.responses.jsonl",
    "pa_conversation_id_orphan_output.history.json",
}
"""Files that begin with a call that nobody answered, or hold nothing but such."""


POLICIES: tuple[dict[str, Any], ...] = (
    {},
    {"incomplete": "synthesize", "orphans": "text", "reasoning": "text", "server_tools": "text"},
    {"incomplete": "trim", "on_unsupported_part": "drop", "missing_signature": "text", "for_next_turn": False},
    {"reasoning": "drop", "prefix_intact": False, "resolve_media": False},
)


@pytest.mark.parametrize(("name", "dialect", "options"), TARGETS, ids=[target[0] for target in TARGETS])
@settings(max_examples=150, deadline=None)
@given(HISTORIES)
def test_any_history_exports_to_what_the_target_accepts(
    name: str, dialect: Any, options: dict[str, Any], history: list[Any]
) -> None:
    for policy in POLICIES:
        try:
            payload, _ = export(dialect, history, **options, **policy)
        except IncompatibleHistoryError:
            continue
        if payload.get("contents", payload.get("messages")) == []:
            continue
        check(dialect, payload, options, name)
        json.dumps(payload, default=lambda value: "bytes" if isinstance(value, bytes) else 1 / 0, allow_nan=False)


@pytest.mark.parametrize(("name", "dialect", "options"), TARGETS, ids=[target[0] for target in TARGETS])
@settings(max_examples=20, deadline=None)
@given(ODD_ARGS)
def test_arguments_that_json_cannot_hold_are_spelled_so_that_it_can(
    name: str, dialect: Any, options: dict[str, Any], args: Any
) -> None:
    history: list[Any] = [
        {"v": 1, "role": "user", "content": [{"type": "text", "text": "q"}]},
        {"v": 1, "role": "assistant", "content": [{"type": "tool_call", "id": "c", "name": "f", "args": args}]},
        {"v": 1, "role": "tool", "content": [{"type": "text", "text": "r"}], "tool_call_id": "c"},
    ]
    payload, _ = export(dialect, history, **options)
    check(dialect, payload, options, name)
    json.dumps(payload, ensure_ascii=False, allow_nan=False).encode()
