"""One small history of every kind of native message, item, block and part that a dialect reads, as its API has it."""

from __future__ import annotations

from typing import Any, Final

PNG: Final = "iVBORw0KGgo="
PDF: Final = "JVBERi0xLjQK"
_MARK: Final = {"type": "ephemeral"}


def _said(*items: Any) -> list[Any]:
    """Items of a model behind a question, with an answer that reasoning may lead to."""
    done = {"type": "message", "id": "msg_9", "role": "assistant", "status": "completed", "content": [_output()]}
    return [{"role": "user", "content": "hi"}, *items, done]


def _output(**more: Any) -> dict[str, Any]:
    return {"type": "output_text", "text": "See T.", "annotations": [], "logprobs": [], **more}


def _message(*parts: Any, **more: Any) -> dict[str, Any]:
    head = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
    return {**head, "content": list(parts), **more}


def _call(kind: str, item_id: str, output: Any, **asked: Any) -> list[Any]:
    call = {"type": kind, "id": item_id, "call_id": "c1", **asked}
    return [call, {"type": f"{kind}_output", "call_id": "c1", "output": output}]


_AT: Final = {"start_index": 0, "end_index": 3}
_NOTES: Final = (
    {"type": "url_citation", "url": "https://u", "title": "T", **_AT},
    {"type": "file_citation", "file_id": "file_1", "filename": "f", "index": 0},
    {"type": "container_file_citation", "container_id": "cn", "file_id": "file_1", "filename": "f", **_AT},
    {"type": "file_path", "file_id": "file_1", "index": 0},
)
_FUNCTION: Final = {"name": "f", "arguments": '{"a": 1}', "status": "completed"}
_SHELL: Final = {"action": {"commands": ["ls"]}, "status": "completed"}
_LOCAL: Final = [
    {"type": "local_shell_call", "id": "lsh_1", "call_id": "lsh_1", "status": "completed"}
    | {"action": {"type": "exec", "command": ["ls"], "env": {}}},
    {"type": "local_shell_call_output", "id": "lsh_1", "output": "r"},
]
_CLICK: Final = {"action": {"type": "click", "button": "left", "x": 1, "y": 1}, "pending_safety_checks": []}
_SHOT: Final = {"type": "computer_screenshot", "image_url": f"data:image/png;base64,{PNG}"}
_STREAMS: Final = [{"stdout": "r", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]

RESPONSES: Final[dict[str, list[Any]]] = {
    "messages": [
        {"role": "developer", "content": "d"},
        {"role": "system", "content": [{"type": "input_text", "text": "s"}]},
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "x"},
                {"type": "input_image", "image_url": "https://a.b/c.png", "detail": "auto"},
                {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "low"},
                {"type": "input_file", "filename": "f.pdf", "file_data": f"data:application/pdf;base64,{PDF}"},
                {"type": "input_file", "file_id": "file_1"},
                {"type": "input_file", "file_url": "https://a.b/c.pdf"},
            ],
        },
        {"role": "assistant", "content": "plain"},
    ],
    "output_text": _said(_message(_output(annotations=[*_NOTES]), phase="commentary")),
    "refusal": _said(_message({"type": "refusal", "refusal": "no"})),
    "two parts": _said(_message(_output(), {"type": "refusal", "refusal": "no"})),
    "no id": _said({"role": "assistant", "content": [_output()]}),
    "refusal without id": _said({"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}),
    "reasoning": _said(
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "s"}, {"type": "summary_text", "text": "t"}],
            "content": [{"type": "reasoning_text", "text": "c"}],
            "encrypted_content": "sealed",
        }
    ),
    "function_call": _said(*_call("function_call", "fc_1", "r", **_FUNCTION)),
    "parts of a result": _said(*_call("function_call", "fc_1", [{"type": "input_text", "text": "r"}], **_FUNCTION)),
    "custom_tool_call": _said(*_call("custom_tool_call", "ctc_1", "r", name="f", input="raw")),
    "shell_call": _said(*_call("shell_call", "sh_1", _STREAMS, **_SHELL)),
    "local_shell_call": _said(*_LOCAL),
    "apply_patch_call": _said(
        {"type": "apply_patch_call", "id": "apc_1", "call_id": "c1", "status": "completed"}
        | {"operation": {"type": "delete_file", "path": "p"}},
        {"type": "apply_patch_call_output", "call_id": "c1", "output": "r", "status": "completed"},
    ),
    "computer_call": _said(*_call("computer_call", "cu_1", _SHOT, **_CLICK, status="completed")),
    "hosted": _said(
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}},
        {"type": "file_search_call", "id": "fs_1", "status": "completed", "queries": ["q"], "results": [{"text": "t"}]},
        {"type": "code_interpreter_call", "id": "ci_1", "status": "completed", "code": "1", "container_id": "cn"}
        | {"outputs": [{"type": "logs", "logs": "l"}]},
        {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": PNG},
        {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "s", "tools": [{"name": "t", "input_schema": {}}]},
        {"type": "mcp_call", "id": "mcp_1", "server_label": "s", "name": "t", "arguments": "{}", "output": "o"},
        {"type": "tool_search_call", "id": "ts_1", "arguments": {}, "status": "completed", "execution": "server"},
        {"type": "tool_search_output", "id": "to_1", "tools": [{"type": "function", "name": "f"}]},
        {"type": "program", "id": "pr_1", "call_id": "p1", "code": "c", "fingerprint": "f"},
        {"type": "program_output", "id": "po_1", "call_id": "p1", "result": "r", "status": "completed"},
        {"type": "compaction", "id": "cmp_1", "encrypted_content": "sealed"},
    ),
    "approval": _said(
        {"type": "mcp_approval_request", "id": "mcpr_1", "server_label": "s", "name": "t", "arguments": "{}"},
        {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True},
    ),
    "client": [{"type": "item_reference", "id": "msg_0"}, {"role": "user", "content": "hi"}],
}


