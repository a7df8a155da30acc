"""Payloads with values of wrong types in known places: refused by name, or kept and told; no export crashes on them."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from langgraph_portable_checkpoint import export_messages, import_messages, lint
from langgraph_portable_checkpoint.envelope.overlay import OVERLAY, seal
from langgraph_portable_checkpoint.errors import MalformedHistoryError

ASKED = {"role": "user", "content": [{"text": "hi"}]}
SAID = {"role": "user", "parts": [{"type": "text", "content": "hi"}]}
OPENAI = {"provider": "openai", "api": "responses"}
OWN = "portable_checkpoint."


def _part(native: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": [{"text": "see"}, native]}]}


def _answer(native: Any) -> dict[str, Any]:
    return {"messages": [ASKED, {"role": "assistant", "content": [native]}]}


def _otel(part: dict[str, Any], **origin: str) -> dict[str, Any]:
    message = {"role": "assistant", "parts": [part], OWN + "origin": origin or OPENAI}
    return {"messages": [SAID, message]}


def _gemini(*parts: Any) -> dict[str, Any]:
    call = {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}
    return {"contents": [{"role": "user", "parts": [{"text": "q"}]}, call, {"role": "user", "parts": [*parts]}]}


CITING = {"citationsContent": {"content": [{"text": "a"}], "citations": 1.5}}
QUOTING = {"citationsContent": {"content": [{"text": "a"}], "citations": [{"sourceContent": 1.5}]}}
TOLD: dict[str, tuple[str, Any]] = {
    "a document that is a number": ("bedrock", _part({"document": 1.5})),
    "a cache point that is a list": ("bedrock", _part({"cachePoint": [None]})),
    "a document whose name is none": (
        "bedrock",
        _part({"document": {"format": "txt", "name": {}, "source": {"bytes": b"x"}}}),
    ),
    "citations that are a number": ("bedrock", _answer(CITING)),
    "a quoted source that is a number": ("bedrock", _answer(QUOTING)),
    "a result without its call's id": (
        "bedrock",
        {
            "messages": [
                ASKED,
                {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t", "name": "f", "input": {}}}]},
                {"role": "user", "content": [{"toolResult": {"content": [{"text": "r"}]}}]},
            ]
        },
    ),
    "a response that is a list": ("google", _gemini({"functionResponse": []})),
    "a response without a name": ("google", _gemini({"functionResponse": {"response": {}}})),
    "a picture that is a number": (
        "google",
        _gemini({"functionResponse": {"name": "f", "response": {}}}, {"inlineData": 5}),
    ),
    "a text that is none": ("anthropic", {"messages": [{"role": "user", "content": [{"type": "text", "text": None}]}]}),
    "an image whose source is none": (
        "anthropic",
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "q"}, {"type": "image", "source": [1]}]}]},
    ),
    "a citation that is a number": (
        "anthropic",
        {
            "messages": [
                {"role": "user", "content": "q"},
                {"role": "assistant", "content": [{"type": "text", "text": "a", "citations": [1.5]}]},
            ]
        },
    ),
    "a web search without a name": (
        "anthropic",
        {
            "messages": [
                {"role": "user", "content": "q"},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "server_tool_use", "id": "s", "input": {}},
                        {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
                        {"type": "text", "text": "a"},
                    ],
                },
            ]
        },
    ),
    "a part of chat without its text": ("openai-chat", {"messages": [{"role": "user", "content": [{"type": "text"}]}]}),
    "arguments that are none": (
        "mistral",
        {
            "messages": [
                {"role": "user", "content": "q"},
                {
                    "role": "assistant",
                    "tool_calls": [{"id": "a23456789", "function": {"name": "f", "arguments": None}}],
                },
                {"role": "tool", "tool_call_id": "a23456789", "content": "r"},
            ]
        },
    ),
}


UNTOLD = ("arguments that are none",)
"""Damages that mean nothing."""


@pytest.mark.parametrize("damage", TOLD)
def test_what_a_provider_refuses_does_not_go_back_to_it(damage: str) -> None:
    dialect, payload = TOLD[damage]
    found = import_messages(payload, dialect)
    for history in (found.messages, found.envelopes):
        export = export_messages(history, dialect)
        assert lint(export.payload, dialect) == []
        assert damage in UNTOLD or [*found.report, *export.report]


REFUSED: dict[str, tuple[str, Any, str]] = {
    "an item that is a text": (
        "otel",
        _otel({"type": "text", "content": "x", OWN + "extras": {"item": "xxx"}}),
        "message 1 content[0].extras.item",
    ),
    "a summary that is a number": (
        "otel",
        _otel({"type": "reasoning", "content": "x", OWN + "extras": {"summary": -1}}),
        "message 1 content[0].extras.summary",
    ),
    "a block type that is a list": (
        "otel",
        _otel(
            {"type": "server_tool_call", "id": "a", "name": "n", OWN + "extras": {"block_type": ["x"]}},
            provider="anthropic",
            api="messages",
        ),
        "message 1 content[0].extras.block_type",
    ),
    "a citation whose extras are a list": (
        "otel",
        _otel({"type": "text", "content": "x", OWN + "annotations": [{"type": "citation", "extras": ["x"]}]}),
        "message 1 content[0].annotations[0]",
    ),
    "a name that is bytes": (
        "google",
        {"contents": [{"role": "user", "parts": [{"text": "hi", "name": b"b"}]}]},
        "contents[0].parts[0].name: is bytes",
    ),
    "a response of bytes": (
        "google",
        _gemini({"functionResponse": {"name": "f", "response": {"output": b"b"}}}),
        "contents[2].parts[0].functionResponse.response.output: is bytes",
    ),
    "a source's place beyond 64 bits": (
        "google",
        {
            "candidates": [
                {
                    "content": {"role": "model", "parts": [{"text": "a"}]},
                    "groundingMetadata": {"groundingSupports": [{"segment": {"endIndex": 2**70}}]},
                }
            ]
        },
        "groundingMetadata: holds an integer beyond 64 bits",
    ),
}


@pytest.mark.parametrize("damage", REFUSED)
def test_what_nothing_can_be_read_from_is_refused_with_its_place(damage: str) -> None:
    dialect, payload, place = REFUSED[damage]
    with pytest.raises(MalformedHistoryError) as refused:
        import_messages(payload, dialect)
    assert place in str(refused.value)


TARGETS = ("openai-responses", "openai-chat", "anthropic", "google", "bedrock", "mistral", "otel", "langchain")


def _overlaid(blocks: list[Any] | None = None, **envelope: Any) -> list[dict[str, Any]]:
    """A message as JSON, with an overlay that claims to be of its content."""
    fields = {"content": "hi", "additional_kwargs": {}}
    changes = {"of": seal({"content": "hi"}), "envelope": {"set": envelope}, **({"blocks": blocks} if blocks else {})}
    fields["additional_kwargs"] = {OVERLAY: changes}
    return [{"type": "human", "data": fields}]


@pytest.mark.parametrize(
    "history",
    [
        pytest.param(_overlaid(content=-1), id="content that is a number"),
        pytest.param(_overlaid(content=[{"type": ""}]), id="a block of no known type"),
        pytest.param(_overlaid(role="x"), id="a role that is none"),
        pytest.param(_overlaid(origin={"api": 1}), id="an origin that is no text"),
        pytest.param(_overlaid([{"set": {"extras": {"item": "x"}}}]), id="an item that is a text"),
        pytest.param(
            _overlaid([{"set": {"raw": {"text": -1}}}], origin={"provider": "google", "api": "generate-content"}),
            id="a native form that says another thing",
        ),
    ],
)
@pytest.mark.parametrize("target", TARGETS)
def test_what_a_damaged_overlay_says_does_not_count(history: list[dict[str, Any]], target: str) -> None:
    found = import_messages(history, "langchain")
    assert found.envelopes[0]["content"][0]["text"] == "hi"
    for given in (found.messages, found.envelopes):
        assert lint(export_messages(given, target).payload, target) == []


@pytest.mark.parametrize(
    "part",
    [
        {"type": "tool_call", "id": "a", "name": {"a": 1}, "args": {}},
        {"type": "text", "text": "x", "extras": {"item": [None]}},
        {"type": "text", "text": "x", "annotations": [{"type": "citation", "extras": ["x"]}]},
        {"type": "reasoning", "reasoning": "x", "extras": {"redacted_data": [[]]}},
        {"type": "reasoning", "reasoning": "x", "extras": 1.5},
    ],
    ids=["name", "item", "citation", "redacted", "extras"],
)
@pytest.mark.parametrize("provider", ["openai", "bedrock_converse"])
@pytest.mark.parametrize("target", TARGETS)
def test_parts_of_wrong_types_in_messages_do_not_stop_an_export(
    part: dict[str, Any], provider: str, target: str
) -> None:
    answer = AIMessage([{"type": "text", "text": "ok"}, part], response_metadata={"model_provider": provider})
    assert lint(export_messages([HumanMessage("hi"), answer], target).payload, target) == []


def test_lone_surrogates_in_a_document_are_mended_and_told() -> None:
    source = {"type": "content", "content": "a\ud800"}
    history = {"messages": [{"role": "user", "content": [{"type": "document", "source": source}]}]}
    for target in ("google", "bedrock"):
        export = export_messages(import_messages(history, "anthropic").envelopes, target)
        assert "lone surrogates became U+FFFD" in {loss.action for loss in export.report}


def test_lone_surrogates_in_a_speaker_s_name_are_mended_and_told() -> None:
    history = {"messages": [{**SAID, "name": "a\ud800"}]}
    export = export_messages(import_messages(history, "otel").envelopes, "openai-chat")
    assert export.payload["messages"][0]["name"] == "a\ufffd"
    assert [(loss.kind, loss.path) for loss in export.report] == [("re-keyed", "name")]


def test_an_origin_that_utf8_cannot_hold_is_refused() -> None:
    history = {"messages": [{**SAID, OWN + "origin": {"provider": "\ud800"}}]}
    with pytest.raises(MalformedHistoryError, match="origin"):
        import_messages(history, "otel")


def test_a_message_that_stands_twice_sends_its_server_tools_once() -> None:
    served = [
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
        {"type": "text", "text": "a"},
    ]
    turn = [{"role": "user", "content": "q"}, {"role": "assistant", "content": served}]
    export = export_messages(import_messages({"messages": [*turn, *turn]}, "anthropic").envelopes, "anthropic")
    assert lint(export.payload, "anthropic") == []
    assert len(export.payload["messages"][1]["content"]) == 3
    assert {loss.kind for loss in export.report} == {"dropped"}


def test_hosted_items_whose_id_is_used_twice_get_one_of_their_own() -> None:
    made = {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "iVBORw0KGgo="}
    said = {"role": "user", "content": "q"}
    found = import_messages({"input": [said, made, made]}, "openai-responses")
    export = export_messages(found.envelopes, "openai-responses")
    assert lint(export.payload, "openai-responses") == []
    assert [loss.rule for loss in export.report] == ["R6"]


def test_a_response_that_names_another_call_is_spelled_anew() -> None:
    call = {"role": "model", "parts": [{"functionCall": {"id": "c", "name": "f", "args": {}}}]}
    answer = {"functionResponse": {"id": "x", "name": "f", "response": {"output": "r"}}}
    history = {"contents": [{"role": "user", "parts": [{"text": "q"}]}, call, {"role": "user", "parts": [answer]}]}
    export = export_messages(import_messages(history, "google").envelopes, "google")
    assert lint(export.payload, "google") == []
    assert [(loss.rule, loss.kind) for loss in export.report] == [("G8", "downgraded")]


def test_a_spelling_of_arguments_that_says_another_thing_does_not_count() -> None:
    call = {"type": "tool_call", "id": "a23456789", "name": "f", "arguments": {"x": 1}, OWN + "arguments": "y"}
    answer = {"type": "tool_call_response", "id": "a23456789", "response": "r"}
    history = {"messages": [SAID, {"role": "assistant", "parts": [call]}, {"role": "tool", "parts": [answer]}]}
    export = export_messages(import_messages(history, "otel").envelopes, "mistral")
    assert lint(export.payload, "mistral") == []
    assert export.payload["messages"][1]["tool_calls"][0]["function"]["arguments"] == '{"x": 1}'


def test_a_call_whose_native_type_is_no_word_does_not_stop_an_export() -> None:
    call = {"id": "a", "type": [[]], "function": {"name": "f", "arguments": "{}"}}
    answer = {"role": "tool", "tool_call_id": "a", "content": "r"}
    history = [{"role": "user", "content": "q"}, {"role": "assistant", "content": None, "tool_calls": [call]}, answer]
    found = import_messages(history, "openai-chat").envelopes
    for target in ("anthropic", "google", "bedrock"):
        assert lint(export_messages(found, target).payload, target) == []


@pytest.mark.parametrize("damage", ["no role", "a role that is none"])
def test_a_content_of_the_model_without_its_role_gets_it(damage: str) -> None:
    content = {"parts": [{"text": "ok"}]} | ({} if damage == "no role" else {"role": 5})
    origin = {"provider": "google", "api": "generate-content"}
    text = {"type": "text", "text": "ok", "raw": {"text": "ok"}}
    answer = {"v": 1, "role": "assistant", "content": [text], "origin": origin, "raw_content": content}
    asked = {"v": 1, "role": "user", "content": [{"type": "text", "text": "q"}]}
    export = export_messages([asked, answer], "google")
    assert export.payload["contents"][1]["role"] == "model"
    assert [(loss.rule, loss.kind) for loss in export.report] == [("G2", "re-keyed")]


def test_keys_that_the_conventions_do_not_know_are_told() -> None:
    history = {"messages": [{**SAID, "index": 1}]}
    export = export_messages(import_messages(history, "otel").messages, "otel")
    assert [(loss.rule, loss.path) for loss in export.report] == [("O4", "index")]


def test_parts_of_unknown_types_that_go_back_from_a_neutral_history_are_told() -> None:
    history = [
        {"type": "ai", "data": {"content": [{"type": "new"}], "response_metadata": {"model_provider": "openai"}}}
    ]
    assert [loss.rule for loss in import_messages(history, "langchain").report] == ["unknown-part"]
