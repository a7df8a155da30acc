"""Any message reads as an envelope: complete, neutral, and with native blocks where their own API takes them back."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from langgraph_portable_checkpoint.envelope.exact import to_envelope
from langgraph_portable_checkpoint.envelope.model import BLOCK_TYPES, ROLES
from langgraph_portable_checkpoint.envelope.read import read_message
from tests.corpus_messages import corpus_histories
from tests.envelope.zoo import BAD_CALL, CALL, hard_messages, plain_messages, spoken_messages

ZOO = {**plain_messages(), **hard_messages(), **spoken_messages()}


def _blocks(message: BaseMessage) -> list[dict[str, Any]]:
    """The neutral part of the blocks alone."""
    return [{key: block[key] for key in block if key != "raw"} for block in map(dict, read_message(message)["content"])]


def _from(provider: str, content: Any, **more: Any) -> AIMessage:
    return AIMessage(content, response_metadata={"model_provider": provider, "model_name": "m"}, **more)


@pytest.mark.parametrize("name", ZOO)
def test_every_message_reads_in_neutral_words(name: str) -> None:
    envelope = read_message(ZOO[name])
    assert envelope["role"] in ROLES
    assert {block["type"] for block in envelope["content"]} <= set(BLOCK_TYPES)


def _texts(content: Any) -> list[str]:
    blocks = [content] if isinstance(content, str) else content
    texts = [block if isinstance(block, str) else block.get("text") or block.get("thinking") for block in blocks]
    return [text for text in texts if text]


def test_every_recorded_text_is_read_in_order() -> None:
    for name, messages in corpus_histories().items():
        for message in messages:
            keys = ("text", "reasoning")
            read = [block.get(key) for block in map(dict, read_message(message)["content"]) for key in keys]
            in_order = iter(read)
            assert all(text in in_order for text in _texts(message.content)), name


@pytest.mark.parametrize("provider", ["anthropic", "openai", "bedrock_converse", "google_genai", "groq", "unheard-of"])
@pytest.mark.parametrize("content", ["", "hi", [{"type": "text", "text": "hi"}], ["hi"]])
def test_calls_that_stand_only_beside_content_are_read(provider: str, content: Any) -> None:
    blocks = _blocks(_from(provider, content, tool_calls=[CALL], invalid_tool_calls=[BAD_CALL]))
    assert [block["type"] for block in blocks] == [*(["text"] if content else []), "tool_call", "invalid_tool_call"]
    assert blocks[-2] == {**CALL, "type": "tool_call"}
    assert blocks[-1] == BAD_CALL


def test_a_call_in_content_and_beside_it_is_one_call() -> None:
    native = {"type": "tool_use", "id": "call_1", "name": "search", "input": {"q": "tea", "n": 1}}
    assert _blocks(_from("anthropic", [native], tool_calls=[CALL])) == [CALL]


@pytest.mark.parametrize("shared", ["call_1", "", None])
@pytest.mark.parametrize("native", [True, False])
def test_calls_that_share_an_id_keep_their_own_arguments(shared: str | None, native: bool) -> None:
    asked = [("delete", {"path": "/a"}), ("read", {"path": "/b"}), ("read", {"path": "/c"})]
    calls: Any = [{"name": name, "args": args, "id": shared} for name, args in asked]
    used: Any = [{"type": "tool_use", "id": shared, "name": name, "input": args} for name, args in asked]
    found = read_message(AIMessage(used if native and shared is not None else "", tool_calls=calls))
    assert [(block["name"], block["args"]) for block in found["content"]] == asked
    assert ("raw_content" in found) == (not native or shared is None)


def test_arguments_that_were_edited_beside_content_win_call_by_call() -> None:
    used: Any = [{"type": "tool_use", "id": "c", "name": "f", "input": {"x": number}} for number in (1, 2)]
    message = AIMessage(used, tool_calls=[{"name": "f", "args": {"x": number}, "id": "c"} for number in (1, 3)])
    assert [block["args"] for block in read_message(message)["content"]] == [{"x": 1}, {"x": 3}]


def test_one_valid_and_one_invalid_call_in_content_stay_two() -> None:
    content = [
        {
            "type": "function_call",
            "call_id": "call_1",
            "name": "search",
            "arguments": '{"q": "tea", "n": 1}',
            "id": "fc_1",
        },
        {"type": "function_call", "call_id": "call_2", "name": "search", "arguments": '{"q": ', "id": "fc_2"},
    ]
    blocks = _blocks(_from("openai", content, tool_calls=[CALL], invalid_tool_calls=[BAD_CALL]))
    assert [(block["type"], block["id"]) for block in blocks] == [
        ("tool_call", "call_1"),
        ("invalid_tool_call", "call_2"),
    ]


def test_a_function_call_without_provider_is_not_taken_for_another_providers() -> None:
    native = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": '{"a":1}'}
    (block,) = _blocks(AIMessage([native]))
    assert (block["id"], block["args"], block["extras"]) == ("call_1", {"a": 1}, {"item_id": "fc_1"})


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_beside_content_comes_first(field: str) -> None:
    blocks = _blocks(_from("deepseek", "hi", additional_kwargs={field: "hm"}))
    assert blocks == [
        {"type": "reasoning", "reasoning": "hm", "extras": {"field": field}},
        {"type": "text", "text": "hi"},
    ]


def test_reasoning_details_win_over_the_text_that_repeats_them() -> None:
    details = [
        {"type": "reasoning.text", "text": "hm", "signature": "c2ln"},
        {"type": "reasoning.encrypted", "data": "ZW5j"},
    ]
    message = _from("openrouter", "hi", additional_kwargs={"reasoning": "hm", "reasoning_details": details})
    first, second, _ = read_message(message)["content"]
    assert (first["reasoning"], first["extras"]["signature"], first["raw"]) == ("hm", "c2ln", details[0])
    assert second["extras"]["encrypted_content"] == "ZW5j"
    assert "extras" not in read_message(message)


def test_gemini_signatures_reach_their_calls() -> None:
    key = "__gemini_function_call_thought_signatures__"
    (block,) = _blocks(_from("google_genai", "", tool_calls=[CALL], additional_kwargs={key: {"call_1": "c2ln"}}))
    assert block["extras"] == {"signature": "c2ln"}


def test_a_signature_reaches_a_call_in_content_too() -> None:
    (block,) = _blocks(ZOO["standard call with a signature elsewhere"])
    assert block["extras"] == {"signature": "c2ln"}


def test_a_reasoning_item_with_unknown_keys_is_reasoning_still() -> None:
    (block,) = _blocks(ZOO["summary with unknown keys"])
    assert (block["type"], block["id"]) == ("reasoning", "rs_1")


def test_encrypted_reasoning_is_spelled_one_way() -> None:
    summary = [{"type": "summary_text", "text": text} for text in ("a", "b")]
    many = {"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "ZW5j"}
    none = {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "ZW5j"}
    first, second = _blocks(_from("openai", [many, none]))
    assert first["extras"] == {"encrypted_content": "ZW5j", "summary": ["a", "b"]}
    assert second["extras"] == {"encrypted_content": "ZW5j"}
    assert (first["reasoning"], second["reasoning"]) == ("a\n\nb", "")


def test_reasoning_merged_from_a_stream_is_reasoning_and_goes_back_clean() -> None:
    part = {"index": 0, "type": "summary_text", "text": "a"}
    message = _from("openai", [{"type": "reasoning", "id": "rs_1", "summary": [part], "index": 0}])
    message.response_metadata["id"] = "resp_1"
    (block,) = read_message(message)["content"]
    assert block == {
        "type": "reasoning",
        "id": "rs_1",
        "reasoning": "a",
        "raw": {"type": "reasoning", "summary": [{"type": "summary_text", "text": "a"}], "id": "rs_1"},
    }


def test_arguments_that_only_the_parsed_call_has_are_taken_from_there() -> None:
    native = {"type": "tool_use", "id": "call_1", "name": "search", "input": {}, "index": 1}
    (block,) = read_message(_from("anthropic", [native], tool_calls=[CALL]))["content"]
    assert block["args"] == CALL["args"]
    assert "raw" not in block


@pytest.mark.parametrize(
    ("native", "annotation"),
    [
        (
            {"type": "url_citation", "url": "https://x", "title": "X", "start_index": 0, "end_index": 2},
            {"type": "citation", "url": "https://x", "title": "X", "start_index": 0, "end_index": 2},
        ),
        (
            {"type": "page_location", "cited_text": "abc", "document_title": "D", "start_page_number": 1},
            {"type": "citation", "cited_text": "abc", "title": "D"},
        ),
        ({"type": "file_path", "file_id": "f"}, {"type": "non_standard_annotation"}),
        ("odd", {"type": "non_standard_annotation", "value": "odd"}),
    ],
)
def test_citations_become_annotations(native: Any, annotation: dict[str, Any]) -> None:
    key = "annotations" if isinstance(native, dict) and native["type"].startswith("url") else "citations"
    (block,) = read_message(AIMessage([{"type": "text", "text": "hi", key: [native]}]))["content"]
    (found,) = block["annotations"]
    assert {name: found[name] for name in annotation} == annotation
    assert "extras" not in block


def test_an_unknown_block_is_kept_verbatim_with_its_origin() -> None:
    native = {"type": "hologram", "beam": [1, {"a": None}]}
    envelope = read_message(_from("google_genai", [native]))
    assert envelope["content"] == [{"type": "non_standard", "value": native, "raw": native}]
    assert envelope["origin"] == {"provider": "google", "model": "m", "api": "generate-content"}


@pytest.mark.parametrize(
    ("metadata", "origin"),
    [
        (
            {"model_provider": "openai", "id": "resp_1"},
            {"provider": "openai", "api": "responses", "response_id": "resp_1"},
        ),
        (
            {"model_provider": "openai", "id": "chatcmpl"},
            {"provider": "openai", "api": "chat", "response_id": "chatcmpl"},
        ),
        ({"model_provider": "anthropic", "model": "c"}, {"provider": "anthropic", "api": "messages", "model": "c"}),
        ({"model_provider": "bedrock_converse"}, {"provider": "bedrock", "api": "converse"}),
        ({"model_provider": "mistralai"}, {"provider": "mistral"}),
        ({"model_provider": "groq"}, {"provider": "groq", "api": "chat"}),
        ({"model_provider": "acme"}, {"provider": "acme"}),
        ({"model_provider": 7, "model_name": None}, None),
    ],
)
def test_the_origin_is_read_from_what_integrations_write(metadata: dict[str, Any], origin: Any) -> None:
    assert read_message(AIMessage("x", response_metadata=metadata)).get("origin") == origin


def test_fields_without_a_neutral_place_are_kept_under_extras() -> None:
    message = _from("openai", "x", additional_kwargs={"parsed": {"a": 1}, "refusal": None})
    message.response_metadata["system_fingerprint"] = "fp"
    assert read_message(message)["extras"] == {
        "additional_kwargs": {"parsed": {"a": 1}},
        "response_metadata": {"system_fingerprint": "fp"},
    }


def test_messages_of_a_framework_are_not_typed_by_the_user() -> None:
    assert read_message(HumanMessage("x", additional_kwargs={"lc_source": "summary"}))["typed_by_user"] is False
    assert "typed_by_user" not in read_message(HumanMessage("x"))


def test_roles_and_tool_facts_are_read() -> None:
    tool = read_message(ToolMessage("no", tool_call_id="c", status="error", artifact={"a": 1}, name="f", id="t"))
    assert (tool["role"], tool["tool_call_id"], tool["status"]) == ("tool", "c", "error")
    assert (tool["artifact"], tool["name"], tool["id"]) == ({"a": 1}, "f", "t")
    developer = read_message(SystemMessage("x", additional_kwargs={"__openai_role__": "developer"}))
    assert (developer["role"], developer["role_detail"]) == ("system", "developer")


def test_merged_chunks_read_like_the_whole_message() -> None:
    chunks = [
        AIMessageChunk([{"type": "thinking", "thinking": "h", "index": 0}]),
        AIMessageChunk([{"type": "thinking", "thinking": "m", "index": 0}]),
        AIMessageChunk([{"type": "thinking", "thinking": "", "signature": "c2ln", "index": 0}]),
        AIMessageChunk([{"type": "text", "text": "hi", "index": 1}], response_metadata={"model_provider": "anthropic"}),
    ]
    merged = chunks[0] + chunks[1] + chunks[2] + chunks[3]
    thinking, text = read_message(merged)["content"]
    assert thinking == {
        "type": "reasoning",
        "reasoning": "hm",
        "extras": {"signature": "c2ln"},
        "raw": {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
    }
    assert text == {"type": "text", "text": "hi", "raw": {"type": "text", "text": "hi"}}


def test_a_block_rewritten_by_the_integration_is_not_offered_as_native() -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    assert "raw" not in read_message(_from("google_genai", [thinking]))["content"][0]
    assert read_message(_from("anthropic", [thinking]))["content"][0]["raw"] == thinking


def _facts(block: dict[str, Any]) -> dict[str, Any]:
    skipped = ("raw", "annotations", "extras", "arguments", "index")
    return {key: value for key, value in block.items() if key not in skipped}


def test_what_is_stored_and_what_is_read_say_the_same() -> None:
    messages = [message for history in corpus_histories().values() for message in history]
    for message in [*messages, *plain_messages().values()]:
        stored, read = to_envelope(message), dict(read_message(message))
        assert [_facts(block) for block in stored["content"]] == [_facts(dict(block)) for block in read["content"]]
        rest = {key: value for key, value in read.items() if key not in ("content", "raw_content", "extras", "id")}
        assert {key: value for key, value in stored.items() if key not in ("content", "state")} == rest


@pytest.mark.parametrize(
    ("within", "asked", "read"),
    [
        (["b"], ["a", "b"], ["a", "b"]),
        (["a", "c"], ["a", "b", "c"], ["a", "b", "c"]),
        (["a"], ["a", "b"], ["a", "b"]),
        (["a"], [None, "a"], [None, "a"]),
        (["a"], [None], ["a", None]),
        ([], ["a", "b"], ["a", "b"]),
    ],
)
def test_a_call_that_content_lost_stands_before_the_next_that_it_has(
    within: list[str], asked: list[str | None], read: list[str | None]
) -> None:
    content = [{"type": "tool_use", "id": one, "name": "f", "input": {}} for one in within]
    calls = [{"name": "f", "args": {}, "id": one} for one in asked]
    message = AIMessage(content, tool_calls=calls)  # type: ignore[arg-type]  # integrations leave ids out
    assert [block.get("id") for block in read_message(message)["content"]] == read