def _answered(*blocks: Any) -> list[Any]:
    user = {"role": "user", "content": "hi"}
    return [user, {"role": "assistant", "content": list(blocks)}, {"role": "user", "content": "so?"}]


def _used(content: Any) -> list[Any]:
    use = {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": content}
    return [*_answered(use)[:2], {"role": "user", "content": [result]}]


def _served(name: str, kind: str, content: Any) -> list[Any]:
    return [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": name, "input": {"q": "x"}},
        {"type": kind, "tool_use_id": "srvtoolu_1", "content": content},
    ]


_CITED: Final = {"cited_text": "c", "document_index": 0, "document_title": "T"}
_CITATIONS: Final = (
    {"type": "char_location", **_CITED, "start_char_index": 0, "end_char_index": 1},
    {"type": "page_location", **_CITED, "start_page_number": 1, "end_page_number": 2},
    {"type": "content_block_location", **_CITED, "start_block_index": 0, "end_block_index": 1},
    {"type": "web_search_result_location", "cited_text": "c", "encrypted_index": "e", "title": "T", "url": "https://u"},
)
_SOURCES: Final = (
    {"type": "base64", "media_type": "application/pdf", "data": PDF},
    {"type": "text", "media_type": "text/plain", "data": "d"},
    {"type": "content", "content": [{"type": "text", "text": "d"}]},
    {"type": "url", "url": "https://a.b/c.pdf"},
    {"type": "file", "file_id": "file_1"},
)
_FOUND: Final = {"type": "web_search_result", "url": "https://u", "title": "T", "encrypted_content": "e"}
_SEARCHED: Final = {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "d"}]}

