"""What integrations rewrite, as LangChain's v1 output or in merged streams, goes back to its API as that gave it."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from anthropic.types.beta import BetaMessage
from langchain_anthropic import ChatAnthropic
from langchain_aws.chat_models import bedrock_converse
from langchain_core.language_models._utils import _update_message_content_to_blocks
from langchain_core.messages import AIMessage, BaseMessage, FunctionMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_groq.chat_models import _convert_dict_to_message as groq_message
from langchain_mistralai.chat_models import _convert_mistral_chat_message_to_message as mistral_message
from langchain_openai import ChatOpenAI
from langchain_openai.chat_models.base import _convert_dict_to_message as chat_message

from langgraph_portable_checkpoint import export_messages, import_messages, lint
from langgraph_portable_checkpoint.envelope.read import read_message
from tests.dialects import oracle_bedrock, oracle_shapes

Q, Z = HumanMessage("q"), HumanMessage("z")
AT = {"document_index": 0, "document_title": "D", "file_id": None}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}}
FOUND = {
    "type": "web_search_result",
    "url": "https://u.example",
    "title": "T",
    "encrypted_content": "E",
    "page_age": "1 d",
}
SITE = {
    "type": "web_search_result_location",
    "cited_text": "c",
    "url": "https://u.example",
    "title": "T",
    "encrypted_index": "I",
}
ANTHROPIC: dict[str, list[dict[str, Any]]] = {
    "characters": [
        {
            "type": "text",
            "text": "a",
            "citations": [
                {"type": "char_location", "cited_text": "c", "start_char_index": 0, "end_char_index": 2, **AT}
            ],
        }
    ],
    "pages": [
        {
            "type": "text",
            "text": "a",
            "citations": [
                {"type": "page_location", "cited_text": "c", "start_page_number": 1, "end_page_number": 2, **AT}
            ],
        }
    ],
    "search": [
        SEARCH,
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [FOUND]},
        {"type": "text", "text": "a", "citations": [SITE]},
    ],
    "redacted": [{"type": "redacted_thinking", "data": "RED"}, {"type": "text", "text": "a"}],
    "thinking": [
        {"type": "thinking", "thinking": "t", "signature": "S"},
        {"type": "redacted_thinking", "data": "RED"},
        {"type": "text", "text": "a"},
    ],
    "mcp": [
        {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "n", "server_name": "s", "input": {"q": 1}},
        {
            "type": "mcp_tool_result",
            "tool_use_id": "mcptoolu_1",
            "is_error": False,
            "content": [{"type": "text", "text": "out", "citations": None}],
        },
        {"type": "text", "text": "a"},
    ],
    "compaction": [{"type": "compaction", "content": "all of it"}, {"type": "text", "text": "a"}],
}
CLAUDE = ChatAnthropic(model="claude-sonnet-4-5", api_key="x")  # type: ignore[call-arg]  # pydantic's alias


def from_claude(content: list[dict[str, Any]], version: str | None) -> AIMessage:
    answer = BetaMessage.model_validate(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-5",
            "content": content,
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
    )
    message: Any = CLAUDE._format_output(answer).generations[0].message
    return _update_message_content_to_blocks(message, version) if version else message


@pytest.mark.parametrize("version", [None, "v1"])
@pytest.mark.parametrize("name", ANTHROPIC)
def test_answers_of_claude_go_back_as_its_own_integration_sends_them(name: str, version: str | None) -> None:
    history: list[BaseMessage] = [Q, from_claude(ANTHROPIC[name], version), Z]
    export = export_messages(history, "anthropic", model="claude-sonnet-4-5")
    theirs: Any = CLAUDE._get_request_payload(history)
    assert export.payload["messages"] == theirs["messages"]
    assert export.lossless
    assert lint(export.payload, "anthropic") == oracle_shapes.breaches("anthropic", export.payload["messages"]) == []


def test_arguments_that_a_merged_stream_left_as_text_are_read() -> None:
    streamed = {**SEARCH, "input": {}, "index": 1, "partial_json": '{"query":"q"}'}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [FOUND], "index": 2}
    said = {"type": "text", "text": "a", "index": 3}
    message = AIMessage([streamed, found, said], response_metadata={"model_provider": "anthropic"})
    sent = export_messages([Q, message, Z], "anthropic").payload["messages"][1]["content"]
    assert sent == [
        SEARCH,
        {key: value for key, value in found.items() if key != "index"},
        {"type": "text", "text": "a"},
    ]
    broken = {**streamed, "partial_json": '{"query'}
    assert read_message(AIMessage([broken], response_metadata={"model_provider": "anthropic"}))["content"]


def test_a_streamed_block_of_citations_alone_is_left_out_and_told() -> None:
    lone = {"type": "text", "index": 2, "citations": [SITE]}
    message = AIMessage(["hel", lone, "lo"], response_metadata={"model_provider": "anthropic"})  # type: ignore[list-item]
    export = export_messages([Q, message, Z], "anthropic")
    assert [block["text"] for block in export.payload["messages"][1]["content"]] == ["hel", "lo"]
    assert [(loss.rule, loss.kind) for loss in export.report] == [("A4", "dropped")]


def items(*content: dict[str, Any], annotations: Any = ()) -> list[dict[str, Any]]:
    text = {"type": "output_text", "text": "Hello", "annotations": list(annotations), "logprobs": []}
    said = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}
    return [*content, said]


REASONED = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "E"}
RESPONSES: dict[str, list[dict[str, Any]]] = {
    "url": items(
        annotations=[
            {"type": "url_citation", "start_index": 0, "end_index": 5, "url": "https://u.example", "title": "T"}
        ]
    ),
    "file": items(annotations=[{"type": "file_citation", "file_id": "file-1", "filename": "n.txt", "index": 3}]),
    "container": items(
        annotations=[
            {
                "type": "container_file_citation",
                "container_id": "c",
                "file_id": "f",
                "filename": "x",
                "start_index": 0,
                "end_index": 1,
            }
        ]
    ),
    "search": items(
        REASONED,
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}},
    ),
    "files": items(
        {"type": "file_search_call", "id": "fs_1", "status": "completed", "queries": ["q"], "results": [{"text": "t"}]}
    ),
    "code": items(
        {
            "type": "code_interpreter_call",
            "id": "ci_1",
            "status": "completed",
            "code": "1+1",
            "container_id": "c",
            "outputs": [{"type": "logs", "logs": "2"}],
        }
    ),
    "mcp": items(
        {
            "type": "mcp_call",
            "id": "mcp_1",
            "name": "n",
            "server_label": "s",
            "arguments": '{"q":1}',
            "output": "out",
        }
    ),
    "ran": items(
        {
            "type": "code_interpreter_call",
            "id": "ci_1",
            "status": "completed",
            "code": "1+1",
            "container_id": "c",
            "outputs": None,
        }
    ),
    "open": items({**REASONED, "content": [{"type": "reasoning_text", "text": "hm"}]}),
    "both": items(
        {
            **REASONED,
            "summary": [{"type": "summary_text", "text": "s"}],
            "content": [{"type": "reasoning_text", "text": "hm"}],
        }
    ),
    "tools": items(
        {
            "type": "tool_search_call",
            "id": "tsc_1",
            "call_id": None,
            "arguments": {"q": 1},
            "execution": "server",
            "status": "completed",
        },
        {
            "type": "tool_search_output",
            "id": "tso_1",
            "call_id": None,
            "tools": [],
            "execution": "server",
            "status": "completed",
        },
    ),
    "drawn": items({"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "iVBORw0KGgo="}),
}


def test_sources_of_a_search_are_told_where_they_stand_apart() -> None:
    action = {"type": "search", "query": "q", "sources": [{"type": "url", "url": "https://u.example"}]}
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": action}
    apart = export_messages([Q, from_gpt(items(search), "v1"), Z], "openai-responses", model="gpt-5")
    assert [(loss.rule, loss.kind, loss.detail) for loss in apart.report] == [("R12", "dropped", "sources")]
    within = export_messages([Q, from_gpt(items(search), "responses/v1"), Z], "openai-responses", model="gpt-5")
    assert within.lossless
    assert within.payload["input"][1]["action"] == action


def test_an_answer_whose_id_the_message_has_goes_back_as_its_item() -> None:
    cited = {"type": "url_citation", "start_index": 0, "end_index": 5, "url": "https://u.example", "title": "T"}
    said = {**items(annotations=[cited])[0], "phase": "final_answer"}
    answer = from_gpt([said], "v0")
    export = export_messages([Q, answer, Z], "openai-responses", model="gpt-5")
    assert bare(export.payload["input"][1]) == bare(said)
    assert export.lossless
    nameless = answer.model_copy(update={"id": "run-1", "content": [{**answer.content[0], "annotations": []}]})  # type: ignore[dict-item]
    export = export_messages([Q, nameless, Z], "openai-responses", model="gpt-5")
    assert export.payload["input"][1] == {"role": "assistant", "content": "Hello", "phase": "final_answer"}
    assert export.lossless


def test_where_a_call_stood_in_a_stream_is_not_sent() -> None:
    item = {"type": "computer_call", "id": "cu_1", "call_id": "call_1", "status": "completed"}
    item |= {"action": {"type": "screenshot"}, "pending_safety_checks": []}
    said = AIMessage([{**item, "index": 1}], response_metadata={"model_provider": "openai", "id": "resp_1"})
    shot: Any = [{"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}]
    answer = ToolMessage(shot, tool_call_id="call_1", additional_kwargs={"type": "computer_call_output"})
    export = export_messages([Q, said, answer, Z], "openai-responses", model="gpt-5")
    assert export.payload["input"][1] == item


def test_what_an_item_must_say_is_null_where_its_integration_left_it_out() -> None:
    for version in ("responses/v1", "v1"):
        export = export_messages([Q, from_gpt(RESPONSES["ran"], version), Z], "openai-responses", model="gpt-5")
        assert export.payload["input"][1]["outputs"] is None
        assert oracle_shapes.breaches("openai-responses", export.payload["input"]) == []


def from_gpt(output: list[dict[str, Any]], version: str) -> AIMessage:
    """Ask langchain-openai, which asks a transport that answers at once."""
    answer = {"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-5", "output": output, "tools": []}
    answer |= {"parallel_tool_calls": True, "tool_choice": "auto", "status": "completed", "metadata": {}}
    transport = httpx.MockTransport(lambda _request: httpx.Response(200, json=answer))
    with httpx.Client(transport=transport) as client:
        model: Any = ChatOpenAI(
            model="gpt-5", api_key="x", use_responses_api=True, output_version=version, http_client=client
        )  # type: ignore[call-arg]  # pydantic's alias
        message: AIMessage = model.invoke("q")
    return message


@pytest.mark.parametrize("version", ["responses/v1", "v1"])
@pytest.mark.parametrize("name", RESPONSES)
def test_answers_of_gpt_go_back_as_they_came(name: str, version: str) -> None:
    export = export_messages([Q, from_gpt(RESPONSES[name], version), Z], "openai-responses", model="gpt-5")
    assert export.lossless
    sent = export.payload["input"][1:-1]
    given = [bare(item) for item in RESPONSES[name]]
    assert [bare(item) for item in sent] == given
    assert lint(export.payload, "openai-responses") == []


def bare(item: dict[str, Any]) -> dict[str, Any]:
    """Leave out what a response has and a request need not."""
    content = item.get("content")
    kept = {key: value for key, value in item.items() if value is not None}
    return {**kept, "content": [without_probabilities(part) for part in content]} if content else kept


def without_probabilities(part: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in part.items() if key != "logprobs"}


@pytest.mark.parametrize("version", ["responses/v1", "v1"])
def test_a_custom_call_and_its_result_go_back(version: str) -> None:
    call = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_2", "name": "g", "input": "free text"}
    history = [Q, from_gpt([call], version), ToolMessage("r", tool_call_id="call_2")]
    sent = export_messages(history, "openai-responses", model="gpt-5")
    assert sent.lossless
    assert [item.get("type") for item in sent.payload["input"]] == [None, "custom_tool_call", "custom_tool_call_output"]


def test_a_citation_that_the_api_would_refuse_is_told() -> None:
    cited = {
        "type": "text",
        "text": "a",
        "id": "msg_1",
        "annotations": [{"type": "citation", "url": "https://u.example"}],
    }
    message = AIMessage([cited], response_metadata={"id": "resp_1", "model_provider": "openai", "output_version": "v1"})
    export = export_messages([Q, message, Z], "openai-responses")
    assert export.payload["input"][1]["content"][0]["annotations"] == []
    assert [(loss.rule, loss.kind) for loss in export.report] == [("R7", "dropped")]


def from_aws(content: list[dict[str, Any]], version: str | None) -> AIMessage:
    answer = {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": "end_turn",
        "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
        "metrics": {"latencyMs": 1},
        "ResponseMetadata": {},
    }
    message: Any = bedrock_converse._parse_response(answer)
    message.response_metadata |= {"model_provider": "bedrock_converse", "model_name": "anthropic.claude-sonnet-4"}
    return _update_message_content_to_blocks(message, version) if version else message


@pytest.mark.parametrize("version", [None, "v1"])
def test_reasoning_that_only_aws_reads_goes_back(version: str | None) -> None:
    content = [{"reasoningContent": {"redactedContent": b"RED"}}, {"text": "a"}]
    export = export_messages([Q, from_aws(content, version), Z], "bedrock", model="anthropic.claude-sonnet-4")
    assert export.payload["messages"][1]["content"] == content
    assert export.lossless
    assert oracle_bedrock.complaints(export.payload) == []


@pytest.mark.parametrize("version", [None, "v1"])
@pytest.mark.parametrize("output", [{"json": {"x": 1}}, {"text": "[HIDDEN]"}])
def test_a_tool_of_nova_goes_back_with_the_type_of_its_result(output: dict[str, Any], version: str | None) -> None:
    use = {"toolUse": {"toolUseId": "st1", "name": "nova_grounding", "input": {"q": 1}, "type": "server_tool_use"}}
    answer = {"toolResult": {"toolUseId": "st1", "content": [output], "type": "nova_grounding_result"}}
    export = export_messages([Q, from_aws([use, answer, {"text": "a"}], version), Z], "bedrock")
    assert export.payload["messages"][1]["content"] == [use, answer, {"text": "a"}]
    assert export.lossless
    assert oracle_bedrock.complaints(export.payload) == []


@pytest.mark.parametrize("output", [{"json": {"x": 1}}, {"text": "[HIDDEN]"}])
def test_a_tool_of_nova_goes_back_from_a_merged_stream(output: dict[str, Any]) -> None:
    asked = {"type": "server_tool_use", "name": "nova_grounding", "id": "st1", "index": 0, "input": ""}
    given = {"type": "tool_result", "tool_use_id": "st1", "is_error": False, "content": "", "index": 1, **output}
    message = AIMessage(
        [asked, given, {"type": "text", "text": "a", "index": 2}],
        tool_calls=[{"name": "", "args": {}, "id": None}],
        response_metadata={"model_provider": "bedrock_converse"},
    )
    export = export_messages([Q, message, Z], "bedrock")
    use = {"toolUse": {"toolUseId": "st1", "name": "nova_grounding", "input": {}, "type": "server_tool_use"}}
    answer = {"toolResult": {"toolUseId": "st1", "content": [output], "type": "nova_grounding_result"}}
    assert export.payload["messages"][1]["content"] == [use, answer, {"text": "a"}]
    assert [(loss.rule, loss.kind) for loss in export.report] == [("B8", "dropped")]


@pytest.mark.parametrize("version", [None, "v1"])
def test_a_tool_of_aws_whose_result_lost_its_type_is_left_out_as_a_pair(version: str | None) -> None:
    use = {"toolUse": {"toolUseId": "st1", "name": "browse", "input": {"q": 1}, "type": "server_tool_use"}}
    answer = {"toolResult": {"toolUseId": "st1", "content": [{"json": {"x": 1}}], "type": "pages"}}
    export = export_messages([Q, from_aws([use, answer, {"text": "a"}], version), Z], "bedrock")
    assert export.payload["messages"][1]["content"] == [{"text": "a"}]
    assert [(loss.rule, loss.kind) for loss in export.report] == [("B7", "dropped")] * 2


@pytest.mark.parametrize("target", ["bedrock", "anthropic", "google", "openai-chat", "mistral"])
@pytest.mark.parametrize(
    ("provider", "rest"),
    [
        ("bedrock_converse", {"input": ""}),
        ("bedrock_converse", {}),
        ("anthropic", {"input": {}, "partial_json": ""}),
        ("anthropic", {"input": {}, "toolset_name": None}),
    ],
)
def test_a_streamed_call_without_arguments_has_none(provider: str, rest: dict[str, Any], target: str) -> None:
    call = {"type": "tool_use", "name": "now", "id": "abcdefghi", "index": 0, **rest}
    asked = AIMessage(
        [call],
        tool_calls=[{"name": "now", "args": {}, "id": "abcdefghi"}],
        response_metadata={"model_provider": provider},
    )
    export = export_messages([Q, asked, ToolMessage("12:00", tool_call_id="abcdefghi"), AIMessage("noon")], target)
    assert lint(export.payload, target) == []
    assert "invalid_arguments" not in str(export.payload)
    assert '"arguments": ""' not in json.dumps(export.payload)
    assert {loss.kind for loss in export.report} <= {"synthesized"}


def test_the_tools_of_google_go_back_as_their_parts() -> None:
    call = {"type": "server_tool_call", "name": "google_search_web", "id": "t1", "args": {"q": "x"}}
    answer = {"type": "server_tool_result", "tool_call_id": "t1", "status": "success", "output": {"r": 1}}
    answer["extras"] = {"block_type": "google_search_web"}
    code = {
        "type": "server_tool_call",
        "name": "code_interpreter",
        "id": "",
        "args": {"code": "1", "language": "PYTHON"},
    }
    ran = {"type": "server_tool_result", "tool_call_id": "", "output": "1"}
    ran["extras"] = {"block_type": "code_execution_result", "outcome": 1}
    message = AIMessage([call, answer, code, ran, "a"], response_metadata={"model_provider": "google_genai"})  # type: ignore[list-item]
    sent = export_messages([Q, message, Z], "google").payload["contents"][1]["parts"]
    assert sent == [
        {"toolCall": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "args": {"q": "x"}}},
        {"toolResponse": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "response": {"r": 1}}},
        {"executableCode": {"code": "1", "language": "PYTHON"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
        {"text": "a"},
    ]


@pytest.mark.parametrize("version", [None, "v1"])
def test_references_of_mistral_go_back_to_it_and_are_told_elsewhere(version: Any) -> None:
    chunks = [{"type": "text", "text": "a"}, {"type": "reference", "reference_ids": [7]}]
    message: Any = mistral_message({"role": "assistant", "content": chunks})
    message.response_metadata = {"model_provider": "mistralai"}
    message = _update_message_content_to_blocks(message, version) if version else message
    back = export_messages([Q, message, Z], "mistral")
    assert back.payload["messages"][1]["content"] == chunks
    assert back.lossless
    assert lint(back.payload, "mistral") == []
    for target in ("anthropic", "openai-chat"):
        assert [loss.message for loss in export_messages([Q, message, Z], target).report] == [1]


def test_what_groq_ran_is_told() -> None:
    ran = [{"index": 0, "type": "search", "arguments": "{}", "output": "out"}]
    message = groq_message({"role": "assistant", "content": "a", "executed_tools": ran})
    for target in ("openai-chat", "anthropic"):
        assert {loss.path for loss in export_messages([Q, message, Z], target).report} == {"executed_tools"}


@pytest.mark.parametrize("text", ['{"city":"Rome"}', "", "{"])
def test_the_call_of_an_older_message_is_one(text: str) -> None:
    asked = chat_message(
        {"role": "assistant", "content": None, "function_call": {"name": "weather", "arguments": text}}
    )
    history = [Q, asked, FunctionMessage("sunny", name="weather"), AIMessage("It is sunny")]
    sent = export_messages(history, "openai-chat").payload["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "assistant"]
    function = sent[1]["tool_calls"][0]["function"]
    assert function == {"name": "weather", "arguments": function["arguments"]}
    assert function["arguments"].replace(" ", "") == (text or "{}")


def test_an_imported_message_is_read_as_it_was_made() -> None:
    block = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [FOUND]}
    payload = {"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": [block, found]}]}
    for dialect in ("anthropic", "otel"):
        made = export_messages(import_messages(payload, "anthropic").envelopes, dialect).payload
        imported = import_messages(made, dialect)
        read = [read_message(message) for message in imported.messages]
        assert [each["content"] for each in read] == [each["content"] for each in imported.envelopes]


def from_mistral(content: list[Any], **metadata: Any) -> AIMessage:
    return AIMessage(content, response_metadata={"model_provider": "mistralai", "model_name": "magistral", **metadata})


THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": "think"}]}


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "thinking", "thinking": [{"type": "text", "text": "think", "index": 0}], "index": 0}],
        [{"type": "thinking", "thinking": [{"type": "text", "text": "th"}, {"type": "text", "text": "ink"}]}],
        [{"type": "reasoning", "reasoning": "think"}],
    ],
)
def test_thinking_of_mistral_goes_back_as_one_chunk(content: list[Any]) -> None:
    history = [Q, from_mistral([*content, {"type": "text", "text": "a"}]), Z]
    export = export_messages(history, "mistral", model="magistral")
    assert export.payload["messages"][1]["content"] == [THOUGHT, {"type": "text", "text": "a"}]
    assert export.lossless
    assert lint(export.payload, "mistral", model="magistral") == []


NOTE = {
    "title": "T",
    "source": "s",
    "sourceContent": [{"text": "S"}],
    "location": {"documentChar": {"documentIndex": 0, "start": 1, "end": 2}},
}
FOUND_NOTE = {**NOTE, "location": {"searchResultLocation": {"searchResultIndex": 0, "start": 1, "end": 2}}}


@pytest.mark.parametrize("version", [None, "v1"])
def test_citations_of_converse_go_back_but_for_those_that_it_refuses(version: str | None) -> None:
    cited = {"citationsContent": {"content": [{"text": "A"}], "citations": [NOTE]}}
    found = {"citationsContent": {"content": [{"text": "B"}], "citations": [FOUND_NOTE]}}
    reasoned = {"reasoningContent": {"reasoningText": {"text": "t", "signature": "S"}}}
    history = [Q, from_aws([reasoned, cited, found], version), Z]
    export = export_messages(history, "bedrock", model="anthropic.claude-sonnet-4")
    assert export.payload["messages"][1]["content"] == [reasoned, cited, {"text": "B"}]
    assert [(loss.rule, loss.action) for loss in export.report] == [("B4", "left out citations")]
    assert oracle_bedrock.complaints(export.payload) == []


@pytest.mark.parametrize("version", ["responses/v1", "v1"])
def test_the_namespace_of_a_call_goes_back(version: str) -> None:
    call = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}", "namespace": "n"}
    history = [Q, from_gpt([{**call, "status": "completed"}], version), ToolMessage("r", tool_call_id="c1")]
    export = export_messages(history, "openai-responses", model="gpt-5")
    assert export.payload["input"][1] == {**call, "status": "completed"}
    assert export.lossless


@pytest.mark.parametrize("make", [HumanMessage, SystemMessage])
@pytest.mark.parametrize("form", [{"text": "secret"}, {"guard_content": {"type": "text", "text": "secret"}}])
def test_a_guarded_text_of_langchain_aws_is_one_to_bedrock_and_a_text_elsewhere(make: Any, form: Any) -> None:
    history = [make([{"type": "guard_content", **form}]), Q]
    assert "'guardContent': {'text': {'text': 'secret'}}" in str(export_messages(history, "bedrock").payload)
    chat = export_messages(history, "openai-chat")
    assert "secret" in str(chat.payload)
    assert "guardContent" in {loss.detail for loss in chat.report}


@pytest.mark.parametrize("key", ["filename", "name"])
def test_a_file_s_name_among_its_extras_is_its_name(key: str) -> None:
    part = {"type": "file", "base64": "JVBERi0=", "mime_type": "application/pdf", "extras": {key: "report"}}
    for target in ("openai-chat", "openai-responses", "bedrock", "anthropic"):
        assert "'report'" in str(export_messages([HumanMessage([part, {"type": "text", "text": "q"}])], target).payload)


def test_an_upload_to_azure_is_one_to_openai() -> None:
    part = {"type": "file", "file_id": "assistant-6F2ksmvXxt4VdoqmHRw6kL"}
    assert export_messages([HumanMessage([part])], "openai-responses").lossless
    assert not export_messages([HumanMessage([part])], "anthropic").lossless


@pytest.mark.parametrize("target", ["openai-chat", "openai-responses", "anthropic", "google", "bedrock", "mistral"])
@pytest.mark.parametrize(
    "kwargs",
    [
        {"function_call": {"name": "pay", "arguments": '{"amount": 1000}'}},
        {
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": '{"amount": 1000}'}}
            ]
        },
    ],
)
@pytest.mark.parametrize("provider", ["openai", "google_genai"])
def test_arguments_that_a_human_changed_are_the_ones_that_count(target: str, kwargs: Any, provider: str) -> None:
    calls = [{"name": "pay", "args": {"amount": 5}, "id": "c1"}]
    asked = AIMessage("", tool_calls=calls, additional_kwargs=kwargs, response_metadata={"model_provider": provider})
    sent = str(export_messages([Q, asked, ToolMessage("paid", tool_call_id="c1")], target).payload)
    assert "1000" not in sent
    assert "5" in sent


def test_a_signed_answer_with_citations_keeps_its_signature() -> None:
    cited = {"type": "citation", "url": "https://u.example", "start_index": 0, "end_index": 1}
    block = {"type": "text", "text": "a", "annotations": [cited], "extras": {"signature": "c2ln"}}
    made = {"model_provider": "google_genai", "output_version": "v1", "model_name": "gemini-3-pro-preview"}
    export = export_messages([Q, AIMessage([block], response_metadata=made), Z], "google")
    assert export.payload["contents"][1]["parts"] == [{"text": "a", "thoughtSignature": "c2ln"}]
    assert [(loss.rule, loss.kind) for loss in export.report] == [("G4", "dropped")]


@pytest.mark.parametrize(
    ("target", "block"),
    [
        ("anthropic", {"type": "tool_use", "id": "c1", "name": "send", "input": {"to": "bob"}}),
        ("openai-responses", {"type": "function_call", "call_id": "c1", "name": "send", "arguments": '{"to":"bob"}'}),
    ],
)
def test_a_call_of_another_tool_that_a_human_chose_is_that_tool_s(target: str, block: dict[str, Any]) -> None:
    provider = target.partition("-")[0]
    called = [{"name": "draft", "args": {"to": "carol"}, "id": "c1"}]
    said = AIMessage([block], tool_calls=called, response_metadata={"model_provider": provider})
    history = [Q, said, ToolMessage("drafted", tool_call_id="c1", name="draft"), AIMessage("ok")]
    for to in (target, "openai-chat", "anthropic"):
        export = export_messages(history, to)
        written = json.dumps(export.payload)
        assert "draft" in written
        assert "carol" in written
        assert "send" not in written
        assert "bob" not in written
        assert export.lossless


@pytest.mark.parametrize("provider", ["fireworks", "groq", "deepseek"])
def test_reasoning_that_stands_in_content_and_beside_it_is_said_once(provider: str) -> None:
    said = AIMessage(
        [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "a"}],
        additional_kwargs={"reasoning_content": "hm"},
        response_metadata={"model_provider": provider, "output_version": "v1"},
    )
    sent = export_messages([Q, said, Z], "openai-chat", profile=provider).payload["messages"][1]
    assert "hm" in (sent.get("reasoning_content"), sent.get("reasoning"))
    told = export_messages([Q, said, Z], "anthropic", reasoning="text").payload["messages"][1]
    assert json.dumps(told).count("hm") == 1
    assert [loss.path for loss in export_messages([Q, said, Z], "mistral").report] == ["content[0]"]


@pytest.mark.parametrize("args", [{"city": "Z\u00fcrich", "n": [1, 2]}, {}])
def test_arguments_of_gpt_go_back_as_it_writes_them(args: dict[str, Any]) -> None:
    """LangChain's v1 output has them parsed; its integration writes them without blanks, as the model did."""
    text = json.dumps(args, ensure_ascii=False, separators=(",", ":"))
    item = {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "f",
        "arguments": text,
        "status": "completed",
    }
    answer = from_gpt([item], "v1")
    assert answer.content[0]["type"] == "tool_call"  # type: ignore[index]  # a list of blocks
    result = ToolMessage("found", tool_call_id="call_1")
    export = export_messages([HumanMessage("q"), answer, result], "openai-responses")
    assert export.payload["input"][1] == item
    edited = answer.model_copy(update={"tool_calls": [{**answer.tool_calls[0], "args": {"city": "Rome"}}]})
    export = export_messages([HumanMessage("q"), edited, result], "openai-responses")
    assert json.loads(export.payload["input"][1]["arguments"]) == {"city": "Rome"}
