"""What an API says of messages, calls and sources beside their content comes back to it, or a loss names it."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langgraph_portable_checkpoint import export_messages, import_messages, lint
from langgraph_portable_checkpoint.errors import IncompatibleHistoryError, MalformedHistoryError
from tests.dialects import oracle_bedrock, oracle_mistral

Q: dict[str, Any] = {"role": "user", "content": "q"}
TARGETS = ("anthropic", "bedrock", "google", "mistral", "openai-chat", "openai-responses")


def asks(arguments: str, **beside: Any) -> list[dict[str, Any]]:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": arguments}, **beside}
    return [
        Q,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "r"},
    ]


def again(payload: Any, dialect: str, **options: Any) -> Any:
    """Import a history and export it to where it came from, also as LangChain messages."""
    imported = import_messages(payload, dialect)
    ways = [export_messages(given, dialect, **options) for given in (imported.envelopes, imported.messages)]
    assert ways[0].payload == ways[1].payload
    assert ways[0].report == ways[1].report
    return ways[0]


def test_a_signature_in_a_chat_call_goes_back_to_hosts_that_may_want_it_and_is_told_elsewhere() -> None:
    signed = asks("{}", extra_content={"google": {"thought_signature": "TS"}})
    assert again({"messages": signed}, "openai-chat", profile="compatible").payload["messages"][1] == signed[1]
    for profile in ("openai", "openrouter", "groq"):
        export = again({"messages": signed}, "openai-chat", profile=profile)
        assert ("C12", "extra_content") in {(loss.rule, loss.detail) for loss in export.report}


def test_the_caller_of_a_call_survives_a_detour() -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}, "caller": {"type": "direct"}}
    history = [Q, {"role": "assistant", "content": [call]}]
    history.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "r"}]})
    detour = export_messages(import_messages({"messages": history}, "anthropic").envelopes, "otel")
    back = export_messages(import_messages(detour.payload, "otel").envelopes, "anthropic")
    assert back.payload["messages"][1]["content"] == [call]


def test_the_tools_of_aws_go_back_in_pairs() -> None:
    use = {"toolUse": {"toolUseId": "st1", "name": "nova_grounding", "input": {"q": 1}, "type": "server_tool_use"}}
    answer = {"toolResult": {"toolUseId": "st1", "content": [{"json": {"x": 1}}], "type": "nova_grounding_result"}}
    user = {"role": "user", "content": [{"text": "q"}]}
    payload = {"messages": [user, {"role": "assistant", "content": [use, answer, {"text": "a"}]}, user]}
    export = again(payload, "bedrock")
    assert export.payload == payload
    assert export.lossless
    assert lint(payload, "bedrock") == oracle_bedrock.complaints(payload) == []
    half = {"messages": [user, {"role": "assistant", "content": [answer, {"text": "a"}]}, user]}
    assert again(half, "bedrock").payload["messages"][1]["content"] == [{"text": "a"}]
    detour = export_messages(import_messages(payload, "bedrock").envelopes, "otel").payload
    assert export_messages(import_messages(detour, "otel").envelopes, "bedrock").payload == payload


def test_documents_and_references_of_mistral_go_back_to_its_api_and_to_no_bare_tokenizer() -> None:
    document = {"type": "document_url", "document_url": "https://d.example/a.pdf", "document_name": "a"}
    asked = {"role": "user", "content": [{"type": "text", "text": "t"}, document]}
    said = {
        "role": "assistant",
        "content": [{"type": "text", "text": "a"}, {"type": "reference", "reference_ids": [1]}],
    }
    payload = {"messages": [asked, said, Q]}
    export = again(payload, "mistral")
    assert export.payload == payload
    assert lint(payload, "mistral") == oracle_mistral.unknown_to_sdk(payload["messages"]) == []
    bare = export_messages(import_messages(payload, "mistral").envelopes[:1], "mistral", profile="v15")
    assert [loss.kind for loss in bare.report] == ["placeholder"]


SOURCES = {
    "groundingMetadata": {
        "webSearchQueries": ["q"],
        "groundingChunks": [{"web": {"uri": "https://g.example", "title": "T"}}],
        "groundingSupports": [{"segment": {"endIndex": 1, "text": "a"}, "groundingChunkIndices": [0, 7]}],
    },
    "citationMetadata": {"citations": [{"uri": "https://c.example", "startIndex": 0, "endIndex": 1}]},
}


def test_what_gemini_says_of_its_sources_becomes_citations() -> None:
    parts = [{"text": "thinks", "thought": True}, {"text": "a"}]
    response = {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", **SOURCES}]}
    imported = import_messages(response, "google")
    annotations = imported.envelopes[0]["content"][1]["annotations"]
    assert [one.get("url") for one in annotations] == ["https://g.example", None, "https://c.example"]
    assert annotations[0]["cited_text"] == "a"
    history = [HumanMessage("q"), *imported.messages]
    for target in TARGETS:
        told = {loss.path for loss in export_messages(history, target).report if loss.kind == "dropped"}
        assert {"groundingMetadata", "citationMetadata"} <= told, target
    assert "https://g.example" in str(export_messages(history, "otel").payload)


@pytest.mark.parametrize("profile", ["openai", "groq", "compatible"])
@pytest.mark.parametrize("name", ["f", "other"])
def test_a_result_s_name_that_its_history_had_is_told_where_it_cannot_stay(profile: str, name: str) -> None:
    named = asks("{}")
    named[2]["name"] = name
    told = [(loss.path, loss.detail) for loss in again({"messages": named}, "openai-chat", profile=profile).report]
    assert told == [("name", name)]
    given = [AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "c"}])]
    given += [ToolMessage("x", tool_call_id="c", name=name)]
    told = [(loss.path, loss.detail) for loss in export_messages([HumanMessage("q"), *given], "openai-chat").report]
    assert told == [("name", name)] * (name == "other")


def test_keys_of_an_item_that_input_has_not_are_told() -> None:
    item = {"type": "message", "id": "msg_1", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
    assert [loss.detail for loss in again({"input": [item]}, "openai-responses").report] == ["id"]


def test_unknown_keys_of_a_message_are_told() -> None:
    for dialect, rule in (("mistral", "M8"), ("openai-chat", "C5")):
        told = again({"messages": [{**Q, "mine": 1}]}, dialect).report
        assert [(loss.rule, loss.path) for loss in told] == [(rule, "mine")]


@pytest.mark.parametrize("options", [{}, {"incomplete": "trim"}, {"orphans": "text"}])
def test_a_history_of_blank_texts_is_said_to_be_one(options: Any) -> None:
    with pytest.raises(IncompatibleHistoryError, match="blank texts"):
        export_messages([HumanMessage("")], "anthropic", **options)
    lone = [HumanMessage(""), AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "c"}])]
    with pytest.raises(IncompatibleHistoryError, match="unfinished"):
        export_messages(lone, "anthropic")


def test_a_payload_that_holds_itself_is_refused() -> None:
    itself: dict[str, Any] = {"type": "text"}
    itself["again"] = [itself, itself]
    for dialect in ("openai-chat", "anthropic", "mistral", "bedrock", "google"):
        with pytest.raises(MalformedHistoryError, match="nested deeper"):
            import_messages({"messages": [{"role": "user", "content": [itself]}]}, dialect)


@pytest.mark.parametrize("arguments", ['{"a":' * 300 + "1" + "}" * 300, '{"a\\ud800":1}', '[{"b":{"a\\udc00":1}}]'])
def test_arguments_that_no_checkpoint_can_hold_are_kept_as_text(arguments: str) -> None:
    imported = import_messages({"messages": asks(arguments)}, "openai-chat")
    assert [loss.rule for loss in imported.report] == ["arguments"]
    assert imported.messages[1].invalid_tool_calls[0]["args"] == arguments  # type: ignore[attr-defined]
    assert isinstance(imported.messages[2], ToolMessage)


def test_pairs_of_surrogates_in_a_key_are_no_halves() -> None:
    imported = import_messages({"messages": asks('{"\\ud83d\\ude00":1}')}, "openai-chat")
    assert imported.messages[1].tool_calls[0]["args"] == {"\U0001f600": 1}  # type: ignore[attr-defined]


HINT = {"mode": "explicit"}
HINTED: dict[str, dict[str, Any]] = {
    "text": {"type": "text", "text": "a"},
    "image": {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
    "file": {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="}},
}


@pytest.mark.parametrize("kind", HINTED)
def test_hints_of_openai_go_back_to_it_and_are_told_elsewhere(kind: str) -> None:
    part = {**HINTED[kind], "prompt_cache_breakpoint": HINT}
    payload = {"messages": [{"role": "user", "content": [part]}]}
    assert again(payload, "openai-chat").payload == payload
    written = export_messages([HumanMessage([part])], "openai-chat")
    assert written.payload == payload
    items = export_messages([HumanMessage([part])], "openai-responses")
    assert items.payload["input"][0]["content"][0]["prompt_cache_breakpoint"] == HINT
    for target, options in (("anthropic", {}), ("google", {}), ("openai-chat", {"profile": "openrouter"})):
        told = {loss.detail for loss in export_messages([HumanMessage([part])], target, **options).report}
        assert any("prompt_cache_breakpoint" in detail for detail in told), target


def items(*given: dict[str, Any]) -> Any:
    return import_messages({"input": [{"role": "user", "content": "q"}, *given]}, "openai-responses").envelopes


CUSTOM = {"type": "custom_tool_call", "call_id": "c1", "id": "ctc_1", "name": "g", "input": "free", "namespace": "n"}
SHELL = {
    "type": "shell_call",
    "call_id": "c1",
    "id": "sh_1",
    "action": {"commands": ["ls"]},
    "environment": {"type": "x"},
}


def test_a_custom_call_is_one_to_chat_completions_and_told_elsewhere() -> None:
    history = items(CUSTOM, {"type": "custom_tool_call_output", "call_id": "c1", "output": "r"})
    chat = export_messages(history, "openai-chat")
    assert chat.payload["messages"][1]["tool_calls"] == [
        {"id": "c1", "type": "custom", "custom": {"name": "g", "input": "free"}}
    ]
    assert [loss.detail for loss in chat.report] == ["namespace"]
    for target in ("anthropic", "google", "bedrock", "mistral"):
        told = {loss.detail for loss in export_messages(history, target).report}
        assert "custom_tool_call, namespace" in told, target


@pytest.mark.parametrize("target", TARGETS[:-1])
def test_what_items_of_tools_say_more_is_told(target: str) -> None:
    late = {"stdout": "a", "stderr": "", "outcome": {"type": "timeout"}}
    bad = {"stdout": "b", "stderr": "", "outcome": {"type": "exit", "exit_code": 2}}
    output = {"type": "shell_call_output", "call_id": "c1", "output": [late, bad], "max_output_length": 99}
    export = export_messages(items(SHELL, output), target)
    assert {"shell_call, environment", "max_output_length"} <= {loss.detail or loss.path for loss in export.report}
    assert "[timed out]" in str(export.payload)
    assert "[exit code 2]" in str(export.payload)


def test_a_patch_that_failed_is_an_error() -> None:
    call = {"type": "apply_patch_call", "call_id": "c1", "id": "apc_1", "status": "completed"}
    call["operation"] = {"type": "delete_file", "path": "a"}  # type: ignore[assignment]  # a map among texts
    output = {"type": "apply_patch_call_output", "call_id": "c1", "status": "failed", "output": "no"}
    answer = export_messages(items(call, output), "anthropic").payload["messages"][2]["content"][0]
    assert answer["is_error"] is True


def test_the_phase_of_an_answer_is_told() -> None:
    said = {"type": "output_text", "text": "x", "annotations": []}
    message = {"type": "message", "role": "assistant", "id": "msg_a", "status": "completed", "content": [said]}
    history = items({**message, "phase": "commentary"})
    assert again({"input": [Q, {**message, "phase": "commentary"}]}, "openai-responses").lossless
    for target in ("openai-chat", "anthropic", "mistral", "google", "bedrock"):
        assert "phase" in {loss.detail for loss in export_messages(history, target).report}


def test_reasoning_that_is_open_to_read_is_read() -> None:
    thought = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "open"}],
    }
    history = items(thought, {"type": "message", "role": "assistant", "content": "x"})
    assert "open" in str(export_messages(history, "otel").payload)
    as_text = export_messages(history, "anthropic", reasoning="text")
    assert "open" in str(as_text.payload)
    detour = export_messages(history, "otel").payload
    back = export_messages(import_messages(detour, "otel").envelopes, "openai-responses", store=True)
    assert thought in back.payload["input"]


def test_a_key_inside_a_function_is_told() -> None:
    inner = asks("{}")
    inner[1]["tool_calls"][0]["function"]["strictly"] = True
    history = import_messages({"messages": inner}, "openai-chat").envelopes
    assert {loss.detail for loss in export_messages(history, "anthropic").report} == {"strictly"}
    assert "strictly" in str(export_messages(history, "otel").payload)


def test_rare_keys_of_anthropic_go_back() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    use = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}, "toolset_name": "s"}
    answer = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "r", "toolset_name": "s"}
    asked = {"role": "user", "content": [{**image, "transformations": [{"type": "x"}]}]}
    payload = {"messages": [asked, {"role": "assistant", "content": [use]}, {"role": "user", "content": [answer]}]}
    export = again(payload, "anthropic")
    assert export.payload == payload
    assert lint(payload, "anthropic") == []


@pytest.mark.parametrize(
    "part",
    [
        {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}, "mediaResolution": {"level": "LOW"}},
        {"fileData": {"mimeType": "image/png", "fileUri": "https://generativelanguage.googleapis.com/v1beta/files/a"}},
    ],
)
def test_parts_of_a_function_response_go_back_with_what_stands_beside_them(part: dict[str, Any]) -> None:
    call = {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "c2ln"}]}
    answer = {"functionResponse": {"name": "f", "response": {"output": "r"}, "parts": [part]}}
    payload = {"contents": [{"role": "user", "parts": [{"text": "q"}]}, call, {"role": "user", "parts": [answer]}]}
    imported = import_messages(payload, "google", model="gemini-3-pro")
    assert export_messages(imported.envelopes, "google", model="gemini-3-pro").payload == payload
    moved = export_messages(imported.envelopes, "google", model="gemini-2.5-pro")
    assert any(loss.kind == "moved" for loss in moved.report)
    assert ("mediaResolution" in part) is ("mediaResolution" in str(moved.payload))


@pytest.mark.parametrize("spelled", ["x-aac", "mpga", "mkv", "mp4", "pcm"])
def test_sounds_go_back_to_converse_in_any_format_that_it_knows(spelled: str) -> None:
    sound = {"audio": {"format": spelled, "source": {"bytes": b"abc"}}}
    payload = {"messages": [{"role": "user", "content": [sound, {"text": "q"}]}]}
    assert again(payload, "bedrock").payload == payload


@pytest.mark.parametrize(("profile", "stays"), [(None, True), ("v13", True), ("v15", False), ("v3", False)])
def test_thinking_in_a_prompt_of_mistral_stays_where_the_version_takes_it(profile: str | None, stays: bool) -> None:
    shown = {"type": "thinking", "thinking": [{"type": "text", "text": "draft"}]}
    payload = {"messages": [{"role": "system", "content": [{"type": "text", "text": "s"}, shown]}, Q]}
    export = again(payload, "mistral", profile=profile)
    assert (export.payload == payload) is stays
    assert export.lossless is stays
    assert lint(export.payload, "mistral", profile=profile) == []
    if profile:
        assert oracle_mistral.breaches(export.payload["messages"], profile) == []


@pytest.mark.parametrize("profile", ["v13", "v15"])
def test_a_reference_goes_to_no_bare_tokenizer(profile: str) -> None:
    said = {
        "role": "assistant",
        "content": [{"type": "text", "text": "a"}, {"type": "reference", "reference_ids": [1]}],
    }
    export = again({"messages": [Q, said, Q]}, "mistral", profile=profile)
    assert lint(export.payload, "mistral", profile=profile) == []
    assert [(loss.rule, loss.detail) for loss in export.report] == [("M6", "reference")]


def test_an_item_of_a_hosted_tool_without_the_id_that_it_needs_is_left_out_and_told() -> None:
    search = {"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "q"}}
    export = again({"input": [Q, search, {"role": "assistant", "content": "a"}]}, "openai-responses")
    assert [item.get("type") for item in export.payload["input"]] == [None, None]
    assert [(loss.rule, loss.kind) for loss in export.report] == [("R5", "dropped")]
    assert lint(export.payload, "openai-responses") == []


def test_what_stands_beside_parts_of_gemini_survives_a_detour() -> None:
    thought = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}, "thought": True}
    noted = {"text": "a", "partMetadata": {"k": "v"}}
    payload = {"contents": [{"role": "user", "parts": [{"text": "q"}]}, {"role": "model", "parts": [thought, noted]}]}
    imported = import_messages(payload, "google", model="gemini-3-pro").envelopes
    detour = export_messages(imported, "otel").payload
    back = export_messages(import_messages(detour, "otel").envelopes, "google", model="gemini-3-pro")
    assert back.payload == payload
    told = {loss.detail for loss in export_messages(imported, "anthropic").report}
    assert any("partMetadata" in detail for detail in told)


def test_a_custom_call_of_chat_survives_a_detour() -> None:
    call = {"id": "c1", "type": "custom", "custom": {"name": "g", "input": "free"}}
    history = [Q, {"role": "assistant", "content": None, "tool_calls": [call]}]
    history.append({"role": "tool", "tool_call_id": "c1", "content": "r"})
    detour = export_messages(import_messages({"messages": history}, "openai-chat").envelopes, "otel").payload
    back = export_messages(import_messages(detour, "otel").envelopes, "openai-chat")
    assert back.payload["messages"][1]["tool_calls"] == [call]


def test_keys_of_citations_that_no_request_holds_are_told_unless_they_say_nothing() -> None:
    note = {"type": "char_location", "cited_text": "c", "document_index": 0, "document_title": "d"}
    note |= {"start_char_index": 0, "end_char_index": 1}
    for file_id, told in ((None, []), ("file_1", ["file_id"])):
        said = {"type": "text", "text": "a", "citations": [{**note, "file_id": file_id}]}
        export = again({"messages": [Q, {"role": "assistant", "content": [said]}, Q]}, "anthropic")
        assert export.payload["messages"][1]["content"][0]["citations"] == [note]
        assert [loss.detail for loss in export.report] == told