ANTHROPIC: Final[dict[str, Any]] = {
    "user": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "x", "cache_control": _MARK},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                {"type": "image", "source": {"type": "url", "url": "https://a.b/c.png"}},
                *({"type": "document", "source": source, "title": "t", "context": "c"} for source in _SOURCES),
                _SEARCHED,
                {"type": "container_upload", "file_id": "file_1"},
            ],
        }
    ],
    "system": {"system": [{"type": "text", "text": "s"}], "messages": [{"role": "user", "content": "hi"}]},
    "text": _answered({"type": "text", "text": "x", "citations": [*_CITATIONS]}),
    "thinking": _answered({"type": "thinking", "thinking": "t", "signature": "s"}, {"type": "text", "text": "x"}),
    "redacted_thinking": _answered({"type": "redacted_thinking", "data": "d"}, {"type": "text", "text": "x"}),
    "tool_use": _used("r"),
    "tool_result": _used(
        [
            {"type": "text", "text": "r"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
            _SEARCHED,
            {"type": "tool_reference", "tool_name": "f"},
        ]
    ),
    "web_search": _answered(*_served("web_search", "web_search_tool_result", [_FOUND]), {"type": "text", "text": "x"}),
    "code_execution": _answered(
        *_served(
            "code_execution",
            "code_execution_tool_result",
            {"type": "code_execution_result", "stdout": "o", "stderr": "", "return_code": 0, "content": []},
        ),
        {"type": "text", "text": "x"},
    ),
    "mcp": _answered(
        {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "f", "server_name": "s", "input": {}},
        {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": False}
        | {"content": [{"type": "text", "text": "r"}]},
        {"type": "text", "text": "x"},
    ),
    "compaction": _answered({"type": "compaction", "content": "c"}, {"type": "text", "text": "x"}),
}


def _chat(*messages: Any) -> list[Any]:
    return [{"role": "user", "content": "hi"}, *messages, {"role": "user", "content": "so?"}]


def _chat_call(**call: Any) -> list[Any]:
    asked = {"role": "assistant", "content": None, "tool_calls": [{"id": "abcdefghi", **call}]}
    return _chat(asked, {"role": "tool", "tool_call_id": "abcdefghi", "content": [{"type": "text", "text": "r"}]})[:-1]


_CHAT_FUNCTION: Final = {"type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}

CHAT: Final[dict[str, list[Any]]] = {
    "messages": [
        {"role": "developer", "content": "d"},
        {"role": "system", "content": [{"type": "text", "text": "s"}], "name": "n"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "x"},
                {"type": "image_url", "image_url": {"url": "https://a.b/c.png", "detail": "low"}},
                {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
                {"type": "file", "file": {"filename": "f.pdf", "file_data": f"data:application/pdf;base64,{PDF}"}},
                {"type": "file", "file": {"file_id": "file_1"}},
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "x"}]},
    ],
    "refusal part": _chat({"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}),
    "refusal": _chat({"role": "assistant", "content": None, "refusal": "no"}),
    "audio": _chat({"role": "assistant", "content": None, "audio": {"id": "audio_1"}}),
    "function": _chat_call(**_CHAT_FUNCTION),
    "custom": _chat_call(type="custom", custom={"name": "f", "input": "raw"}),
}
"""OpenAI's own."""

HOSTS: Final[dict[str, list[Any]]] = {
    "openrouter": _chat(
        {
            "role": "assistant",
            "content": "x",
            "reasoning_details": [
                {"type": "reasoning.text", "text": "t", "signature": "s", "id": "r", "format": "f", "index": 0},
                {"type": "reasoning.encrypted", "data": "d", "id": "r", "format": "f", "index": 1},
            ],
        }
    ),
    "deepseek": _chat({"role": "assistant", "content": "x", "reasoning_content": "t"}),
    "groq": _chat({"role": "assistant", "content": "x", "reasoning": "t"}),
    "compatible": _chat_call(**_CHAT_FUNCTION, extra_content={"google": {"thought_signature": "s"}}),
    "moonshot": [
        {"role": "user", "content": [{"type": "video_url", "video_url": {"url": "data:video/mp4;base64,AAAA"}}]}
    ],
}
"""Chat Completions of other hosts."""

MISTRAL: Final[dict[str, list[Any]]] = {
    "messages": [
        {"role": "system", "content": "s"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "x"},
                {"type": "image_url", "image_url": {"url": "https://a.b/c.png", "detail": "low"}},
                {"type": "document_url", "document_url": "https://a.b/c.pdf", "document_name": "n"},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "t"}], "signature": "s"},
                {"type": "text", "text": "x"},
            ],
        },
        {"role": "user", "content": "so?"},
    ],
    "function": _chat_call(function={"name": "f", "arguments": '{"a": 1}'}),
}


def _gemini(*parts: Any) -> list[Any]:
    asked = {"role": "user", "parts": [{"text": "hi"}]}
    return [asked, {"role": "model", "parts": list(parts)}, {"role": "user", "parts": [{"text": "so?"}]}]


def _gemini_call(**answer: Any) -> list[Any]:
    call = {"functionCall": {"name": "f", "args": {"a": 1}, "id": "1"}, "thoughtSignature": "c2ln"}
    answer = {"name": "f", "id": "1", "response": {"output": "r"}, **answer}
    return [*_gemini(call)[:2], {"role": "user", "parts": [{"functionResponse": answer}]}]


GOOGLE: Final[dict[str, Any]] = {
    "user": {
        "system_instruction": {"parts": [{"text": "s"}]},
        "contents": [
            {
                "role": "user",
                "parts": [
                    {"text": "x"},
                    {"inlineData": {"mimeType": "image/png", "data": PNG}},
                    {"fileData": {"mimeType": "video/mp4", "fileUri": "https://a.b/c.mp4"}},
                ],
            }
        ],
    },
    "text": _gemini({"text": "x", "thoughtSignature": "c2ln"}),
    "thought": _gemini({"text": "t", "thought": True}, {"text": "x"}),
    "functionCall": _gemini_call(),
    "object": _gemini_call(response={"a": 1, "b": [2]}),
    "code": _gemini(
        {"executableCode": {"language": "PYTHON", "code": "1"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
        {"text": "x"},
    ),
    "tool": _gemini(
        {"toolCall": {"id": "1", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["q"]}}},
        {"toolResponse": {"id": "1", "toolType": "GOOGLE_SEARCH_WEB", "response": {"found": "f"}}},
        {"text": "x"},
    ),
}


def _converse(*blocks: Any) -> list[Any]:
    user = {"role": "user", "content": [{"text": "hi"}]}
    return [user, {"role": "assistant", "content": list(blocks)}, {"role": "user", "content": [{"text": "so?"}]}]


def _tool_used(*content: Any) -> list[Any]:
    use = {"toolUse": {"toolUseId": "t1", "name": "f", "input": {"a": 1}}}
    result = {"toolResult": {"toolUseId": "t1", "content": list(content), "status": "success"}}
    return [*_converse(use)[:2], {"role": "user", "content": [result]}]


_BYTES: Final = {"bytes": b"\x89PNG\r\n\x1a\n"}
_S3: Final = {"s3Location": {"uri": "s3://bucket/k", "bucketOwner": "111122223333"}}

BEDROCK: Final[dict[str, Any]] = {
    "user": {
        "system": [{"text": "s"}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"text": "x"},
                    {"cachePoint": {"type": "default"}},
                    {"image": {"format": "png", "source": _BYTES}},
                    {"image": {"format": "png", "source": _S3}},
                    {"document": {"format": "pdf", "name": "n", "source": {"bytes": b"%PDF-1.4\n"}, "context": "c"}},
                    {"video": {"format": "mp4", "source": _S3}},
                    {"guardContent": {"text": {"text": "g"}}},
                ],
            }
        ],
    },
    "reasoning": _converse({"reasoningContent": {"reasoningText": {"text": "t", "signature": "s"}}}, {"text": "x"}),
    "citations": _converse(
        {
            "citationsContent": {
                "content": [{"text": "x"}],
                "citations": [
                    {"title": "T", "sourceContent": [{"text": "c"}]}
                    | {"location": {"documentChar": {"documentIndex": 0, "start": 0, "end": 1}}}
                ],
            }
        }
    ),
    "text": _tool_used({"text": "r"}),
    "json": _tool_used({"json": {"a": 1}}),
    "image": _tool_used({"image": {"format": "png", "source": _BYTES}}),
}

KINDS: Final[dict[str, dict[str, Any]]] = {
    "openai-responses": RESPONSES,
    "anthropic": ANTHROPIC,
    "openai-chat": CHAT,
    "mistral": MISTRAL,
    "google": GOOGLE,
    "bedrock": BEDROCK,
}
